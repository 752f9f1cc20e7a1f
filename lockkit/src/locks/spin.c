/*
 * The spin lock: without pub/sub; a waiter tries again after pauses that grow from 1 ms to 128 ms. For many
 * keys with little contention, where messages cost more than they save.
 */
#include "lockkit/locks.h"

#include "hash_lock.h"

static const struct lki_lock_ops spin_ops = {
    LKI_HASH_OPS,
    .kind = "spin",
    .is_silent = true,
    .reenter = lki_hash_lock_reenter,
    .leave = lki_hash_lock_leave,
};

lk_lock *lk_spin_new(lk_client *client, const char *key, struct lk_error *err)
{
    return lki_hash_lock_new(&spin_ops, client, key, NULL, err);
}
