/*
 * The figures of the bench: what each one is, and what it must reach. Pure.
 *
 * Units    a ratio row holds ratios of two rates measured next to each other; memory rows hold MiB
 *          and bytes.
 */
#ifndef LOADTEST_BENCH_FIGURES_H
#define LOADTEST_BENCH_FIGURES_H

#include <stdbool.h>

typedef enum bench_kind {
    BENCH_PAGE,     /* GET /livez */
    BENCH_PURCHASE, /* every request buys: 201 */
    BENCH_REFUSAL,  /* every request comes too late: 409 sold-out */
    BENCH_READ,     /* every request buys, and the answer is read */
    BENCH_PAIR,     /* likewise, of what is held; then comes the payment of that order */
} bench_kind;

/* Where the instances are that a ratio compares. */
typedef enum bench_kind_of_stage {
    BENCH_STAGE_ONE,     /* one Redis */
    BENCH_STAGE_REPLICA, /* a primary with one replica */
    BENCH_STAGE_CLUSTER, /* three masters, and one Redis beside them */
    BENCH_STAGE_SEGMENTS, /* three masters and one beside them, each with a replica that is waited for */
    BENCH_STAGE_TLS,      /* one Redis with two ports */
    BENCH_STAGE_BOOK, /* an instance with a book, and one Redis beside it */
    BENCH_STAGE_WAIT, /* the same, where buyers wait for the book */
    BENCH_STAGE_COUNT,
} bench_kind_of_stage;

/* Which of the two instances of a stage. */
typedef enum bench_at {
    BENCH_AT_FIRST,
    BENCH_AT_SECOND, /* what it is compared with: --sync-replicas 1, the cluster, TLS */
    BENCH_AT_SINGLE = BENCH_AT_SECOND, /* --batch 1 */
} bench_at;

/* One of two things that are compared. */
struct bench_side {
    bench_kind kind;
    const char *guard; /* of a purchase */
    bench_at at;
    long segments; /* of its sale; 0: it is in one piece */
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
    BENCH_SEGMENTS,
    BENCH_PURCHASE_TLS_64,
    BENCH_PURCHASE_TLS_1024,
    BENCH_PAIR_PURCHASE,
    BENCH_BOOK_FOLLOWS,
    BENCH_BOOK_WAIT,
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
    long sales;                            /* on at the same time; 0: one */
    const struct bench_side *over, *under; /* of a ratio */
};

extern const struct bench_figure bench_figures[BENCH_FIGURE_COUNT];

/* Does a figure, the cost of a guard ("cost-GUARD") or a step of the ladder ("ladder-PLACE-GUARD") have a
 * name that starts so? */
bool bench_figures_have(const char *start);

/* The connections the bench opens, each once, at most so many. Returns how many. */
int bench_figures_connections(long *out_connections, int most);

#endif
