/*
 * What the tests of the fair lock share: a look at its queue, acquires on threads of their own, and
 * foreign clients of the same keys. A foreign client does what Redisson's fair lock does, step by
 * step, in scripts of this file and by a clock of its own.
 */
#ifndef LK_FAIR_H
#define LK_FAIR_H

#include <pthread.h>

#include "lk_support.h"

/* The keys of one fair lock. */
struct lkf_keys {
    struct lks_server *server; /* borrowed */
    const char *lock;
    char queue[192];
    char timeouts[192];
    char channel[192]; /* of waiters, without their owner */
};

void lkf_keys_init(struct lkf_keys *keys, struct lks_server *server, const char *name);
lk_lock *lkf_lock(lk_client *client, const struct lkf_keys *keys, int64_t waiter_ms);

/* ---- the queue ------------------------------------------------------------------------------- */

long long lkf_length(const struct lkf_keys *keys);
/* The owners, the next one first, with commas. Lives as lks_text_of() says. */
const char *lkf_queue(const struct lkf_keys *keys);
/* When an owner counts as dead, in ms of the server's clock; -1: not told. */
long long lkf_score(const struct lkf_keys *keys, const char *owner);
long long lkf_server_ms(const struct lkf_keys *keys);
/* Whether the lock is free, and nothing is left of a queue. */
bool lkf_is_gone(const struct lkf_keys *keys);
/* How many listen on an owner's channel; with NULL, on any of the lock's. */
long long lkf_listeners(const struct lkf_keys *keys, const char *owner);

/* An owner that never asks gets the last place, until that moment of the server's clock. */
void lkf_add_dead(const struct lkf_keys *keys, const char *owner, long long lives_ms);

/* ---- foreign clients ------------------------------------------------------------------------- */

enum { LKF_TAKEN = -4712 };

struct lkf_foreign {
    const char *owner;
    int64_t lease_ms;
    int64_t wait_ms;  /* 0: does not wait, as tryLock() */
    int64_t ahead_ms; /* of its clock */
};

/* LKF_TAKEN, or ms until it would ask again. */
long long lkf_foreign_try(const struct lkf_keys *keys, const struct lkf_foreign *foreign);
/* 1 free, 0 it holds it still, -1 not its own. */
long long lkf_foreign_unlock(const struct lkf_keys *keys, const struct lkf_foreign *foreign);
/* Its wait is over, without the lock. */
void lkf_foreign_give_up(const struct lkf_keys *keys, const struct lkf_foreign *foreign);

/* ---- an acquire on its own thread ------------------------------------------------------------ */

/* Returns once it is in the queue, behind those who are there. */
void lkf_wait_start(struct lks_wait *wait, const struct lkf_keys *keys, lk_lock *lock,
                    const struct lk_lock_options *options);

#endif
