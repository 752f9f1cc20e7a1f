/*
 * What all kinds of lock share: the local state of a hold, acquire with re-entry, release, and queries. The
 * wait loop is in wait.c; each kind has a file of its own.
 *
 * Lock order: none. No mutex of lockkit is ever taken while another is held.
 */
#include "lock.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "wait/wait.h"

enum {
    LEASE_LEAST_MS = 10, /* a shorter one could end before the answer comes */
    UNDO_MAX_MS = 100,   /* limit of an undo after a lost reply */
    STALL_MOST_MS =
        60000, /* a server that hung for this long may still run commands that it received */
};

/* ---- life --------------------------------------------------------------------------------------- */

lk_status lki_lock_init(lk_lock *lock, const struct lki_lock_ops *ops, lk_client *client,
                        const char *key, struct lk_error *err)
{
    size_t len = key ? strlen(key) : 0;

    lock->ops = ops;
    lock->in_use = &lock->is_in_use;
    atomic_init(&lock->state, LOCK_IDLE);
    atomic_init(&lock->expires_at, 0);
    atomic_init(&lock->lost_fd, -1);
    lki_waiter_init(&lock->waiter, ops->wake_rule);
    lock->waiter.cancelled_by = &lock->is_cancelled;
    if (!client) return LKI_FAIL(err, LK_INVALID, "no client (NULL)");
    if (!ops->renew && lki_context_check_redis(client, ops->kind, err) != LK_OK) return LK_INVALID;
    if (len < 1 || len > LKI_KEY_MAX)
        return LKI_FAIL(err, LK_INVALID, "a lock's key has 1 to %d bytes", LKI_KEY_MAX);
    lock->client = lki_context_ref(client);
    lock->key = strdup(key);
    if (!lock->key) return LKI_FAIL(err, LK_NO_MEMORY, "%s", key);
    return lki_context_check_name(client, key, err);
}

static void unwatch(lk_lock *lock)
{
    lki_watchdog_remove(lock->client->watchdog, lock);
}

void lki_lock_done(lk_lock *lock)
{
    int fd = atomic_load(&lock->lost_fd);
    bool is_foreign = lock->client && lki_context_is_foreign(lock->client);

    if (lock->client && !is_foreign) unwatch(lock);
    if (fd >= 0) (void)close(fd);
    if (!is_foreign)
        lki_waiter_done(&lock->waiter); /* else a thread of the parent may sleep there */
    free(lock->renew_key);
    free(lock->wake_channel);
    free(lock->key);
    lki_context_unref(lock->client);
}

void lk_lock_free(lk_lock *lock)
{
    if (lock && !lock->other) lock->ops->free(lock); /* a side is freed by its rwlock */
}

/* ---- the local view -------------------------------------------------------------------------------- */

bool lk_held(const lk_lock *lock)
{
    return lk_lock_remaining_ms(lock) > 0;
}

int64_t lk_lock_remaining_ms(const lk_lock *lock)
{
    if (!lock || atomic_load(&lock->state) != LOCK_HELD) return 0;
    if (lki_context_is_foreign(lock->client)) return 0; /* the parent process holds it */
    if (lock->ops->remaining_ms) return lock->ops->remaining_ms(lock);
    int64_t left = atomic_load(&lock->expires_at) - lki_clock_now();
    return left > 0 ? (left + NS_PER_MS - 1) / NS_PER_MS : 0;
}

unsigned lk_lock_hold_count(const lk_lock *lock)
{
    return lk_held(lock) ? lock->depth : 0;
}

uint64_t lk_lock_fence(const lk_lock *lock)
{
    return lk_held(lock) ? lock->fence : 0;
}

const char *lk_lock_token(const lk_lock *lock)
{
    return lock ? lock->token : "";
}

static void clear_lost_fd(const lk_lock *lock)
{
    int fd = atomic_load(&lock->lost_fd);
    uint64_t count = 0;

    if (fd < 0) return;
    ssize_t got = read(fd, &count, sizeof count);
    (void)got; /* it may be empty already */
}

