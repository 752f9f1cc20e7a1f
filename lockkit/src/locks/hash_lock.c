/*
 * The server counts the holds of an owner, but only this handle changes the count. So every step sets the
 * number, and is idempotent when it is repeated after a lost reply. Each first acquire has a new owner name:
 * a late command of one hold cannot affect another. Threads as lock.h says.
 */
#include "hash_lock.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/name.h"
#include "wire/reply.h"

lk_lock *lki_hash_lock_new(const struct lki_lock_ops *ops, lk_client *client, const char *key,
                           char *fence_key, struct lk_error *err)
{
    if (client && client->backend) {
        free(fence_key);
        return client->backend->lock_new(client, ops->kind, key, err);
    }
    struct hash_lock *self = calloc(1, sizeof *self);
    if (!self) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "a lock");
        free(fence_key);
        return NULL;
    }
    self->fence_key = fence_key;
    if (key && !ops->is_silent)
        self->base.wake_channel = lki_name_prefix("redisson_lock__channel", key);
    lk_status status = lki_lock_init(&self->base, ops, client, key, err);
    if (status == LK_OK && (self->base.wake_channel || ops->is_silent)) return &self->base;
    if (status == LK_OK) (void)LKI_FAIL(err, LK_NO_MEMORY, "%s", key);
    lki_hash_lock_free(&self->base);
    return NULL;
}

void lki_hash_lock_free(lk_lock *lock)
{
    free(((struct hash_lock *)(void *)lock)->fence_key);
    lki_lock_done(lock);
    free(lock);
}

lk_status lki_hash_lock_prepare(lk_lock *lock, struct lk_error *err)
{
    (void)err;
    lki_context_owner(lock->client, lock->token);
    return LK_OK;
}

/* A call of reentrant_acquire.lua with the number of holds. */
struct grant {
    int64_t lease_ms;
    unsigned holds;
    long long answer[2]; /* out */
};

static lk_status acquire(lk_lock *lock, struct grant *grant, int64_t deadline, struct lk_error *err)
{
    const struct hash_lock *self = (const struct hash_lock *)(const void *)lock;
    char lease[LKI_NUMBER_MAX];
    char count[LKI_NUMBER_MAX];
    struct lki_call call = {.script = "reentrant_acquire",
                            .keys = {lk_bytes_of(lock->key)},
                            .key_count = 1,
                            .args = {lk_bytes_of(lock->token), lki_number(lease, grant->lease_ms),
                                     lki_number(count, grant->holds)},
                            .arg_count = 3,
                            /* Replicas need not confirm a re-entry: the lock is held already. */
                            .out_is_synced = grant->holds == 1 ? &lock->is_synced : NULL};
    lk_reply *reply = NULL;

    if (self->fence_key) call.keys[call.key_count++] = lk_bytes_of(self->fence_key);
    lk_status status = lki_call_reply(lock->client, &call, deadline, &reply, err);
    return status == LK_OK ? lki_reply_integers(reply, grant->answer, 2, err) : status;
}

lk_status lki_hash_lock_try_acquire(lk_lock *lock, int64_t *out_ttl_ms, int64_t deadline,
                                    struct lk_error *err)
{
    struct grant grant = {.lease_ms = lock->lease_ms, .holds = 1};
    lk_status status = acquire(lock, &grant, deadline, err);

    if (status != LK_OK) return status;
    if (grant.answer[0] == 1) {
        lock->fence = (uint64_t)grant.answer[1];
        return LK_OK;
    }
    if (out_ttl_ms) *out_ttl_ms = grant.answer[1];
    return LKI_FAIL(err, LK_BUSY, "%s: held by somebody else", lock->key);
}

lk_status lki_hash_lock_reenter(lk_lock *lock, int64_t lease_ms, int64_t deadline,
                                struct lk_error *err)
{
    struct grant grant = {.lease_ms = lease_ms, .holds = lock->depth + 1};
    lk_status status = acquire(lock, &grant, deadline, err);

    if (status != LK_OK || grant.answer[0] == 1) return status;
    return LKI_FAIL(err, LK_LOST, "%s: the outer hold has ended", lock->key);
}

lk_status lki_hash_lock_leave(lk_lock *lock, unsigned depth, int64_t deadline, struct lk_error *err)
{
    char lease[LKI_NUMBER_MAX];
    char count[LKI_NUMBER_MAX];
    struct lki_call call = {.script = "reentrant_leave",
                            .keys = {lk_bytes_of(lock->key)},
                            .key_count = 1,
                            .args = {lk_bytes_of(lock->token), lki_number(lease, lock->lease_ms),
                                     lki_number(count, depth)},
                            .arg_count = 3};
    long long is_ours = 0;
    lk_status status = lki_call_integer(lock->client, &call, deadline, &is_ours, err);

    if (status != LK_OK || is_ours == 1) return status;
    return LKI_FAIL(err, LK_NOT_OWNER, "%s: the lease had ended before the release", lock->key);
}

/* Run a script with the key, the channel (unless the kind is silent) and one argument: the owner, or none by force.
   The answers 1 and 0 are OK and NOT_OWNER. */
static lk_status end_by(const lk_lock *lock, const char *script, const char *arg, int64_t deadline,
                        struct lk_error *err)
{
    struct lki_call call = {.script = script,
                            .keys = {lk_bytes_of(lock->key)},
                            .key_count = 1,
                            .args = {lk_bytes_of(arg)},
                            .arg_count = 1,
                            .undo_until = lock->undo_until};
    long long answer = 0;

    if (lock->wake_channel) call.keys[call.key_count++] = lk_bytes_of(lock->wake_channel);
    lk_status status = lki_call_integer(lock->client, &call, deadline, &answer, err);
    if (status != LK_OK || answer == 1) return status;
    return LKI_FAIL(err, LK_NOT_OWNER, "%s: %s", lock->key,
                    arg == lock->token ? "the lease had ended before the release"
                                       : "nobody held it");
}

lk_status lki_hash_lock_release(lk_lock *lock, int64_t deadline, struct lk_error *err)
{
    return end_by(lock, "reentrant_release", lock->token, deadline, err);
}

lk_status lki_hash_lock_force(lk_lock *lock, int64_t deadline, struct lk_error *err)
{
    return end_by(lock, "force_release", "hash", deadline, err);
}
