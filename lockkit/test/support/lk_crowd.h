/*
 * A crowd of processes and threads: forked before any client exists (each has its own), what they count
 * lies in shared memory. They do not assert; the test's process alone does.
 */
#ifndef LK_CROWD_H
#define LK_CROWD_H

#include "lk_support.h"

/* Zeroes that all processes see. They stay until the program's end. */
void *lks_shared(size_t size);

/* What went wrong first. */
struct lks_blame {
    atomic_int count;
    char first[256];
};

/* Whether it is OK; else that is noted. */
bool lks_is_ok(struct lks_blame *blame, const char *what, lk_status status,
               const struct lk_error *err);

/* 0 in the new process, which dies with this one. */
pid_t lks_fork(void);
void lks_expect_exit(pid_t pid); /* by 0 */
void lks_kill(pid_t pid);
/* So many processes run it, are waited for, and end by 0. */
void lks_processes(unsigned count, int (*run)(unsigned process, void *arg), void *arg);
/* So many threads, each with its item of an array; false when one could not be started. */
bool lks_threads(unsigned count, void *(*run)(void *item), void *items, size_t size);

/* Seeds are printed; LK_TEST_SEED repeats one. */
uint32_t lks_seed(void);
uint32_t lks_seed_of(uint32_t seed, unsigned process, unsigned thread);
uint32_t lks_random(uint32_t *seed);

#endif