/* The end of the step's hold (OK), or of the hold that it may have made (UNKNOWN): the request was sent before now. */
static int64_t ends_after(const lk_lock *lock, lk_event_type type, lk_status status)
{
    if (type != LK_EVENT_ACQUIRE && type != LK_EVENT_RENEW) return 0;
    if (status == LK_OK) return atomic_load(&lock->expires_at);
    return status == LK_UNKNOWN ? lki_clock_after_ms(lock->lease_ms) : 0;
}

void lki_lock_emit(const lk_lock *lock, lk_event_type type, lk_status status, int64_t begin,
                   unsigned attempts)
{
    int64_t now = lki_clock_now();

    lki_context_emit(lock->client, (struct lk_event){.type = type,
                                                     .status = status,
                                                     .at_ns = now,
                                                     .duration_ns = now - begin,
                                                     .attempts = attempts,
                                                     .kind = lock->ops->kind,
                                                     .key = lock->key,
                                                     .token = lock->token,
                                                     .ends_ns = ends_after(lock, type, status),
                                                     .fence = lock->fence,
                                                     .count = lock->depth,
                                                     .is_renewed = lock->is_renewed});
}

/* ---- waiting ----------------------------------------------------------------------------------------- */

struct lki_pursuit lki_lock_pursuit(lk_lock *lock, int64_t deadline)
{
    return (struct lki_pursuit){.client = lock->client,
                                .waiter = &lock->waiter,
                                .what = lock->key,
                                .channel = lock->ops->is_silent ? NULL : lock->wake_channel,
                                .deadline = deadline};
}

void lk_lock_cancel(lk_lock *lock)
{
    if (!lock || lki_context_check(lock->client, NULL) != LK_OK) return;
    atomic_store(&lock->is_cancelled, true);
    if (lock->ops->cancel) {
        lock->ops->cancel(lock);
    } else {
        lki_hub_cancel(lock->client->hub, &lock->waiter);
    }
}

/* ---- acquire ------------------------------------------------------------------------------------------- */

/* The handle can be used in this process. */
static lk_status check_lock(const lk_lock *lock, struct lk_error *err)
{
    if (!lock) return LKI_FAIL(err, LK_INVALID, "no lock (NULL)");
    return lki_context_check(lock->client, err);
}

lk_status lki_lock_enter(lk_lock *lock, struct lk_error *err)
{
    lk_status status = check_lock(lock, err);

    if (status != LK_OK || !atomic_exchange(lock->in_use, true)) return status;
    return LKI_FAIL(err, LK_INVALID, "%s: another thread is using this handle: one at a time",
                    lock->key);
}

lk_status lki_lock_leave_wait(lk_lock *lock, const struct lk_lock_options *options,
                              lk_status status)
{
    if (options->wait_ms > 0)
        atomic_store(&lock->is_cancelled, false); /* the cancel has ended this verb, or came late */
    return lki_lock_leave(lock, status);
}

lk_status lki_lock_leave(lk_lock *lock, lk_status status)
{
    atomic_store(lock->in_use, false);
    return status;
}

static lk_status check_lease(int64_t lease_ms, struct lk_error *err)
{
    enum { LONGEST_MS = INT32_MAX };

    if (lease_ms < 0 || lease_ms > LONGEST_MS) {
        return LKI_FAIL(err, LK_INVALID, "lease_ms is not between 0 and %d", LONGEST_MS);
    }
    if (lease_ms > 0 && lease_ms < LEASE_LEAST_MS) {
        return LKI_FAIL(err, LK_INVALID, "lease_ms is less than %d: it would end on the way",
                        LEASE_LEAST_MS);
    }
    return LK_OK;
}

