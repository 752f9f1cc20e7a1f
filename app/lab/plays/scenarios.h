/*
 * The scenarios, by theme; each file has the plays and, at its bottom, their rows.
 */
#ifndef SECKILL_LAB_SCENARIOS_H
#define SECKILL_LAB_SCENARIOS_H

#include "guards/guards.h"
#include "lab/lab.h"

/* Actors, in the order of the cast. */
enum { A, B, C, D };

#define LAMP STAGE_KEY("lock")

/* The beginning of a scenario. */
#define LESSON(which, called, title_en, title_zh, lesson_en, lesson_zh)                            \
    .number = (which), .name = (called), .title = {(title_en), (title_zh)},                        \
    .lesson = {(lesson_en), (lesson_zh)}

/* The n-th scenario, in the order of teaching; NULL past the end. By its name; NULL: there is none. */
const struct lab_scenario *scenarios_at(size_t index);
const struct lab_scenario *scenarios_named(const char *name);

/* A guard that the service has not: it trusts a lost answer (unmarked.c). */
extern const struct guard scenario_guard_unmarked;
/* And two that have their lock on other servers than the stock (lock_elsewhere.c). */
extern const struct guard scenario_guard_mutex_elsewhere;
extern const struct guard scenario_guard_redlock_unchecked;

/* Rows of a file; the last has no name. */
extern const struct lab_scenario scenarios_first_locks[];
extern const struct lab_scenario scenarios_release[];
extern const struct lab_scenario scenarios_pauses[];
extern const struct lab_scenario scenarios_reentrant[];
extern const struct lab_scenario scenarios_waiting[];
extern const struct lab_scenario scenarios_readers[];
extern const struct lab_scenario scenarios_deadlocks[];
extern const struct lab_scenario scenarios_counting[];
extern const struct lab_scenario scenarios_waking[];
extern const struct lab_scenario scenarios_servers[];
extern const struct lab_scenario scenarios_buyers[];
extern const struct lab_scenario scenarios_incident[];

#endif
