/*
 * Leases sit in a heap by the moment they are next looked at, always an absolute one: a third of
 * the lease after the last renewal was SENT, so slowness never adds up. All that are due are
 * renewed in one pipeline on the watchdog's own connection. A key that fails is tried again on its
 * own; the others do not wait for it. A lease that could not be renewed ends by the local clock,
 * whatever the network says, and its holder is told, also while an answer is awaited. Renewal never
 * re-creates a key: a lost lock is lost for good.
 */
#include "watchdog.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "error.h"
#include "lock_ops.h"

enum {
    ROUND_MAX = 256,    /* renewals per pipeline */
    RETRY_FLOOR_MS = 5, /* before a failed renewal is tried again */
    EARLY_PART = 30,    /* of a lease: so much too early a renewal may go along with another one */
};

struct lki_watchdog {
    struct lki_watchdog_options options;
    struct lki_redis *redis; /* owned; the watchdog thread's alone */
    pthread_mutex_t mutex;   /* guards all below, and every lease */
    struct lki_heap leases;
    pthread_cond_t changed; /* an earlier lease came, or stop */
    pthread_cond_t idle;    /* a round has ended */
    bool is_stopping;
};

/* The locks of one round, with what must not change under it. */
struct round {
    lk_lock *locks[ROUND_MAX];
    lk_reply *replies[ROUND_MAX];
    size_t count;
    bool is_over; /* all these leases have ended: nothing is asked */
    int64_t sent_at;
    int64_t deadline;
};

static lk_lock *lock_of(struct lki_heap_item *item)
{
    return (lk_lock *)(void *)((char *)item - offsetof(lk_lock, lease.item));
}

/* When to look again: at the next renewal, or when there is nothing to renew at the lease's end. */
static int64_t next_look(const lk_lock *lock, int64_t renew_at)
{
    int64_t ends = atomic_load(&lock->expires_at);

    if (!lock->is_renewed || renew_at >= lock->lease.stop_at) return ends;
    return renew_at < ends ? renew_at : ends;
}

lk_status lki_watchdog_add(struct lki_watchdog *watchdog, lk_lock *lock, struct lk_error *err)
{
    int64_t third = lock->lease_ms * NS_PER_MS / 3;
    lk_status status = LK_OK;

    (void)pthread_mutex_lock(&watchdog->mutex);
    lock->lease.item.key = next_look(lock, lki_clock_now() + third);
    if (!lki_heap_push(&watchdog->leases, &lock->lease.item)) {
        status = LKI_FAIL(err, LK_NO_MEMORY, "watchdog");
    } else if (lki_heap_first(&watchdog->leases) == &lock->lease.item) {
        (void)pthread_cond_signal(&watchdog->changed);
    }
    (void)pthread_mutex_unlock(&watchdog->mutex);
    return status;
}

void lki_watchdog_remove(struct lki_watchdog *watchdog, lk_lock *lock)
{
    (void)pthread_mutex_lock(&watchdog->mutex);
    while (lock->lease.is_renewing)
        (void)pthread_cond_wait(&watchdog->idle, &watchdog->mutex);
    lki_heap_remove(&watchdog->leases, &lock->lease.item);
    (void)pthread_mutex_unlock(&watchdog->mutex);
}

/* ---- one round -------------------------------------------------------------------------------- */

/* Into a round. It stays in the heap, out of the way, so that there is room for it afterwards. */
static void take_locked(struct lki_watchdog *watchdog, lk_lock *lock, struct round *round)
{
    lki_heap_remove(&watchdog->leases, &lock->lease.item);
    lock->lease.item.key = INT64_MAX;
    (void)lki_heap_push(&watchdog->leases, &lock->lease.item);
    lock->lease.is_renewing = true;
    round->locks[round->count++] = lock;
}

/* Whether a round that begins now takes it along. Leases that were taken one by one fall into step so,
   and cost a round trip per round instead of one each. */
static bool is_due(const lk_lock *lock, int64_t now)
{
    bool is_renewal = lock->lease.item.key < atomic_load(&lock->expires_at);
    int64_t early = is_renewal ? lock->lease_ms * NS_PER_MS / EARLY_PART : 0;

    return lock->lease.item.key - early <= now;
}

