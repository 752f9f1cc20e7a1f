/*
 * The bench: every figure in one run, on instances and Redis servers of its own.
 *
 * Stages, one after the other. On the first, one Redis has two instances side by side, one with the
 * service's default batch and one with --batch 1, for ratios and costs; then come a primary with a
 * replica, and a cluster beside one Redis, with two instances each; then the places of the ladder. On
 * the last, one Redis has a fresh instance per repeat, for memory. Append-only file and fsync always,
 * but where the ladder says otherwise.
 */
#ifndef LOADTEST_BENCH_RUN_H
#define LOADTEST_BENCH_RUN_H

#include "bench_round.h"
#include "count/bench_machine.h"

enum { BENCH_COST_CONNECTIONS = 1024 };

/* On one Redis; in segments on three masters; on one Redis with few connections, so that batches are small. */
enum { BENCH_TAKE_ONE, BENCH_TAKE_THREE, BENCH_TAKE_FEW, BENCH_TAKE_COUNT };

/* What a purchase takes there, each round. */
struct bench_take {
    double service_us[ROUNDS_MAX], redis_us[ROUNDS_MAX]; /* processor time, of all primaries */
    double batch[ROUNDS_MAX];                            /* purchases of a round trip */
    int count;
};

/* What was measured, also by a sweep, which has points alone. Large: keep it off the stack. */
struct bench {
    uint64_t seed;
    struct bench_row rows[BENCH_FIGURE_COUNT];
    struct guard_list guards;                    /* those that are measured, and others */
    struct bench_point points[BENCH_THINGS_MAX]; /* of the bench: costs of guards, and the ladder */
    int point_count;
    long cost_repeat, cost_duration_s;
    int64_t orders;                    /* in Redis when its memory was read last */
    long long used_before, used_after; /* bytes: before the first of them, and then */
    struct bench_take takes[BENCH_TAKE_COUNT];
    struct bench_machine machine;
    double seconds; /* the whole run */
};

/* Measure what --only wants into a blank one. Returns false when it could not be measured; a row with a
 * `doubt` was measured and is void. */
bool bench_run(struct bench *bench, const struct options *options, const char *run_dir,
               struct failure *failure);

/* What to measure, and how. All borrowed. */
struct bench_job {
    struct bench *bench;
    const struct options *options;
    const char *run_dir;
    struct failure *failure;
    const struct bench_place *place; /* of the ladder; NULL: none */
    long round;                      /* there, from 1 */
};

struct bench_stage;
typedef bool bench_run_on(struct bench_stage *stage);

/* Do it on a stage of its own, and close that. */
bool bench_run_stage(const struct bench_job *job, bench_run_on *run);
/* Seed, guards and machine: what a bench begins with, and how it ends. */
bool bench_run_begin(struct bench *bench, const struct options *options, const char *run_dir,
                     struct failure *failure);
void bench_run_end(struct bench *bench);

/* Is anything void? */
bool bench_run_is_void(const struct bench *bench);

/*
 * A sweep: purchases per second of guards over numbers of connections, and of one guard over batch
 * sizes; what else a run tells by the way: how long locks were waited for and held. No figure must
 * be reached. It is a bench that has points alone.
 */

/*
 * Of all guards in bench->guards keep those of --sweep, "all" means the sound ones, and fill in the
 * points as --connections says.
 *
 * Returns  false   --sweep names a guard that is not there.
 */
bool sweep_plan(struct bench *bench, const struct options *options, struct failure *failure);

/* Measure all points, in shuffled rounds, into a blank bench.
 * Returns  false   it could not be measured; a point with a `doubt` was, and is void. */
bool sweep_run(struct bench *bench, const struct options *options, const char *run_dir,
               struct failure *failure);

#endif
