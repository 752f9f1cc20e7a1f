/*
 * What all kinds of lock share: the loop "try, wait, try, until the deadline", the local view of a
 * hold, and release. What one kind knows is in its own file.
 *
 * Lock order: none. No mutex of lockkit is ever taken while another is held.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clock.h"
#include "error.h"
#include "lock_ops.h"

enum {
    SLEEP_FLOOR_MS = 2, /* a waiter never asks the server more often than this by its timer */
    JITTER_MAX_MS = 50, /* waiters whose timers end together drift apart */
    UNDO_MAX_MS = 100,  /* what an undo after a lost reply may cost */
    DRIFT_PERCENT = 1,
    DRIFT_FIXED_MS = 2,
};

/* ---- life --------------------------------------------------------------------------------------- */

/* "PREFIX:NAME" when the name has a brace, else "PREFIX:{NAME}": one slot in a cluster. */
static char *derive_name(const char *prefix, const char *name)
{
    char *derived = NULL;
    const char *format = strchr(name, '{') ? "%s:%s" : "%s:{%s}";
    int len = 0;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    len = asprintf(&derived, format, prefix, name);
#pragma GCC diagnostic pop
    return len < 0 ? NULL : derived;
}

bool lki_lock_init(lk_lock *lock, const struct lki_lock_ops *ops, lk_client *client,
                   const char *key)
{
    lock->ops = ops;
    lock->client = client;
    lock->key = strdup(key);
    lock->wake_channel = derive_name("lockkit_wake", key);
    atomic_init(&lock->state, LOCK_IDLE);
    atomic_init(&lock->expires_at, 0);
    atomic_init(&lock->lost_fd, -1);
    lki_waiter_init(&lock->waiter);
    return lock->key && lock->wake_channel;
}

void lki_lock_done(lk_lock *lock)
{
    int fd = atomic_load(&lock->lost_fd);

    lki_watchdog_remove(lki_client_watchdog(lock->client), lock);
    if (fd >= 0) (void)close(fd);
    lki_waiter_done(&lock->waiter);
    free(lock->wake_channel);
    free(lock->key);
}

void lk_lock_free(lk_lock *lock)
{
    if (lock) lock->ops->free(lock);
}

/* ---- the local view -------------------------------------------------------------------------------- */

int64_t lki_lease_end(int64_t sent_at, int64_t lease_ms)
{
    int64_t drift_ms = lease_ms * DRIFT_PERCENT / 100 + DRIFT_FIXED_MS;

    return sent_at + (lease_ms - drift_ms) * NS_PER_MS;
}

bool lk_held(const lk_lock *lock)
{
    return lk_lock_remaining_ms(lock) > 0;
}

int64_t lk_lock_remaining_ms(const lk_lock *lock)
{
    if (!lock || atomic_load(&lock->state) != LOCK_HELD) return 0;
    int64_t left = atomic_load(&lock->expires_at) - lki_clock_now();
    return left > 0 ? (left + NS_PER_MS - 1) / NS_PER_MS : 0;
}

bool lki_lock_mark_lost(lk_lock *lock)
{
    int held = LOCK_HELD;
    uint64_t one = 1;
    int fd = atomic_load(&lock->lost_fd);

    if (!atomic_compare_exchange_strong(&lock->state, &held, LOCK_LOST)) return false;
    if (fd >= 0) {
        ssize_t done = write(fd, &one, sizeof one);

        (void)done; /* a full counter is readable too */
    }
    return true;
}

int lk_lock_lost_fd(lk_lock *lock)
{
    int fd = atomic_load(&lock->lost_fd);

    if (fd >= 0) return fd;
    fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd >= 0) atomic_store(&lock->lost_fd, fd);
    return fd;
}

static void clear_lost_fd(const lk_lock *lock)
{
    int fd = atomic_load(&lock->lost_fd);
    uint64_t count = 0;

    if (fd < 0) return;
    ssize_t got = read(fd, &count, sizeof count);
    (void)got; /* empty is what it shall be */
}

/* ---- waiting ----------------------------------------------------------------------------------------- */

/* Until when to sleep if nobody wakes us: at most the holder's TTL, at most poll_ms, with jitter. */
static int64_t sleep_until(const lk_lock *lock, int64_t ttl_ms, int64_t deadline)
{
    int64_t poll_ms = lki_client_poll_ms(lock->client);
    int64_t sleep_ms = ttl_ms < 0 ? (ttl_ms == -1 ? poll_ms : 0) : ttl_ms;
    int64_t jitter_ms = 0;

    if (sleep_ms > poll_ms) sleep_ms = poll_ms;
    if (sleep_ms < SLEEP_FLOOR_MS) sleep_ms = SLEEP_FLOOR_MS;
    jitter_ms = sleep_ms / 4 + 1 < JITTER_MAX_MS ? sleep_ms / 4 + 1 : JITTER_MAX_MS;
    int64_t until = lki_clock_after_ms(sleep_ms) + lki_random_below(jitter_ms * NS_PER_MS);
    return until < deadline ? until : deadline;
}