/* Take what is due: what has ended, which is lost without asking, and what is to be renewed. */
static void collect_locked(struct lki_watchdog *watchdog, struct round *ended, struct round *due)
{
    int64_t now = lki_clock_now();

    due->deadline = lki_clock_after_ms(watchdog->options.command_ms);
    ended->sent_at = due->sent_at = now;
    while (ended->count < ROUND_MAX && due->count < ROUND_MAX) {
        struct lki_heap_item *item = lki_heap_first(&watchdog->leases);

        if (!item || !is_due(lock_of(item), now)) break;
        lk_lock *lock = lock_of(item);
        int64_t ends = atomic_load(&lock->expires_at);
        take_locked(watchdog, lock, ends <= now ? ended : due);
        if (ends > now && ends < due->deadline) due->deadline = ends;
    }
}

/* While a round waits for its answers: take what has ended; a renewal that falls due comes after. */
static void collect_ended_locked(struct lki_watchdog *watchdog, struct round *ended)
{
    int64_t now = lki_clock_now();

    ended->sent_at = now;
    while (ended->count < ROUND_MAX) {
        struct lki_heap_item *item = lki_heap_first(&watchdog->leases);

        if (!item || item->key > now) break;
        lk_lock *lock = lock_of(item);
        int64_t ends = atomic_load(&lock->expires_at);
        int64_t later = lki_clock_after_ms(RETRY_FLOOR_MS);
        if (ends <= now) {
            take_locked(watchdog, lock, ended);
            continue;
        }
        lki_heap_remove(&watchdog->leases, item);
        item->key = later < ends ? later : ends;
        (void)lki_heap_push(&watchdog->leases, item);
    }
}

static lk_status answer_of(const struct round *round, size_t slot)
{
    const lk_reply *reply = round->replies[slot];

    if (round->is_over) return LK_LOST;
    if (!reply) return LK_UNKNOWN;
    if (lki_reply_is_error(reply, "WRONGTYPE")) return LK_LOST; /* the key is something else now */
    if (lk_reply_type_of(reply) == LK_REPLY_ERROR) return LK_SERVER;
    return lk_reply_integer(reply, 0) == 1 ? LK_OK : LK_LOST;
}

/* Take over the answers and put the leases back. */
static void settle_locked(struct lki_watchdog *watchdog, struct round *round)
{
    for (size_t i = 0; i < round->count; i++) {
        lk_lock *lock = round->locks[i];
        lk_status status = answer_of(round, i);
        int64_t third = lock->lease_ms * NS_PER_MS / 3;
        int64_t retry_ms = lock->lease_ms / 10;

        lock->lease.is_renewing = false;
        lki_heap_remove(&watchdog->leases, &lock->lease.item);
        if (status == LK_LOST) continue;
        if (status == LK_OK) {
            int64_t ends = lki_lease_end(round->sent_at, lock->lease_ms);

            if (ends > atomic_load(&lock->expires_at)) atomic_store(&lock->expires_at, ends);
            lock->lease.item.key = next_look(lock, round->sent_at + third);
        } else {
            if (retry_ms < RETRY_FLOOR_MS) retry_ms = RETRY_FLOOR_MS;
            lock->lease.item.key = next_look(lock, lki_clock_after_ms(retry_ms));
        }
        (void)lki_heap_push(&watchdog->leases, &lock->lease.item); /* it has just left room */
    }
    (void)pthread_cond_broadcast(&watchdog->idle);
}

/* Tell those whose hold has ended, and the hook; no mutex held, is_renewing still set. */
static void tell_round(struct lki_watchdog *watchdog, const struct round *round)
{
    int64_t now = lki_clock_now();

    for (size_t i = 0; i < round->count; i++) {
        lk_lock *lock = round->locks[i];
        struct lk_event event = {.type = LK_EVENT_RENEW,
                                 .status = answer_of(round, i),
                                 .at_ns = now,
                                 .duration_ns = now - round->sent_at,
                                 .attempts = 1,
                                 .kind = lock->ops->kind,
                                 .key = lock->key,
                                 .token = lock->token,
                                 .ends_ns = lki_lease_end(round->sent_at, lock->lease_ms),
                                 .fence = lock->fence};

        if (!round->is_over) lki_client_emit(watchdog->options.client, event);
        if (event.status != LK_LOST || !lki_lock_mark_lost(lock)) continue;
        event.type = LK_EVENT_LOST;
        lki_client_emit(watchdog->options.client, event);
        if (lock->on_lost) lock->on_lost(lock, lock->on_lost_arg);
    }
}

