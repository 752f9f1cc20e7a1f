/*
 * Everything that is an lk_lock, made from a client and a key: the kinds of lk_kinds.h, both sides of
 * a read/write lock, a permit, and a multi lock.
 */
#ifndef LK_ANY_H
#define LK_ANY_H

#include "lk_kinds.h"

enum { LKS_ANY_READ = LKS_KINDS, LKS_ANY_WRITE, LKS_ANY_PERMIT, LKS_ANY_MULTI, LKS_ANY_KINDS };

struct lks_any {
    const char *name; /* of its kind */
    lk_lock *lock;
    lk_rwlock *rwlock;   /* below: what stands behind some of them */
    lk_lock *members[2]; /* of a multi lock: KEY and KEY-2, mutexes */
};

/* false with err filled: its constructor refuses. */
bool lks_any_try(struct lks_any *any, size_t kind, lk_client *client, const char *key,
                 struct lk_error *err);
/* The same, and fails the test then. The one permit of a permit lock is made through lks_any_prepare(). */
void lks_any_new(struct lks_any *any, size_t kind, lk_client *client, const char *key);
/* What has to be there before it can be acquired. */
void lks_any_prepare(size_t kind, lk_client *client, const char *key);
void lks_any_free(struct lks_any *any);

#endif
