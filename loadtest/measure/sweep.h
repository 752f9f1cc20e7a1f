/*
 * A sweep: purchases per second of guards over numbers of connections, and of one guard over batch
 * sizes; what else a run tells by the way: how long locks were waited for and held. No figure must
 * be reached. It is a bench that has points alone.
 */
#ifndef LOADTEST_SWEEP_H
#define LOADTEST_SWEEP_H

#include "bench_run.h"

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
