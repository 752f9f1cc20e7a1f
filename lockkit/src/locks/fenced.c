/*
 * The fenced lock: a reentrant lock whose acquire also increments a counter, atomically: the fencing token.
 * The counter has no TTL, and lockkit never deletes it.
 */
#include "lockkit/locks.h"

#include "base/error.h"
#include "base/name.h"
#include "hash_lock.h"

static const struct lki_lock_ops fenced_ops = {
    LKI_HASH_OPS,
    .kind = "fenced",
    .reenter = lki_hash_lock_reenter,
    .leave = lki_hash_lock_leave,
};

lk_lock *lk_fenced_new(lk_client *client, const char *key, struct lk_error *err)
{
    char *fence_key = key ? lki_name_prefix("redisson_lock_token", key) : NULL;

    if (key && !fence_key) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "%s", key);
        return NULL;
    }
    return lki_hash_lock_new(&fenced_ops, client, key, fence_key, err);
}
