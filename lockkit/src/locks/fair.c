/*
 * The fair lock: the hash of the reentrant lock, and beside it a queue of waiters. Each waiter has a channel
 * of its own, so a release wakes only the next one. A waiter keeps its place by trying again (wait.c's
 * timer); after its window without a try, the next try of any client drops it. All clocks are the server's.
 * Threads as lock.h says.
 *
 * With Redisson's waiters in the same queue: keys, channels and sweep are the same. A waiter of Redisson gets
 * its score once: that of the one before it (or the rest of the lease) plus its own wait time, which it
 * subtracts from all behind it when it leaves. So n dead waiters cost n wait times. A waiter of lockkit sets
 * its score to "now plus a window" at each try, and subtracts nothing. Behind a waiter of Redisson that score
 * would be too low after the subtraction; there it is the other's score plus a margin, which is subtracted
 * again, from all behind as well, once ours is in front. The margin is a window plus the time waited so far, as
 * Redisson's scores count from the beginning of the queue. It is an estimate: a waiter that loses its place
 * by it queues up again with four times the margin.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lockkit/locks.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/name.h"
#include "base/options.h"
#include "hash_lock.h"
#include "queue.h"
#include "wire/reply.h"

enum { MARGIN_MAX_MS = 300000 }; /* Redisson's fairLockWaitTimeout */

struct fair_lock {
    struct hash_lock hash;
    char *queue_key;   /* owned */
    char *timeout_key; /* owned */
    char *channel;     /* owned; a waiter's own is "channel:owner" */
    struct queue_place place;
    int64_t began;     /* this acquire */
    int64_t margin_ms; /* behind a waiter of Redisson */
};

static struct fair_lock *fair_of(lk_lock *lock)
{
    return (struct fair_lock *)(void *)lock;
}

/* One of the fair_*.lua with its keys and first argument. */
static struct lki_call call_of(const lk_lock *lock, const char *script, const char *owner)
{
    const struct fair_lock *self = (const struct fair_lock *)(const void *)lock;

    return (struct lki_call){.script = script,
                             .preamble = "fair_queue",
                             .keys = {lk_bytes_of(lock->key), lk_bytes_of(self->queue_key),
                                      lk_bytes_of(self->timeout_key), lk_bytes_of(self->channel)},
                             .key_count = 4,
                             .args = {lk_bytes_of(owner)},
                             .arg_count = 1,
                             .undo_until = lock->undo_until};
}

static lk_status fair_prepare(lk_lock *lock, struct lk_error *err)
{
    char *channel = NULL;
    lk_status status = lki_hash_lock_prepare(lock, err);

    if (status != LK_OK) return status;
    if (asprintf(&channel, "%s:%s", fair_of(lock)->channel, lock->token) < 0) {
        return LKI_FAIL(err, LK_NO_MEMORY, "%s", lock->key);
    }
    free(lock->wake_channel);
    lock->wake_channel = channel;
    fair_of(lock)->place.is_taken = false;
    fair_of(lock)->began = lki_clock_now();
    fair_of(lock)->margin_ms = fair_of(lock)->place.waiter_ms;
    return LK_OK;
}

/* In whole seconds, as it is an estimate. */
static int64_t margin_ms(const struct fair_lock *self, int64_t now)
{
    int64_t margin_ms = self->margin_ms + (now - self->began) / (1000 * (int64_t)NS_PER_MS) * 1000;

    return margin_ms < MARGIN_MAX_MS ? margin_ms : MARGIN_MAX_MS;
}

static lk_status fair_try_acquire(lk_lock *lock, int64_t *out_ttl_ms, int64_t deadline,
                                  struct lk_error *err)
{
    char lease[LKI_NUMBER_MAX];
    char window[LKI_NUMBER_MAX];
    char margin[LKI_NUMBER_MAX];
    long long answer[3] = {0};
    struct fair_lock *self = fair_of(lock);
    int64_t begin = lki_clock_now();
    bool had_place = self->place.is_taken;
    struct lki_call call = call_of(lock, "fair_acquire", lock->token);
    lk_reply *reply = NULL;

    call.args[1] = lki_number(lease, lock->lease_ms);
    call.args[2] = lki_number(window, lki_queue_window_ms(&self->place, lock));
    call.args[3] = lock->wait_ms > 0 ? LK_BYTES("1") : LK_BYTES("0");
    call.args[4] = lki_number(margin, margin_ms(self, begin));
    call.arg_count = 5;
    call.out_is_synced = &lock->is_synced;
    lk_status status = lki_call_reply(lock->client, &call, deadline, &reply, err);