lk_status lki_lock_check_options(const struct lk_lock_options *options, struct lk_error *err)
{
    if (options->wait_ms < 0 || options->max_hold_ms < 0) {
        return LKI_FAIL(err, LK_INVALID, "wait_ms and max_hold_ms must not be negative");
    }
    return check_lease(options->lease_ms, err);
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
    status =
        lock->ops->prepare ? lock->ops->prepare(lock, err) : lki_random_token(lock->token, err);
    if (status != LK_OK) return status;
    lock->lease_ms = options->lease_ms ? options->lease_ms : LKI_DEFAULT_LEASE_MS;
    lock->wait_ms = options->wait_ms;
    lock->is_renewed = options->is_renewed;
    lock->may_be_released = false;
    lock->fence = 0;
    lock->depth = 0;
    atomic_store(&lock->state, LOCK_IDLE);
    return LK_OK;
}

void lki_lock_undo(lk_lock *lock)
{
    int64_t budget_ms = lock->lease_ms / 10 < UNDO_MAX_MS ? lock->lease_ms / 10 : UNDO_MAX_MS;

    lock->undo_until = lki_clock_after_ms(lock->lease_ms + STALL_MOST_MS);
    (void)lock->ops->release(lock, lki_clock_after_ms(budget_ms), NULL);
    lock->undo_until = 0;
}

static lk_status acquire_once(lk_lock *lock, int64_t *out_ttl_ms, struct lk_error *err)
{
    lock->is_synced = true;
    int64_t deadline = lki_context_deadline(lock->client, 0);
    struct lki_watchdog *watchdog = lock->client->watchdog;
    lk_status status =
        lock->is_renewed ? lki_watchdog_make_ready(watchdog, lock, deadline, err) : LK_OK;

    lki_watchdog_expect(watchdog, lock); /* with the present moment, unless the try sets another */
    if (status == LK_OK) status = lock->ops->try_acquire(lock, out_ttl_ms, deadline, err);
    if (status == LK_OK) status = lki_exchange_check_synced(lock->client, lock->is_synced, err);
    if (status == LK_UNKNOWN || status == LK_UNSYNCED) lki_lock_undo(lock);
    if (status != LK_OK) return status;
    atomic_store(&lock->expires_at, lki_hold_ends_at(lock->lease.asked_at, lock->lease_ms));
    if (lki_clock_now() < atomic_load(&lock->expires_at)) return LK_OK;
    lki_lock_undo(lock);
    return LKI_FAIL(err, LK_LOST, "%s: the answer came after the lease of %lld ms had ended",
                    lock->key, (long long)lock->lease_ms);
}

static lk_status watch(lk_lock *lock, struct lk_error *err)
{
    return lki_watchdog_add(lock->client->watchdog, lock, err);
}

void lki_lock_hold(lk_lock *lock, const struct lk_lock_options *options)
{
    lock->depth = 1;
    lock->renewed_depth = 0;
    lock->is_renewed = options->is_renewed;
    lock->on_lost = options->on_lost;
    lock->on_lost_arg = options->on_lost_arg;
    lock->lease.stop_at =
        options->max_hold_ms > 0 ? lki_clock_after_ms(options->max_hold_ms) : INT64_MAX;
    clear_lost_fd(lock);
    atomic_store(&lock->state, LOCK_HELD);
}

static bool is_unconfirmed(lk_status status)
{
    return status == LK_UNKNOWN || status == LK_UNREACHABLE || status == LK_EXHAUSTED ||
           status == LK_NO_MEMORY;
}

/* Release. Unless it is confirmed it becomes a pending undo, until the end of the lease as of the first try. */
static lk_status release_or_undo_later(lk_lock *lock, int64_t deadline, struct lk_error *err)
{
    bool has_undo = !lock->client->backend; /* backends have no pending undos */

    if (has_undo && !lock->may_be_released) lock->undo_until = lki_clock_after_ms(lock->lease_ms);
    lk_status status = lock->ops->release(lock, deadline, err);
    lock->undo_until = 0;
    if (has_undo ? is_unconfirmed(status) : status == LK_UNKNOWN) lock->may_be_released = true;
    return status;
}

