/*
 * Any kind of lock of lockkit, taken and given back in the same way.
 */
#ifndef LOCKKIT_BENCH_HOLDER_H
#define LOCKKIT_BENCH_HOLDER_H

#include "lockkit/lockkit.h"

struct holder {
    lk_lock *lock;           /* borrowed from one of the others when there is one */
    lk_lock *parts[2];       /* owned: of a multi lock */
    lk_rwlock *rwlock;       /* owned */
    lk_semaphore *semaphore; /* owned; then there is no lock */
};

/* The process that does so ends soon: nothing is closed. */
LK_MUST_CHECK lk_status holder_open(struct holder *holder, const char *kind, lk_client *client,
                                    const char *key, struct lk_error *err);

/* Once, without waiting. */
LK_MUST_CHECK lk_status holder_take(struct holder *holder, struct lk_error *err);
LK_MUST_CHECK lk_status holder_give(struct holder *holder, struct lk_error *err);

#endif
