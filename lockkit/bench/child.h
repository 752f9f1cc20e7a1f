/*
 * Work with lockkit itself, in a child: lockbench has no threads, so it can fork at any time, and
 * what a client's threads do ends with the child.
 */
#ifndef LOCKKIT_BENCH_CHILD_H
#define LOCKKIT_BENCH_CHILD_H

#include "works.h"

/* Run the body in a child and take over what it returns and writes. */
LK_MUST_CHECK lk_status child_run(work_function *body, struct stage *stage, const struct task *task,
                                  double *out_values, struct lk_error *err);

#endif