/* Release the last hold, or repeat a release that had no answer. */
static lk_status release_last(lk_lock *lock, struct lk_error *err)
{
    int64_t deadline = lki_context_deadline(lock->client, 0); /* includes the wait for a renewal */
    struct lk_error why = {0};

    unwatch(lock);
    lock->depth = 0;
    atomic_store(&lock->state, LOCK_UNCERTAIN); /* not held from here on, whatever the answer is */
    lk_status status = release_or_undo_later(lock, deadline, &why);
    /* The key is gone before the end of the lease: an earlier, unanswered or pending release has deleted it. */
    if (status == LK_NOT_OWNER && lock->may_be_released &&
        lki_clock_now() < atomic_load(&lock->expires_at)) {
        status = LK_OK;
    }
    if (status == LK_OK || status == LK_NOT_OWNER) atomic_store(&lock->state, LOCK_IDLE);
    if (err && status != LK_OK) *err = why;
    return status;
}

static lk_status become_holder(lk_lock *lock, const struct lk_lock_options *options,
                               struct lk_error *err)
{
    lki_lock_hold(lock, options);
    lk_status status = watch(lock, err);
    if (status != LK_OK) (void)release_last(lock, NULL);
    return status;
}

/* Undo a try without an answer, and leave the queue. */
static lk_status undo_once(lk_lock *lock, struct lk_error *err)
{
    int64_t deadline = lki_context_deadline(lock->client, 0);
    lk_status status = lock->ops->release(lock, deadline, err);

    if (status == LK_UNKNOWN) return LK_UNREACHABLE; /* it may be repeated */
    if (status != LK_OK && status != LK_NOT_OWNER) return status;
    if (lock->wait_ms > 0 && lock->ops->abandon) lock->ops->abandon(lock, deadline);
    return LK_OK;
}

/* The connection broke during a try. The wait goes on, under a new owner name: should the try arrive late, its hold
   belongs to no handle and ends with its lease. */
static lk_status begin_anew(lk_lock *lock, int64_t deadline, struct lk_error *err)
{
    struct lki_pursuit undo = lki_lock_pursuit(lock, deadline);
    lk_status status = LK_OK;

    undo.channel = NULL;
    do {
        status = undo_once(lock, &undo.why);
    } while (lki_wait_again(&undo, &status, err));
    if (status == LK_UNREACHABLE || status == LK_EXHAUSTED || status == LK_BUSY)
        return LKI_FAIL(err, LK_UNKNOWN, "%s: a try was not answered, nor could it be undone",
                        lock->key);
    if (status != LK_OK) return status;
    return lock->ops->prepare ? lock->ops->prepare(lock, err) : lki_random_token(lock->token, err);
}

static lk_status acquire_first(lk_lock *lock, const struct lk_lock_options *options,
                               unsigned *out_attempts, struct lk_error *err)
{
    int64_t deadline = lki_clock_after_ms(options->wait_ms);
    struct lk_error why = {0};
    lk_status status = lki_lock_begin(lock, options, &why);

    while (status == LK_OK) {
        struct lki_pursuit pursuit = lki_lock_pursuit(lock, deadline);

        do {
            status = acquire_once(lock, pursuit.ttl_ms, &pursuit.why);
        } while (lki_wait_again(&pursuit, &status, &why));
        *out_attempts += pursuit.attempts;
        bool is_final = status != LK_UNKNOWN || lock->client->options.fail_fast;
        if (is_final || lki_clock_left_ms(deadline) == 0) break;
        status = begin_anew(lock, deadline, &why);
    }
    if (status == LK_OK) return become_holder(lock, options, err);
    if (err) *err = why;
    if (*out_attempts > 0 && lock->wait_ms > 0 && lock->ops->abandon) /* 0: a bad option */
        lock->ops->abandon(lock, lki_context_deadline(lock->client, 0));
    return status;
}