/* Tell, and put back what goes on. Called and returns with the mutex held, not held in between. */
static void finish_round_locked(struct lki_watchdog *watchdog, struct round *round)
{
    if (round->count == 0) return;
    (void)pthread_mutex_unlock(&watchdog->mutex);
    tell_round(watchdog, round);
    (void)pthread_mutex_lock(&watchdog->mutex);
    settle_locked(watchdog, round);
}

/* Tell those whose leases end while a round waits for its answers; when to look again. */
static int64_t notice_ends(struct lki_watchdog *watchdog)
{
    struct round ended = {.is_over = true};

    (void)pthread_mutex_lock(&watchdog->mutex);
    collect_ended_locked(watchdog, &ended);
    finish_round_locked(watchdog, &ended);
    int64_t next_look_at = lki_heap_first(&watchdog->leases)->key; /* the round is in there too */
    (void)pthread_mutex_unlock(&watchdog->mutex);
    return next_look_at;
}

/* Send, and wait for all answers without losing sight of the other leases. */
static bool exchange(struct lki_watchdog *watchdog, const struct lk_command *commands, size_t count,
                     int64_t deadline, lk_reply **replies)
{
    size_t done = 0;
    int64_t begin = lki_clock_now();
    bool is_alive = lki_redis_send(watchdog->redis, commands, count, deadline, NULL) == LK_OK;

    while (is_alive && done < count) {
        is_alive = lki_redis_receive(watchdog->redis, &replies[done], NULL) == LK_OK;
        if (replies[done]) {
            done++;
        } else if (is_alive) {
            int64_t until = notice_ends(watchdog);

            if (until > deadline) until = deadline;
            is_alive = lki_redis_wait(watchdog->redis, until) || lki_clock_left_ms(deadline) > 0;
        }
    }
    lki_client_emit(watchdog->options.client,
                    (struct lk_event){.type = LK_EVENT_ROUND_TRIP,
                                      .status = is_alive ? LK_OK : LK_UNKNOWN,
                                      .duration_ns = lki_clock_now() - begin,
                                      .attempts = (unsigned)count});
    if (is_alive) return true;
    while (done > 0)
        lk_reply_free(replies[--done]);
    lki_redis_close(watchdog->redis); /* late answers must not meet the next round */
    watchdog->redis = NULL;
    return false;
}

struct renewal {
    struct lki_eval_words words;
    struct lk_bytes keys[2];
    struct lk_bytes args[2];
    char lease[LKI_NUMBER_MAX];
    size_t slot; /* in the round */
};

static bool make_renewal(const lk_lock *lock, const struct lki_variant *variant, bool by_text,
                         struct renewal *out)
{
    struct lk_eval eval = {.keys = out->keys, .key_count = 1, .args = out->args, .arg_count = 2};

    out->keys[0] = lk_bytes_of(lock->key);
    if (lock->renew_key) out->keys[eval.key_count++] = lk_bytes_of(lock->renew_key);
    out->args[0] = lk_bytes_of(lock->token);
    out->args[1] = lki_number(out->lease, lock->lease_ms);
    return lki_eval_words_make(variant, &eval, NULL, NULL, by_text, &out->words, NULL) == LK_OK;
}

/* Whether this lock of the round still waits for a definite answer. */
static bool is_open(const struct round *round, size_t slot, bool by_text)
{
    return !round->replies[slot] ||
           (by_text && lki_reply_is_error(round->replies[slot], "NOSCRIPT"));
}

/* Send all renewals in one pipeline; answers go to round->replies. False when the link failed. */
static bool exchange_round(struct lki_watchdog *watchdog, struct round *round, bool by_text)
{
    struct renewal *renewals = calloc(round->count, sizeof *renewals);
    struct lk_command *commands = calloc(round->count, sizeof *commands);
    lk_reply **replies = calloc(round->count, sizeof *replies);
    size_t count = 0;
    bool is_done = false;

    if (!renewals || !commands || !replies) goto out;
    for (size_t i = 0; i < round->count; i++) {
        const char *name = round->locks[i]->ops->renew_script;
        const struct lki_variant *variant = lki_client_own_script(watchdog->options.client, name);

        if (!is_open(round, i, by_text)) continue;
        if (!make_renewal(round->locks[i], variant, by_text, &renewals[count])) goto out;
        renewals[count].slot = i;
        commands[count] =
            (struct lk_command){renewals[count].words.words, renewals[count].words.count};
        count++;
    }
    is_done = count == 0 || exchange(watchdog, commands, count, round->deadline, replies);
    for (size_t i = 0; is_done && i < count; i++) {
        lk_reply_free(round->replies[renewals[i].slot]);
        round->replies[renewals[i].slot] = replies[i];
    }

out:
    for (size_t i = 0; renewals && i < round->count; i++)
        free(renewals[i].words.words);
    free(renewals);
    free(commands);
    free(replies);
    return is_done;
}

