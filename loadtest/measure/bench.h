/*
 * The figures of the bench: what each one is, what it must reach, and the arithmetic on its
 * repeats. Pure: nothing here starts, asks or prints anything.
 *
 * Units    a ratio row holds ratios of two rates measured next to each other; memory rows hold MiB
 *          and bytes.
 */
#ifndef LOADTEST_BENCH_H
#define LOADTEST_BENCH_H

#include <stddef.h>
#include <stdint.h>

#include "run/options.h"
#include "speed.h"

enum { BENCH_DOUBT_MAX = 200 };

typedef enum bench_kind {
    BENCH_PAGE,     /* GET /livez */
    BENCH_PURCHASE, /* every request buys: 201 */
    BENCH_REFUSAL,  /* every request comes too late: 409 sold-out */
} bench_kind;

/* Where the instances are that a ratio compares. */
typedef enum bench_kind_of_stage {
    BENCH_STAGE_ONE,     /* one Redis */
    BENCH_STAGE_REPLICA, /* a primary with one replica */
    BENCH_STAGE_CLUSTER, /* three masters, and one Redis beside them */
    BENCH_STAGE_TLS,     /* one Redis with two ports */
} bench_kind_of_stage;

/* Which of the two instances of a stage. */
typedef enum bench_at {
    BENCH_AT_FIRST,
    BENCH_AT_SECOND,
    BENCH_AT_SINGLE = BENCH_AT_SECOND, /* --batch 1 */
    BENCH_AT_SYNC = BENCH_AT_SECOND,   /* --sync-replicas 1 */
    BENCH_AT_THREE = BENCH_AT_SECOND,  /* on the cluster */
    BENCH_AT_TLS = BENCH_AT_SECOND,
} bench_at;

/* One of two things that are compared. */
struct bench_side {
    bench_kind kind;
    const char *guard; /* of a purchase */
    bench_at at;
};

typedef enum bench_better { BENCH_HIGHER, BENCH_LOWER } bench_better;

/* In this order in tables and files; ratios first. */
typedef enum bench_id {
    BENCH_PURCHASE_LIVEZ_64,
    BENCH_PURCHASE_LIVEZ_1024,
    BENCH_PURCHASE_SCRIPT,
    BENCH_PURCHASE_SINGLE,
    BENCH_REFUSAL_LIVEZ_64,
    BENCH_REFUSAL_LIVEZ_1024,
    BENCH_PURCHASE_SYNC,
    BENCH_CLUSTER_SALES,
    BENCH_PURCHASE_TLS_64,
    BENCH_PURCHASE_TLS_1024,
    BENCH_SERVICE_MEMORY,
    BENCH_REDIS_MEMORY,
    BENCH_FIGURE_COUNT,
    BENCH_RATIO_COUNT = BENCH_SERVICE_MEMORY,
} bench_id;

struct bench_figure {
    const char *name;   /* for --only */
    const char *figure; /* for people */
    const char *unit;   /* "" of a ratio */
    double must, aim;
    bench_better better;
    bench_kind_of_stage stage; /* of a ratio */
    long connections;
    long sales;                    /* on at the same time; 0: one */
    struct bench_side over, under; /* of a ratio */
};

extern const struct bench_figure bench_figures[BENCH_FIGURE_COUNT];

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

/* Does a figure, or the cost of a guard ("cost-GUARD"), have a name that starts so? */
bool bench_has_figure(const char *start);
/* Does --only want it? */
bool bench_wants(const struct options *options, const char *name);

/* The connections the bench opens, each once; at most CONNECTION_STEPS_MAX. Returns how many. */
int bench_connections(long out_connections[CONNECTION_STEPS_MAX]);

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
