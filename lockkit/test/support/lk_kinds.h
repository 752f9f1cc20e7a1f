/*
 * All kinds of lock that one key and one client make, for tests that go through them.
 */
#ifndef LK_KINDS_H
#define LK_KINDS_H

#include "lk_support.h"

struct lks_kind {
    const char *name;
    lk_lock *(*make)(lk_client *client, const char *key, struct lk_error *err);
};

enum { LKS_REENTRANT = 1, LKS_NON_REENTRANT, LKS_SPIN, LKS_FENCED, LKS_FAIR, LKS_KINDS };

/* The first is the mutex, the last the fair lock. */
extern const struct lks_kind lks_kinds[LKS_KINDS];

/* A lock of a kind; fails the test when it cannot be had. */
lk_lock *lks_lock_of_kind(size_t kind, lk_client *client, const char *key);

#endif
