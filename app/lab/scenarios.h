/*
 * The scenarios, by theme; each file has the plays and, at its bottom, their rows.
 */
#ifndef SECKILL_LAB_SCENARIOS_H
#define SECKILL_LAB_SCENARIOS_H

#include "lab/lab.h"

/* Rows of a file; the last has no name. */
extern const struct lab_scenario scenarios_first_locks[];
extern const struct lab_scenario scenarios_release[];
extern const struct lab_scenario scenarios_pauses[];
extern const struct lab_scenario scenarios_deadlocks[];
extern const struct lab_scenario scenarios_buyers[];
extern const struct lab_scenario scenarios_incident[];

#endif