static lk_status enter_again(lk_lock *lock, int64_t lease_ms, struct lk_error *err)
{
    int64_t sent_at = lki_clock_now();
    lk_status status =
        lock->ops->reenter(lock, lease_ms, lki_context_deadline(lock->client, 0), err);
    int64_t ends = lki_hold_ends_at(sent_at, lease_ms);

    if (status != LK_OK) return status;
    if (ends > atomic_load(&lock->expires_at)) atomic_store(&lock->expires_at, ends);
    if (lk_held(lock)) return LK_OK;
    return LKI_FAIL(err, LK_LOST, "%s: the answer came after the lease had ended", lock->key);
}

/* Acquire again by the handle that holds the lock. It stays in the watchdog as it is, unless this acquire asks for
   renewal. */
static lk_status acquire_again(lk_lock *lock, const struct lk_lock_options *options,
                               unsigned *out_attempts, struct lk_error *err)
{
    int64_t lease_ms = options->lease_ms ? options->lease_ms : LKI_DEFAULT_LEASE_MS;
    lk_status status = lki_lock_check_options(options, err);
    struct lk_error why = {0};

    if (status != LK_OK) return status;
    if (!lk_held(lock)) return LKI_FAIL(err, LK_LOST, "%s: the outer hold has ended", lock->key);
    unwatch(lock); /* the watchdog reads the fields that change here */
    *out_attempts = 1;
    status = enter_again(lock, lease_ms, &why);
    if (status == LK_UNKNOWN) { /* repeat it, as it is idempotent */
        struct lk_error second = {0};
        lk_status answer = enter_again(lock, lease_ms, &second);

        ++*out_attempts;
        if (answer == LK_OK || answer == LK_LOST) {
            status = answer;
            why = second;
        }
    }
    if (status == LK_OK) {
        lock->depth++;
        if (options->is_renewed && !lock->is_renewed) {
            lock->is_renewed = true;
            lock->lease_ms = lease_ms;
            lock->renewed_depth = lock->depth - 1;
        }
    }
    if (status == LK_LOST || watch(lock, NULL) != LK_OK) (void)lki_hold_lose(lock);
    if (err && status != LK_OK) *err = why;
    return status;
}

lk_status lki_lock_acquire_as(lk_lock *lock, const struct lk_lock_options *options, bool *is_so,
                              struct lk_error *err)
{
    struct lk_lock_options known;
    int64_t begin = lki_clock_now();
    unsigned attempts = 0;
    lk_status status = LKI_OPTIONS_COPY(&known, options, on_lost_arg, err);

    if (status == LK_OK) status = lki_lock_enter(lock, err);
    if (status != LK_OK) return status;
    options = &known;
    if (is_so) *is_so = true;
    int state = atomic_load(&lock->state);
    bool is_again = lock->ops->reenter && (state == LOCK_HELD || state == LOCK_LOST);
    if (lock->ops->acquire_all) {
        status = lock->ops->acquire_all(lock, options, &attempts, err);
    } else if (is_again) {
        status = acquire_again(lock, options, &attempts, err);
    } else {
        status = acquire_first(lock, options, &attempts, err);
    }
    if (is_so) *is_so = false;
    (void)lki_lock_leave_wait(lock, options, status);
    lki_lock_emit(lock, LK_EVENT_ACQUIRE, status, begin, attempts);
    return status;
}

lk_status lk_lock_acquire(lk_lock *lock, const struct lk_lock_options *options,
                          struct lk_error *err)
{
    return lki_lock_acquire_as(lock, options, NULL, err);
}

lk_status lk_lock_try(lk_lock *lock, struct lk_error *err)
{
    return lk_lock_acquire(lock, NULL, err);
}

lk_status lk_lock_wait(lk_lock *lock, int64_t wait_ms, struct lk_error *err)
{
    return lk_lock_acquire(lock, &(struct lk_lock_options){.wait_ms = wait_ms}, err);
}

/* ---- release ------------------------------------------------------------------------------------------- */

/*
 * Release one of several holds of the handle, which stays the owner. The count on the server is of no concern
 * to others, and the next step sets it again; so an unconfirmed release succeeds. If it failed, a caller that
 * repeats it would release the outer hold.
 */
