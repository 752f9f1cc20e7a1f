/*
 * What was measured of a figure, and the arithmetic on its repeats. Pure.
 */
#ifndef LOADTEST_BENCH_H
#define LOADTEST_BENCH_H

#include <stdint.h>

#include "count/bench_figures.h"
#include "run/options.h"
#include "speed.h"

enum { BENCH_DOUBT_MAX = 200 };

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

/* 0 .. count - 1 in an order that depends on seed and round alone. */
void bench_shuffle(int *out_order, int count, uint64_t seed, uint64_t round);

/* over / under of one round; a rate of 0 below makes the row doubtful. */
void bench_add_ratio(struct bench_row *row, double over_per_s, double under_per_s);
void bench_add(struct bench_row *row, double value);
/* The first doubt is kept. */
void bench_doubt(struct bench_row *row, const char *words);
/* Median, least, most, and whether it is enough; for after the last repeat. */
void bench_sum_up(struct bench_row *row);
bool bench_reaches(const struct bench_figure *figure, double value);

#endif
