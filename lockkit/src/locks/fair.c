/*
 * The fair lock: the hash of the reentrant lock, and beside it a queue of those who wait. Each
 * listens on a channel of its own, so a release wakes the next one alone. Who waits keeps its place
 * by asking again (wait.c's timer); who stopped asking is dropped when its window is over, by
 * whoever asks next. All clocks are the server's. Threads as lock.h says.
 *
 * Beside Redisson's: the same keys, channels and sweep. Its waiters ask not to renew but to take: one
 * gets, once, the score of the last before it (the lease that is left, if none) plus its own wait, and
 * takes that off all behind when it goes. So with n waiters dead, n waits go by. Ours say "now and a
 * window" each time they ask, however long the queue, and take nothing off. Behind one of Redisson's
 * that would be overdrawn when it goes: there it is that one's score plus a margin, which is taken off
 * again, from all behind as well, once ours is in front. The margin is a window and what it has waited,
 * as Redisson's scores count from when its queue began and not from now. It is a guess: who lost its
 * place by it queues again, with four times as much.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lockkit/locks.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/name.h"
#include "base/options.h"
#include "hash_lock.h"
#include "wire/reply.h"

enum {
    WAITER_MS = 5000,        /* GRACE of fair_queue.lua */
    MARGIN_MAX_MS = 300000,  /* Redisson's fairLockWaitTimeout */
    WAITER_LEAST_MS = 100,   /* a shorter window would end between two questions */
    ASK_AGAIN_MAX_MS = 2000, /* well below it */
    ABANDON_PAUSE_MS = 20,
    ABANDON_CROWDS = 20,
};

struct fair_lock {
    struct hash_lock hash;
    char *queue_key;   /* owned */
    char *timeout_key; /* owned */
    char *channel;     /* owned; a waiter's own is "channel:owner" */
    int64_t waiter_ms;
    int64_t began;     /* this acquire */
    int64_t margin_ms; /* behind Redisson's, and what it has waited */
    bool has_place;    /* perhaps: this acquire's owner may be in the queue */
};

static struct fair_lock *fair_of(lk_lock *lock)
{
    return (struct fair_lock *)(void *)lock;
}

/* How long the place of this acquire's owner is good without a question. */
static int64_t window_ms(lk_lock *lock)
{
    int64_t longest_ms = fair_of(lock)->waiter_ms;

    return lock->wait_ms > 0 && lock->wait_ms < longest_ms ? lock->wait_ms : longest_ms;
}

/* Run one of the fair_*.lua with its keys filled in. */
static lk_status run(lk_lock *lock, struct lki_call call, int64_t deadline, lk_reply **out_reply,
                     struct lk_error *err)
{
    const struct fair_lock *self = fair_of(lock);

    call.keys[0] = lk_bytes_of(lock->key);
    call.keys[1] = lk_bytes_of(self->queue_key);
    call.keys[2] = lk_bytes_of(self->timeout_key);
    call.keys[3] = lk_bytes_of(self->channel);
    call.key_count = 4;
    struct lk_eval eval = lki_eval_of(lock->client, &call);
    const struct lki_variant *variant =
        lki_script_variant(eval.script, lki_context_own_script(lock->client, "fair_queue")->text);
    if (!variant) return LKI_FAIL(err, LK_NO_MEMORY, "a script");
    return lki_eval_variant(lock->client, &eval,
                            &(struct lki_run){.variant = variant,
                                              .deadline = deadline,
                                              .owe_until = call.owe_until,
                                              .out_is_synced = call.out_is_synced},
                            out_reply, err);
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
    fair_of(lock)->has_place = false;
    fair_of(lock)->began = lki_clock_now();
    fair_of(lock)->margin_ms = fair_of(lock)->waiter_ms;
    return LK_OK;
}

