/*
 * What was measured of a figure, and the arithmetic on its repeats. Pure.
 */
#ifndef LOADTEST_BENCH_H
#define LOADTEST_BENCH_H

#include <stdint.h>

#include "base/spread.h"
#include "count/bench_figures.h"
#include "count/guard_list.h"
#include "run/options.h"

enum {
    BENCH_DOUBT_MAX = 200,
    BENCH_THINGS_MAX = GUARDS_MAX * CONNECTION_STEPS_MAX + INSTANCES_MAX
};

/* What was measured of a figure. `over` and `under` are the rates behind the ratios. */
struct bench_row {
    const struct bench_figure *figure;
    bool is_wanted; /* by --only */
    double repeats[ROUNDS_MAX];
    double over_per_s[ROUNDS_MAX], under_per_s[ROUNDS_MAX];
    int count;
    long long accepted, refused; /* purchases: by Redis; refusals: by wrk */
    struct spread spread;        /* the value is its median */
    bool is_ok;                  /* reaches `must`, and nothing is doubtful */
    char doubt[BENCH_DOUBT_MAX]; /* why the row is void; or "" */
};

/* Does --only want it? */
bool bench_wants(const struct options *options, const char *name);

/* --seed, or a random one. */
uint64_t bench_seed(const struct options *options);
/* 0 .. count - 1 in an order that depends on seed and round alone. */
void bench_shuffle(int *out_order, int count, uint64_t seed, uint64_t round);

/* Things to measure in rounds: each once a round, in an order that is shuffled each time, so that none
 * always comes first. */
struct bench_rounds {
    long rounds;
    int count; /* of things, at most BENCH_THINGS_MAX */
    uint64_t seed;
    bool (*measure)(void *arg, long round, int which); /* round: from 1. false: that was all */
    void *arg;
};

bool bench_run_rounds(const struct bench_rounds *rounds);

/* over / under of one round; a rate of 0 below makes the row doubtful. */
void bench_add_ratio(struct bench_row *row, double over_per_s, double under_per_s);
void bench_add(struct bench_row *row, double value);
/* The first doubt is kept. */
void bench_doubt(struct bench_row *row, const char *words);
/* Median, least, most, and whether it is enough; for after the last repeat. */
void bench_sum_up(struct bench_row *row);
bool bench_reaches(const struct bench_figure *figure, double value);

#endif
