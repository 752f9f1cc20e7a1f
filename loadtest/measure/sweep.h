/*
 * A sweep: purchases per second of guards over numbers of connections, and of one guard over batch
 * sizes; what else a run tells by the way: how long locks were waited for and held. No figure must
 * be reached.
 */
#ifndef LOADTEST_SWEEP_H
#define LOADTEST_SWEEP_H

#include <stdio.h>

#include "bench_stage.h"
#include "count/guard_list.h"

enum { SWEEP_POINTS_MAX = GUARDS_MAX * CONNECTION_STEPS_MAX + INSTANCES_MAX };

/* One setting, and a value for each round. */
struct sweep_point {
    const char *guard; /* borrowed from struct sweep */
    long batch;
    long connections;
    int instance; /* that has this batch */
    double per_s[ROUNDS_MAX];
    double round_trips[ROUNDS_MAX]; /* per order */
    struct lock_times locks[ROUNDS_MAX];
    int count;
    long long accepted; /* by Redis */
    long long refused;  /* by wrk: a guard under contention may say "try again" */
    char doubt[BENCH_DOUBT_MAX];
};

struct sweep {
    struct bench bench;       /* its seed and machine; large */
    struct guard_list guards; /* those that are measured */
    long batch;               /* the service's default */
    struct sweep_point points[SWEEP_POINTS_MAX];
    int point_count;
    double seconds; /* the whole run */
};

/*
 * Fill in guards and points as --sweep and --connections say; "all" means the sound guards.
 * `help` is what `seckilld --help` prints.
 *
 * Returns  false   --sweep names a guard that is not there, or no guards are in `help`.
 */
bool sweep_plan(struct sweep *sweep, const struct options *options, const char *help,
                struct failure *failure);

/* Measure all points, in shuffled rounds. The struct is large: keep it off the stack.
 * Returns  false   it could not be measured; a point with a `doubt` was, and is void. */
bool sweep_run(struct sweep *sweep, const struct options *options, const char *run_dir,
               struct http_client *http, struct failure *failure);
bool sweep_is_void(const struct sweep *sweep);

void sweep_report_screen(FILE *to, const struct options *options, const struct sweep *sweep);
bool sweep_report_write(const char *path, const struct options *options, const struct sweep *sweep,
                        struct failure *failure);

#endif