static bool has_noscript(const struct round *round)
{
    for (size_t i = 0; i < round->count; i++) {
        if (lki_reply_is_error(round->replies[i], "NOSCRIPT")) return true;
    }
    return false;
}

static void connect_watchdog(struct lki_watchdog *watchdog, int64_t deadline)
{
    struct lk_error why = {0};
    int64_t begin = lki_clock_now();
    int64_t limit = lki_clock_after_ms(watchdog->options.connect_ms);

    watchdog->redis =
        lki_redis_open(watchdog->options.endpoint, deadline < limit ? deadline : limit, &why);
    lki_client_emit(watchdog->options.client,
                    (struct lk_event){.type = LK_EVENT_CONNECT,
                                      .status = watchdog->redis ? LK_OK : why.code,
                                      .duration_ns = lki_clock_now() - begin,
                                      .attempts = 1});
}

/* Ask the server, on a connection that is made anew after a failure. */
static void renew_round(struct lki_watchdog *watchdog, struct round *round)
{
    if (watchdog->redis && !lki_redis_is_usable(watchdog->redis)) {
        lki_redis_close(watchdog->redis);
        watchdog->redis = NULL;
    }
    if (!watchdog->redis) connect_watchdog(watchdog, round->deadline);
    if (!watchdog->redis) return;
    round->sent_at = lki_clock_now();
    if (exchange_round(watchdog, round, false) && has_noscript(round)) {
        (void)exchange_round(watchdog, round, true);
    }
}

static void run_round_locked(struct lki_watchdog *watchdog)
{
    struct round ended = {.is_over = true};
    struct round due = {0};

    collect_locked(watchdog, &ended, &due);
    finish_round_locked(watchdog, &ended);
    if (due.count == 0) return;
    (void)pthread_mutex_unlock(&watchdog->mutex);
    renew_round(watchdog, &due);
    (void)pthread_mutex_lock(&watchdog->mutex);
    finish_round_locked(watchdog, &due);
    for (size_t i = 0; i < due.count; i++)
        lk_reply_free(due.replies[i]);
}

void *lki_watchdog_main(void *arg)
{
    struct lki_watchdog *watchdog = arg;

    (void)pthread_mutex_lock(&watchdog->mutex);
    while (!watchdog->is_stopping) {
        struct lki_heap_item *first = lki_heap_first(&watchdog->leases);

        if (!first) {
            (void)pthread_cond_wait(&watchdog->changed, &watchdog->mutex);
        } else if (!lki_clock_wait(&watchdog->changed, &watchdog->mutex, first->key)) {
            run_round_locked(watchdog);
        }
    }
    (void)pthread_mutex_unlock(&watchdog->mutex);
    return NULL;
}

void lki_watchdog_stop(struct lki_watchdog *watchdog)
{
    (void)pthread_mutex_lock(&watchdog->mutex);
    watchdog->is_stopping = true;
    (void)pthread_cond_signal(&watchdog->changed);
    (void)pthread_mutex_unlock(&watchdog->mutex);
}

struct lki_watchdog *lki_watchdog_new(const struct lki_watchdog_options *options,
                                      struct lk_error *err)
{
    struct lki_watchdog *watchdog = calloc(1, sizeof *watchdog);

    if (!watchdog) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "the watchdog");
        return NULL;
    }
    watchdog->options = *options;
    (void)pthread_mutex_init(&watchdog->mutex, NULL);
    (void)pthread_cond_init(&watchdog->changed, NULL);
    (void)pthread_cond_init(&watchdog->idle, NULL);
    return watchdog;
}

void lki_watchdog_free(struct lki_watchdog *watchdog)
{
    if (!watchdog) return;
    lki_heap_done(&watchdog->leases);
    lki_redis_close(watchdog->redis);
    (void)pthread_cond_destroy(&watchdog->idle);
    (void)pthread_cond_destroy(&watchdog->changed);
    (void)pthread_mutex_destroy(&watchdog->mutex);
    free(watchdog);
}
