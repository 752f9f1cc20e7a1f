/*
 * The reentrant lock, and a variant that is not reentrant: the same keys, but a second acquire by the handle
 * that holds it is refused.
 */
#include "lockkit/locks.h"

#include "hash_lock.h"

static const struct lki_lock_ops reentrant_ops = {
    LKI_HASH_OPS,
    .kind = "reentrant",
    .reenter = lki_hash_lock_reenter,
    .leave = lki_hash_lock_leave,
};

static const struct lki_lock_ops non_reentrant_ops = {
    LKI_HASH_OPS,
    .kind = "non-reentrant",
};

lk_lock *lk_reentrant_new(lk_client *client, const char *key, struct lk_error *err)
{
    return lki_hash_lock_new(&reentrant_ops, client, key, NULL, err);
}

lk_lock *lk_non_reentrant_new(lk_client *client, const char *key, struct lk_error *err)
{
    return lki_hash_lock_new(&non_reentrant_ops, client, key, NULL, err);
}
