/*
 * How each kind of work is done. Each measures a task once.
 *
 * Returns  OK           out_values are filled.
 *          CANCELLED    interrupted.
 *          INVALID      the library is not installed.
 *          else         err says why it could not be measured.
 */
#ifndef LOCKKIT_BENCH_WORKS_H
#define LOCKKIT_BENCH_WORKS_H

#include "stage.h"

typedef lk_status work_function(struct stage *stage, const struct task *task, double *out_values,
                                struct lk_error *err);

work_function pair_work, renewal_pass, leave_work,
    quorum_work;                                          /* lockkit's own, in a child of ours */
work_function crowd_rate, crowd_handover, renewal_upkeep; /* by players */

/*
 * Do every wanted task `repeat` times, in an order that is new in each round; and what players do
 * once before, shortly, for nothing: their compilers and caches get warm.
 *
 * Returns  OK         done; a task that failed says so in its doubt.
 *          CANCELLED  interrupted.
 */
LK_MUST_CHECK lk_status works_run(struct plan *plan, struct stage *stage, size_t repeat,
                                  struct lk_error *err);

#endif
