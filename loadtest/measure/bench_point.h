/*
 * One setting, measured once a round: a guard, a batch size, so many connections. No figure must be reached,
 * so it is only reported: what a guard costs, and how it does over connections and batches.
 */
#ifndef LOADTEST_BENCH_POINT_H
#define LOADTEST_BENCH_POINT_H

#include "bench_round.h"

struct bench_point {
    const char *guard; /* borrowed */
    long batch, connections, duration_s;
    int instance; /* that has this batch */
    double round_trips[ROUNDS_MAX], commands[ROUNDS_MAX], per_s[ROUNDS_MAX]; /* of an order */
    struct lock_times locks[ROUNDS_MAX];
    int count;          /* of rounds that accepted something */
    long long accepted; /* by Redis */
    long long refused;  /* by wrk: a guard under contention may say "try again" */
    struct tally sum;
    char doubt[BENCH_DOUBT_MAX];
};

void bench_point_add(struct bench_point *point, const struct bench_count *count);

#endif
