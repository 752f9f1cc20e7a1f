/*
 * All tasks, round by round.
 */
#ifndef LOCKKIT_BENCH_ROUNDS_H
#define LOCKKIT_BENCH_ROUNDS_H

#include "stage.h"

/*
 * Do every wanted task `repeat` times, in an order that is new in each round; and what players do
 * once before, shortly, for nothing: their compilers and caches get warm.
 *
 * Returns  OK         done; a task that failed says so in its doubt.
 *          CANCELLED  interrupted.
 */
LK_MUST_CHECK lk_status rounds_run(struct plan *plan, struct stage *stage, size_t repeat,
                                   struct lk_error *err);

#endif
