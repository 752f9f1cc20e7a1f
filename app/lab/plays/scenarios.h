/*
 * The scenarios, by theme; each file has the plays and, at its bottom, their rows.
 */
#ifndef SECKILL_LAB_SCENARIOS_H
#define SECKILL_LAB_SCENARIOS_H

#include "guards/guards.h"
#include "lab/run.h"

/* Actors, in the order of the cast. */
enum { A, B, C, D };

#define LAMP STAGE_KEY("lock")

/* The beginning of a scenario. */
#define LESSON(which, called, title_en, title_zh, lesson_en, lesson_zh)                            \
    .number = (which), .name = (called), .title = {(title_en), (title_zh)},                        \
    .lesson = {(lesson_en), (lesson_zh)}

#define MOVES(list) .moves = (list), .move_count = sizeof(list) / sizeof(list)[0]

/* The n-th scenario, in the order of teaching; NULL past the end. By its name; NULL: there is none. */
const struct lab_scenario *scenarios_at(size_t index);
const struct lab_scenario *scenarios_named(const char *name);
/* What has to be installed before it can be played; NULL: nothing. */
const char *scenarios_lack(const struct lab_scenario *scenario);

/* A guard by its name, the service's or one of the lab's alone that a schedule can play; NULL: there is none. All of
   these, in order; NULL past the end. */
const struct guard *scenarios_guard(const char *name);
const struct guard *scenarios_guard_at(size_t index);

/* A guard that the service has not: it trusts a lost answer (unmarked.c). */
extern const struct guard scenario_guard_unmarked;
/* Three that no fault is needed to break (mistakes.c). */
extern const struct guard scenario_guard_get_then_set;
extern const struct guard scenario_guard_per_buyer_lock;
extern const struct guard scenario_guard_decr_blind;
/* What articles take for a lock, and for a rollback; the last is sound (articles.c). */
extern const struct guard scenario_guard_setex;
extern const struct guard scenario_guard_object_token;
extern const struct guard scenario_guard_no_rollback;
extern const struct guard scenario_guard_check_first;
/* What a buyer and a timer do to an order that is paid for later; the last is sound (pay_later.c). */
extern const struct guard scenario_guard_pay_after_look;
extern const struct guard scenario_guard_pay_in_one_step;
/* And two that have their lock on other servers than the stock (lock_elsewhere.c). */
extern const struct guard scenario_guard_mutex_elsewhere;
extern const struct guard scenario_guard_redlock_unchecked;

extern const struct guard scenario_guard_advisory_elsewhere;
extern const struct guard scenario_guard_zookeeper_unchecked;
/* And those of a database's transactions (lock_until_commit.c, lease_by_time.c). */
extern const struct guard scenario_guard_lock_until_commit;
extern const struct guard scenario_guard_lease_by_now;
extern const struct guard scenario_guard_lease_by_clock;

/* A body: it takes the lock in ZooKeeper as textbooks warn of, works, and frees it (herd.c). */
void herd_wait(struct stage_actor *self);
/* Between acquire and release: asks the shop once. */
void herd_work(struct stage_actor *self);

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
extern const struct lab_scenario scenarios_databases[];
extern const struct lab_scenario scenarios_ensembles[];
extern const struct lab_scenario scenarios_payments[];
extern const struct lab_scenario scenarios_articles[];
extern const struct lab_scenario scenarios_lines[];

#endif