/* When to ask again: when there may be something to take, and in time to keep our place. */
static int64_t ask_again_ms(lk_lock *lock, int64_t ttl_ms)
{
    int64_t third_ms = fair_of(lock)->waiter_ms / 3;
    int64_t longest_ms = third_ms < ASK_AGAIN_MAX_MS ? third_ms : ASK_AGAIN_MAX_MS;

    return ttl_ms < 0 || ttl_ms > longest_ms ? longest_ms : ttl_ms;
}

/* By whole seconds: a guess need not differ from run to run. */
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
    bool had_place = self->has_place;
    struct lki_call call = {.script = "fair_acquire",
                            .args = {lk_bytes_of(lock->token), lki_number(lease, lock->lease_ms),
                                     lki_number(window, window_ms(lock)),
                                     lock->wait_ms > 0 ? LK_BYTES("1") : LK_BYTES("0"),
                                     lki_number(margin, margin_ms(self, begin))},
                            .arg_count = 5,
                            .out_is_synced = &lock->is_synced};
    lk_reply *reply = NULL;
    lk_status status = run(lock, call, deadline, &reply, err);

    if (status == LK_OK || status == LK_UNKNOWN) self->has_place = lock->wait_ms > 0;
    if (status == LK_OK) status = lki_reply_integers(reply, answer, 3, err);
    if (status != LK_OK) return status;
    /* Held by one that had lost its place: those who came between did not overtake it. */
    bool is_placed = answer[2] == 1 && (answer[0] != 1 || had_place);
    if (is_placed && had_place && self->margin_ms < MARGIN_MAX_MS) self->margin_ms *= 4;
    if (is_placed) lki_lock_emit(lock, LK_EVENT_QUEUED, LK_OK, begin, 1);
    if (answer[0] == 1) return LK_OK;
    if (out_ttl_ms) *out_ttl_ms = ask_again_ms(lock, answer[1]);
    return LKI_FAIL(err, LK_BUSY, "%s: held by somebody else, or others are before us", lock->key);
}

/*
 * A place that stays behind holds up everybody, so this insists as long as a command may take;
 * longer when only our own crowd is in the way (EXHAUSTED: it has all connections).
 */
static void fair_abandon(lk_lock *lock, int64_t deadline)
{
    static const struct timespec pause = {.tv_nsec = (long)ABANDON_PAUSE_MS * NS_PER_MS};
    struct lki_call call = {
        .script = "fair_abandon", .args = {lk_bytes_of(lock->token)}, .arg_count = 1};

    for (int crowds = 0; fair_of(lock)->has_place && lki_clock_left_ms(deadline) > 0;) {
        lk_reply *reply = NULL;
        long long had_place = 0;
        lk_status status = run(lock, call, deadline, &reply, NULL);

        if (status == LK_OK) status = lki_reply_integers(reply, &had_place, 1, NULL);
        if (status == LK_OK || status == LK_INVALID) break;
        if (status != LK_EXHAUSTED) {
            (void)nanosleep(&pause, NULL);
        } else if (++crowds < ABANDON_CROWDS) {
            deadline = lki_context_deadline(lock->client, 0);
        }
    }
}

/* Release by an owner, or by whoever comes ("") to break it; 1 or 0 as OK or NOT_OWNER. */
static lk_status end_by(lk_lock *lock, const char *owner, const char *otherwise, int64_t deadline,
                        struct lk_error *err)
{
    struct lki_call call = {.script = "fair_release",
                            .args = {lk_bytes_of(owner)},
                            .arg_count = 1,
                            .owe_until = lock->owe_until};
    lk_reply *reply = NULL;
    long long is_ours = 0;
    lk_status status = run(lock, call, deadline, &reply, err);

    if (status == LK_OK) status = lki_reply_integers(reply, &is_ours, 1, err);
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

    if (status != LK_OK) return status;
    if (waiter_ms != 0 && (waiter_ms < WAITER_LEAST_MS || waiter_ms > INT32_MAX)) {
        return LKI_FAIL(err, LK_INVALID, "waiter_ms is not between %d and %d", WAITER_LEAST_MS,
                        INT32_MAX);
    }
    self->waiter_ms = waiter_ms ? waiter_ms : WAITER_MS;
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
