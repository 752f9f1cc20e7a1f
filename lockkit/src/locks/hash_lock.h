/*
 * The hash that Redisson's RLock and similar locks share: one field, owner -> holds, with a TTL. These are the
 * operations (lease/hold.h) that its kinds have in common: reentrant, spin, fenced.
 */
#ifndef LKI_HASH_LOCK_H
#define LKI_HASH_LOCK_H

#include "lock.h"

struct hash_lock {
    lk_lock base;
    char *fence_key; /* owned; NULL: no fencing token */
};

/*
 * Build a lock of one of these kinds.
 *
 * Shape    publishes on "redisson_lock__channel:{key}" unless the kind is silent.
 * Returns  the lock; NULL with err filled: INVALID, NO_MEMORY.
 */
lk_lock *lki_hash_lock_new(const struct lki_lock_ops *ops, lk_client *client, const char *key,
                           char *fence_key, struct lk_error *err);

lk_status lki_hash_lock_prepare(lk_lock *lock, struct lk_error *err);
lk_status lki_hash_lock_try_acquire(lk_lock *lock, int64_t *out_ttl_ms, int64_t deadline,
                                    struct lk_error *err);
lk_status lki_hash_lock_reenter(lk_lock *lock, int64_t lease_ms, int64_t deadline,
                                struct lk_error *err);
lk_status lki_hash_lock_leave(lk_lock *lock, unsigned depth, int64_t deadline,
                              struct lk_error *err);
lk_status lki_hash_lock_release(lk_lock *lock, int64_t deadline, struct lk_error *err);
lk_status lki_hash_lock_force(lk_lock *lock, int64_t deadline, struct lk_error *err);
void lki_hash_lock_free(lk_lock *lock);

/* The common rows of an ops table; each kind adds its name and further operations. */
#define LKI_HASH_OPS                                                                               \
    .guard_script = "reentrant_guard", .renew_script = "reentrant_renew",                          \
    .prepare = lki_hash_lock_prepare, .try_acquire = lki_hash_lock_try_acquire,                    \
    .release = lki_hash_lock_release, .force = lki_hash_lock_force, .free = lki_hash_lock_free

#endif
