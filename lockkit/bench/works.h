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

work_function work_pair, work_pass, work_quorum;     /* lockkit's own, in a child of ours */
work_function work_rate, work_handover, work_upkeep; /* by players */

extern work_function *const works[WORK_COUNT];

#endif