static lk_status release_inner(lk_lock *lock, struct lk_error *err)
{
    struct lk_error why = {0};
    lk_status status = LK_OK;

    unwatch(lock);
    lock->depth--;
    if (lock->is_renewed && lock->depth <= lock->renewed_depth) lock->is_renewed = false;
    if (!lk_held(lock)) {
        return LKI_FAIL(err, LK_NOT_OWNER, "%s: the hold had ended before the release", lock->key);
    }
    for (int i = 0; i < 2; i++) {
        int64_t sent_at = lki_clock_now();

        status = lock->ops->leave(lock, lock->depth, lki_context_deadline(lock->client, 0), &why);
        int64_t ends = lki_hold_ends_at(sent_at, lock->lease_ms);
        if (status == LK_OK && ends > atomic_load(&lock->expires_at)) {
            atomic_store(&lock->expires_at, ends);
        }
        /* Else repeat it with the same number. */
        if (status != LK_UNKNOWN && status != LK_UNREACHABLE) break;
    }
    if (status == LK_NOT_OWNER || watch(lock, NULL) != LK_OK) (void)lki_hold_lose(lock);
    if (is_unconfirmed(status)) return LK_OK;
    if (err && status != LK_OK) *err = why;
    return status;
}

lk_status lk_lock_release(lk_lock *lock, struct lk_error *err)
{
    int64_t begin = lki_clock_now();
    lk_status status = LK_OK;

    if (!lock || atomic_load(&lock->state) == LOCK_IDLE) return LK_OK;
    status = lki_lock_enter(lock, err);
    if (status != LK_OK) return status;
    if (lock->ops->release_all) {
        status = lock->ops->release_all(lock, err);
    } else if (lock->depth > 1) {
        status = release_inner(lock, err);
    } else {
        status = release_last(lock, err);
    }
    (void)lki_lock_leave(lock, status);
    lki_lock_emit(lock, LK_EVENT_RELEASE, status, begin, 1);
    return status;
}

lk_status lk_lock_close(lk_lock *lock, struct lk_error *err)
{
    lk_status status = LK_OK;

    do {
        status = lk_lock_release(lock, err);
    } while (status == LK_OK && lk_lock_hold_count(lock) > 0);
    lk_lock_free(lock);
    return status;
}

/* ---- what is asked of a lock ---------------------------------------------------------------------------- */

int lk_lock_lost_fd(lk_lock *lock)
{
    int fd = lock ? atomic_load(&lock->lost_fd) : -1;

    if (fd >= 0 || !lock) return fd;
    fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0) return fd;
    atomic_store(&lock->lost_fd, fd);
    if (lki_context_is_foreign(lock->client)) return fd;
    if (atomic_load(&lock->state) == LOCK_HELD && !lock->ops->acquire_all) {
        unwatch(lock); /* it may have been added before, to report its loss */
        if (lki_watchdog_add(lock->client->watchdog, lock, NULL) != LK_OK)
            (void)lki_hold_lose(lock);
    }
    if (atomic_load(&lock->state) == LOCK_LOST) lki_hold_signal_fd(fd);
    return fd;
}

static lk_status renew_by_script(lk_lock *lock, int64_t lease_ms, int64_t deadline,
                                 struct lk_error *err)
{
    char lease[LKI_NUMBER_MAX];
    long long is_ours = 0;
    struct lki_call call = {.script = lock->ops->renew_script,
                            .keys = {lk_bytes_of(lock->key)},
                            .key_count = 1,
                            .args = {lk_bytes_of(lock->token), lki_number(lease, lease_ms)},
                            .arg_count = 2};

    if (lock->renew_key) call.keys[call.key_count++] = lk_bytes_of(lock->renew_key);
    lk_status status = lki_call_integer(lock->client, &call, deadline, &is_ours, err);

    return status == LK_OK && is_ours != 1 ? LK_LOST : status;
}

