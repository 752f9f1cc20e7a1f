/*
 * The bench: every figure in one run, on instances and Redis servers of its own.
 *
 * Stages, one after the other. On the first, one Redis has two instances side by side, one with the
 * service's default batch and one with --batch 1, for ratios and costs; then come a primary with a
 * replica, and a cluster beside one Redis, with two instances each. On the last, one Redis has a
 * fresh instance per repeat, for memory. Append-only file and fsync always.
 */
#ifndef LOADTEST_BENCH_RUN_H
#define LOADTEST_BENCH_RUN_H

#include "bench_guards.h"
#include "count/bench_machine.h"

enum { BENCH_COSTS_MAX = 2 * GUARDS_MAX, BENCH_COST_CONNECTIONS = 1024 };

struct bench {
    uint64_t seed;
    struct bench_row rows[BENCH_FIGURE_COUNT];
    struct bench_guards guards;
    struct bench_cost costs[BENCH_COSTS_MAX];
    int cost_count;
    long cost_repeat, cost_duration_s;
    int64_t orders;                    /* in Redis when its memory was read last */
    long long used_before, used_after; /* bytes: before the first of them, and then */
    struct bench_machine machine;
    double seconds; /* the whole run */
};

/* Measure what --only wants. Returns false when it could not be measured; a row with a `doubt` was
 * measured and is void. The struct is large: keep it off the stack. */
bool bench_run(struct bench *bench, const struct options *options, const char *run_dir,
               struct http_client *http, struct failure *failure);

/* Is anything void? */
bool bench_run_is_void(const struct bench *bench);

#endif