/* How to try once, as lki_lock_pursue() is told. */
struct attempt {
    lk_status (*try_once)(lk_lock *lock, int64_t *out_ttl_ms, void *arg, struct lk_error *err);
    void *arg;
    int64_t deadline; /* of the wait */
    unsigned count;
};

/* Joined to the wake channel: try, sleep, try. A release that woke us and that we leave untried is
   handed on, or the next waiter would sleep beside a free lock. */
static lk_status try_and_wait(lk_lock *lock, struct attempt *attempt, struct lk_error *err)
{
    struct lki_hub *hub = lki_client_hub(lock->client);
    int64_t deadline = attempt->deadline;
    int64_t ttl_ms = 0;
    bool is_woken = false;
    lk_status status = LK_OK;

    for (;;) {
        attempt->count++;
        status = attempt->try_once(lock, &ttl_ms, attempt->arg, err);
        if (status != LK_BUSY) break;
        status = lki_hub_wait(hub, &lock->waiter, sleep_until(lock, ttl_ms, deadline));
        is_woken = status == LK_OK;
        if (status == LK_CANCELLED) {
            (void)LKI_FAIL(err, LK_CANCELLED, "%s: the wait was cancelled", lock->key);
            break;
        }
        if (lki_clock_left_ms(deadline) == 0) {
            status =
                LKI_FAIL(err, LK_BUSY, "%s: still held after %u tries", lock->key, attempt->count);
            break;
        }
    }
    if (is_woken && status != LK_OK) lki_hub_unwake(hub, &lock->waiter);
    return status;
}

static lk_status pursue(lk_lock *lock, struct attempt *attempt, struct lk_error *err)
{
    struct lki_hub *hub = lki_client_hub(lock->client);
    lk_status status = attempt->try_once(lock, NULL, attempt->arg, err);

    attempt->count = 1;
    if (status != LK_BUSY || lki_clock_left_ms(attempt->deadline) == 0) return status;
    int64_t confirm_by = lki_clock_after_ms(lki_client_poll_ms(lock->client));
    if (confirm_by > attempt->deadline) confirm_by = attempt->deadline;
    status = lki_hub_join(hub, &lock->waiter, lock->wake_channel, confirm_by, err);
    if (status != LK_OK) return status;
    status = try_and_wait(lock, attempt, err);
    lki_hub_leave(hub, &lock->waiter);
    return status;
}

lk_status lki_lock_pursue(lk_lock *lock, int64_t deadline,
                          lk_status (*try_once)(lk_lock *lock, int64_t *out_ttl_ms, void *arg,
                                                struct lk_error *err),
                          void *arg, unsigned *out_attempts, struct lk_error *err)
{
    struct attempt attempt = {.try_once = try_once, .arg = arg, .deadline = deadline};
    struct lk_error why = {0};
    lk_status status = pursue(lock, &attempt, &why);

    *out_attempts = attempt.count;
    if (err && status != LK_OK) *err = why; /* tries before a success are no failure */
    return status;
}

void lk_lock_cancel(lk_lock *lock)
{
    lki_hub_cancel(lki_client_hub(lock->client), &lock->waiter);
}

/* ---- acquire ------------------------------------------------------------------------------------------- */

lk_status lki_lock_check_options(const struct lk_lock_options *options, struct lk_error *err)
{
    enum { LONGEST_MS = INT32_MAX };

    if (options->wait_ms < 0 || options->lease_ms < 0 || options->max_hold_ms < 0) {
        return LKI_FAIL(err, LK_INVALID, "wait_ms, lease_ms and max_hold_ms must not be negative");
    }
    if (options->lease_ms > LONGEST_MS) {
        return LKI_FAIL(err, LK_INVALID, "lease_ms is more than %d", LONGEST_MS);
    }
    if (options->lease_ms > 0 && options->lease_ms < 10) {
        return LKI_FAIL(err, LK_INVALID, "lease_ms is less than 10: it would end on the way");
    }
    return LK_OK;
}

lk_status lki_lock_begin(lk_lock *lock, const struct lk_lock_options *options, struct lk_error *err)
{
    int state = atomic_load(&lock->state);
    lk_status status = lki_lock_check_options(options, err);

    if (status != LK_OK) return status;
    if (state == LOCK_HELD || state == LOCK_LOST) {
        return LKI_FAIL(err, LK_INVALID, "%s: this handle holds it already: release it first",
                        lock->key);
    }
    status = lki_token_make(lock->token, err);
    if (status != LK_OK) return status;
    lock->lease_ms = options->lease_ms ? options->lease_ms : LKI_DEFAULT_LEASE_MS;
    atomic_store(&lock->state, LOCK_IDLE);
    return LK_OK;
}