static lk_status renew_own(lk_lock *lock, int64_t lease_ms, struct lk_error *err)
{
    int64_t sent_at = lki_clock_now();
    int64_t deadline = lki_context_deadline(lock->client, 0);
    lk_status status =
        (lock->ops->renew ? lock->ops->renew : renew_by_script)(lock, lease_ms, deadline, err);

    if (status == LK_LOST) {
        (void)lki_hold_lose(lock);
        return LKI_FAIL(err, LK_LOST, "%s: not held by this handle any more", lock->key);
    }
    if (status != LK_OK) return status;
    lock->lease_ms = lease_ms;
    int64_t ends = lki_hold_ends_at(sent_at, lease_ms);
    if (ends > atomic_load(&lock->expires_at)) atomic_store(&lock->expires_at, ends);
    return LK_OK;
}

static lk_status renew(lk_lock *lock, int64_t lease_ms, struct lk_error *err)
{
    int64_t begin = lki_clock_now();

    lk_status status = check_lease(lease_ms, err);
    if (status != LK_OK) return status;
    if (atomic_load(&lock->state) == LOCK_IDLE || atomic_load(&lock->state) == LOCK_UNCERTAIN) {
        return LKI_FAIL(err, LK_INVALID, "%s: this handle holds nothing", lock->key);
    }
    if (!lk_held(lock)) return LKI_FAIL(err, LK_LOST, "%s: the hold has ended", lock->key);
    if (lease_ms == 0) lease_ms = lock->lease_ms;
    if (lock->ops->renew_all) {
        status = lock->ops->renew_all(lock, lease_ms, err);
    } else {
        unwatch(lock);
        status = renew_own(lock, lease_ms, err);
        if (status != LK_LOST && watch(lock, NULL) != LK_OK) (void)lki_hold_lose(lock);
    }
    lki_lock_emit(lock, LK_EVENT_RENEW, status, begin, 1);
    return status;
}

lk_status lk_lock_renew(lk_lock *lock, int64_t lease_ms, struct lk_error *err)
{
    lk_status status = lki_lock_enter(lock, err);

    return status == LK_OK ? lki_lock_leave(lock, renew(lock, lease_ms, err)) : status;
}

lk_status lk_lock_force_release(lk_lock *lock, struct lk_error *err)
{
    lk_status status = check_lock(lock, err);

    if (status != LK_OK) return status;
    if (!lock->ops->force) {
        return LKI_FAIL(err, LK_INVALID, "%s: a %s lock cannot be broken as a whole", lock->key,
                        lock->ops->kind);
    }
    return lock->ops->force(lock, lki_context_deadline(lock->client, 0), err);
}

static lk_status eval_guarded(lk_lock *lock, const struct lk_eval *eval, int64_t limit_ms,
                              lk_reply **out_reply, struct lk_error *err)
{
    if (!eval || !eval->script || !out_reply) {
        return LKI_FAIL(err, LK_INVALID, "a guarded eval without script or answer (NULL)");
    }
    if (!lock->ops->guard_script) {
        return LKI_FAIL(err, LK_INVALID, "%s: a %s lock guards no script", lock->key,
                        lock->ops->kind);
    }
    if (atomic_load(&lock->state) == LOCK_IDLE) {
        return LKI_FAIL(err, LK_INVALID, "%s: this handle holds nothing", lock->key);
    }
    struct lki_call call = {.preamble = lock->ops->guard_script,
                            .eval = eval,
                            .keys = {lk_bytes_of(lock->key)},
                            .key_count = 1,
                            .args = {lk_bytes_of(lock->token)},
                            .arg_count = 1};
    return lki_call_synced(lock->client, call, lki_context_deadline(lock->client, limit_ms),
                           out_reply, err);
}

lk_status lk_guarded_eval(lk_lock *lock, const struct lk_eval *eval, int64_t limit_ms,
                          lk_reply **out_reply, struct lk_error *err)
{
    lk_status status = lki_lock_enter(lock, err);

    if (status != LK_OK) return status;
    return lki_lock_leave(lock, eval_guarded(lock, eval, limit_ms, out_reply, err));
}