    if (status == LK_OK || status == LK_UNKNOWN) self->place.is_taken = lock->wait_ms > 0;
    if (status == LK_OK) status = lki_reply_integers(reply, answer, 3, err);
    if (status != LK_OK) return status;
    /* It had lost its place before it got the lock: waiters that came in between have not overtaken it. */
    bool is_placed = answer[2] == 1 && (answer[0] != 1 || had_place);
    if (is_placed && had_place && self->margin_ms < MARGIN_MAX_MS) self->margin_ms *= 4;
    if (is_placed) lki_lock_emit(lock, LK_EVENT_QUEUED, LK_OK, begin, 1);
    if (answer[0] == 1) return LK_OK;
    if (out_ttl_ms) *out_ttl_ms = lki_queue_ask_again_ms(&self->place, answer[1]);
    return LKI_FAIL(err, LK_BUSY, "%s: held by somebody else, or others are before us", lock->key);
}

static void fair_abandon(lk_lock *lock, int64_t deadline)
{
    struct lki_call call = call_of(lock, "fair_abandon", lock->token);

    lki_queue_abandon(&fair_of(lock)->place, lock->client, &call, deadline);
}

/* Release by an owner, or by force (""); the answers 1 and 0 are OK and NOT_OWNER. */
static lk_status end_by(lk_lock *lock, const char *owner, const char *otherwise, int64_t deadline,
                        struct lk_error *err)
{
    struct lki_call call = call_of(lock, "fair_release", owner);
    long long is_ours = 0;
    lk_status status = lki_call_integer(lock->client, &call, deadline, &is_ours, err);

    if (status != LK_OK || is_ours == 1) return status;
    return LKI_FAIL(err, LK_NOT_OWNER, "%s: %s", lock->key, otherwise);
}

static lk_status fair_release(lk_lock *lock, int64_t deadline, struct lk_error *err)
{
    return end_by(lock, lock->token, "the lease had ended before the release", deadline, err);
}

static lk_status fair_force(lk_lock *lock, int64_t deadline, struct lk_error *err)
{
    return end_by(lock, "", "nobody held it", deadline, err);
}

static void fair_free(lk_lock *lock)
{
    struct fair_lock *self = (struct fair_lock *)(void *)lock;

    free(self->queue_key);
    free(self->timeout_key);
    free(self->channel);
    lki_hash_lock_free(lock);
}

static const struct lki_lock_ops fair_ops = {
    .kind = "fair",
    .guard_script = "reentrant_guard",
    .renew_script = "reentrant_renew",
    .prepare = fair_prepare,
    .try_acquire = fair_try_acquire,
    .abandon = fair_abandon,
    .reenter = lki_hash_lock_reenter,
    .leave = lki_hash_lock_leave,
    .release = fair_release,
    .force = fair_force,
    .free = fair_free,
};

static lk_status make(struct fair_lock *self, lk_client *client, const char *key, int64_t waiter_ms,
                      struct lk_error *err)
{
    lk_status status = lki_lock_init(&self->hash.base, &fair_ops, client, key, err);

    if (status == LK_OK) status = lki_queue_init(&self->place, waiter_ms, err);
    if (status != LK_OK) return status;
    self->hash.base.waiter.is_alone = true;
    self->queue_key = lki_name_prefix("redisson_lock_queue", key);
    self->timeout_key = lki_name_prefix("redisson_lock_timeout", key);
    self->channel = lki_name_prefix("redisson_lock__channel", key);
    if (self->queue_key && self->timeout_key && self->channel) return LK_OK;
    return LKI_FAIL(err, LK_NO_MEMORY, "%s", key);
}

lk_lock *lk_fair_new(lk_client *client, const char *key, const struct lk_fair_options *options,
                     struct lk_error *err)
{
    struct lk_fair_options known;
    struct fair_lock *self = NULL;

    if (LKI_OPTIONS_COPY(&known, options, waiter_ms, err) != LK_OK) return NULL;
    self = calloc(1, sizeof *self);
    if (!self) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "a lock");
        return NULL;
    }
    if (make(self, client, key, known.waiter_ms, err) == LK_OK) {
        return &self->hash.base;
    }
    fair_free(&self->hash.base);
    return NULL;
}