void lki_lock_undo(lk_lock *lock)
{
    int64_t budget_ms = lock->lease_ms / 10 < UNDO_MAX_MS ? lock->lease_ms / 10 : UNDO_MAX_MS;

    (void)lock->ops->release(lock, lki_clock_after_ms(budget_ms),
                             NULL); /* else the lease ends it */
}

static lk_status acquire_once(lk_lock *lock, int64_t *out_ttl_ms, void *arg, struct lk_error *err)
{
    int64_t sent_at = lki_clock_now();
    lk_status status =
        lock->ops->try_acquire(lock, out_ttl_ms, lki_client_deadline(lock->client, 0), err);

    (void)arg;
    if (status == LK_UNKNOWN) lki_lock_undo(lock);
    if (status != LK_OK) return status;
    atomic_store(&lock->expires_at, lki_lease_end(sent_at, lock->lease_ms));
    if (lki_clock_now() < atomic_load(&lock->expires_at)) return LK_OK;
    lki_lock_undo(lock);
    return LKI_FAIL(err, LK_LOST, "%s: the answer came after the lease of %lld ms had ended",
                    lock->key, (long long)lock->lease_ms);
}

static lk_status become_holder(lk_lock *lock, const struct lk_lock_options *options,
                               struct lk_error *err)
{
    bool is_watched = options->is_renewed || options->on_lost || atomic_load(&lock->lost_fd) >= 0;
    lk_status status = LK_OK;

    lock->is_renewed = options->is_renewed;
    lock->on_lost = options->on_lost;
    lock->on_lost_arg = options->on_lost_arg;
    lock->lease.stop_at =
        options->max_hold_ms > 0 ? lki_clock_after_ms(options->max_hold_ms) : INT64_MAX;
    clear_lost_fd(lock);
    atomic_store(&lock->state, LOCK_HELD);
    if (is_watched) status = lki_watchdog_add(lki_client_watchdog(lock->client), lock, err);
    if (status != LK_OK) (void)lk_lock_release(lock, NULL);
    return status;
}

lk_status lk_lock_acquire(lk_lock *lock, const struct lk_lock_options *options,
                          struct lk_error *err)
{
    static const struct lk_lock_options defaults = {0};
    int64_t begin = lki_clock_now();
    unsigned attempts = 0;

    if (!options) options = &defaults;
    lk_status status = lki_lock_begin(lock, options, err);
    if (status != LK_OK) return status;
    status = lki_lock_pursue(lock, lki_clock_after_ms(options->wait_ms), acquire_once, NULL,
                             &attempts, err);
    if (status == LK_OK) status = become_holder(lock, options, err);
    lki_client_emit(lock->client, (struct lk_event){.type = LK_EVENT_ACQUIRE,
                                                    .status = status,
                                                    .duration_ns = lki_clock_now() - begin,
                                                    .attempts = attempts,
                                                    .kind = lock->ops->kind,
                                                    .key = lock->key,
                                                    .token = lock->token});
    return status;
}

/* ---- release ------------------------------------------------------------------------------------------- */

lk_status lk_lock_release(lk_lock *lock, struct lk_error *err)
{
    int64_t begin = lki_clock_now();

    if (!lock) return LK_OK;
    int64_t deadline = lki_client_deadline(lock->client, 0); /* a renewal under way counts too */
    lki_watchdog_remove(lki_client_watchdog(lock->client), lock);
    if (atomic_load(&lock->state) == LOCK_IDLE) return LK_OK;
    atomic_store(&lock->state, LOCK_UNCERTAIN); /* not held from here, whatever the answer */
    lk_status status = lock->ops->release(lock, deadline, err);
    if (status == LK_OK || status == LK_NOT_OWNER) atomic_store(&lock->state, LOCK_IDLE);
    lki_client_emit(lock->client, (struct lk_event){.type = LK_EVENT_RELEASE,
                                                    .status = status,
                                                    .duration_ns = lki_clock_now() - begin,
                                                    .attempts = 1,
                                                    .kind = lock->ops->kind,
                                                    .key = lock->key,
                                                    .token = lock->token});
    return status;
}

/* ---- guarded eval ---------------------------------------------------------------------------------------- */

lk_status lk_guarded_eval(lk_lock *lock, const struct lk_eval *eval, int64_t limit_ms,
                          lk_reply **out_reply, struct lk_error *err)
{
    const struct lki_variant *variant =
        lki_script_variant(eval->script, lki_script_named(lock->ops->guard_script)->source);

    if (!variant) return LKI_FAIL(err, LK_NO_MEMORY, "a script");
    if (atomic_load(&lock->state) == LOCK_IDLE) {
        return LKI_FAIL(err, LK_INVALID, "%s: this handle holds nothing", lock->key);
    }
    return lki_client_eval_variant(lock->client, eval, variant, lock->key, lock->token,
                                   lki_client_deadline(lock->client, limit_ms), out_reply, err);
}
