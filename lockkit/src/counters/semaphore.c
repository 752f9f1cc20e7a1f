/*
 * The semaphore without owners. An acquire without an answer is repeated, and undone if it does not succeed; a
 * release is repeated until it is confirmed. A step whose outcome is still unknown is settled by the handle's
 * next change (counter.c). Threads as semaphore.h says.
 */
#include "lockkit/semaphore.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/name.h"
#include "counter.h"

enum { UNDO_MAX_MS = 100 };

struct lk_semaphore {
    struct lki_counter base;
    int64_t unfinished; /* permits of a release or add that is not settled; 0: an acquire is not */
};

lk_semaphore *lk_semaphore_new(lk_client *client, const char *key, struct lk_error *err)
{
    lk_semaphore *semaphore = calloc(1, sizeof *semaphore);

    if (!semaphore) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "a semaphore");
        return NULL;
    }
    semaphore->base =
        (struct lki_counter){.kind = "semaphore",
                             .channel = key ? lki_name_prefix("redisson_sc", key) : NULL,
                             .waiter.rule = LKI_WAKE_COUNT};
    if (lki_counter_init(&semaphore->base, client, key, err) == LK_OK &&
        lki_counter_name_claim(&semaphore->base, err) == LK_OK)
        return semaphore;
    lk_semaphore_free(semaphore);
    return NULL;
}

void lk_semaphore_free(lk_semaphore *semaphore)
{
    if (!semaphore) return;
    lki_counter_done(&semaphore->base);
    free(semaphore);
}

static lk_status enter(lk_semaphore *semaphore, struct lk_error *err)
{
    return lki_counter_enter(semaphore ? &semaphore->base : NULL, err);
}

static lk_status leave(lk_semaphore *semaphore, lk_status status)
{
    return lki_counter_leave(semaphore ? &semaphore->base : NULL, status);
}

/* count: the number of permits that were moved. */
static void emit(const lk_semaphore *semaphore, struct lk_event event, int64_t begin)
{
    if (event.status != LK_OK && event.status != LK_UNKNOWN) event.count = 0;
    lki_counter_emit(&semaphore->base, event, begin);
}

/* ---- giving ---------------------------------------------------------------------------------- */

/* Undo an acquire whose outcome is unknown. */
static lk_status undo(lk_semaphore *semaphore, int64_t limit_ms, struct lk_error *err)
{
    struct lki_step step = {.script = "semaphore_undo", .limit_ms = limit_ms, .is_undoing = true};

    return lki_counter_step(&semaphore->base, &step, err);
}

/* Do a release or an add. */
static lk_status give(lk_semaphore *semaphore, int64_t permits, struct lk_error *err)
{
    struct lki_step step = {.script = "semaphore_release", .number = permits};
    lk_status status = lki_counter_step(&semaphore->base, &step, err);

    if (status == LK_OK && !step.is_taken) {
        if (semaphore->base.is_unsettled) status = undo(semaphore, UNDO_MAX_MS, err);
        if (status == LK_OK && permits < 0) {
            status = LKI_FAIL(err, LK_BUSY, "%s: only %lld permits are free", semaphore->base.key,
                              step.n);
        } else if (status == LK_OK) {
            status = LKI_FAIL(err, LK_INVALID, "%s: more than %d permits", semaphore->base.key,
                              INT32_MAX);
        }
    }
    semaphore->unfinished = status == LK_UNKNOWN ? permits : 0;
    return status;
}

/* Settle the last change if its outcome is unknown: a release is completed, an acquire undone. */
static lk_status settle(lk_semaphore *semaphore, struct lk_error *err)
{
    lk_status status = LK_OK;

    if (semaphore->base.is_unsettled) {
        status = semaphore->unfinished ? give(semaphore, semaphore->unfinished, err)
                                       : undo(semaphore, 0, err);
    }
    return semaphore->base.is_unsettled ? status : LK_OK;
}

static lk_status change(lk_semaphore *semaphore, int64_t permits, struct lk_error *err)
{
    int64_t unfinished = semaphore->unfinished;

    if (unfinished == permits) return give(semaphore, permits, err);
    if (unfinished != 0) {
        return LKI_FAIL(err, LK_INVALID, "%s: the release of %" PRId64 " is unfinished: repeat it",
                        semaphore->base.key, unfinished);
    }
    lk_status status = settle(semaphore, err);
    return status == LK_OK ? give(semaphore, permits, err) : status;
}

lk_status lk_semaphore_release(lk_semaphore *semaphore, int64_t permits, struct lk_error *err)
{
    int64_t begin = lki_clock_now();
    lk_status status = enter(semaphore, err);

    if (status == LK_OK) status = lki_counter_check_number(permits, 0, "permits", err);
    if (status != LK_OK || permits == 0) return leave(semaphore, status);
    int64_t moved = semaphore->unfinished == 0 ? permits : 0; /* else they were reported before */
    status = change(semaphore, permits, err);
    emit(semaphore,
         (struct lk_event){
             .type = LK_EVENT_RELEASE, .status = status, .attempts = 1, .count = moved},
         begin);
    return leave(semaphore, status);
}

lk_status lk_semaphore_add(lk_semaphore *semaphore, int64_t permits, struct lk_error *err)
{
    lk_status status = enter(semaphore, err);

    if (status == LK_OK) status = lki_counter_check_number(permits, -INT32_MAX, "permits", err);
    if (status != LK_OK || permits == 0) return leave(semaphore, status);
    return leave(semaphore, change(semaphore, permits, err));
}

/* ---- taking ---------------------------------------------------------------------------------- */

struct attempt {
    lk_semaphore *semaphore;
    int64_t permits; /* 0: all that are free */
    int64_t taken;
};

static lk_status try_once(struct attempt *attempt, int64_t *out_ttl_ms, struct lk_error *err)
{
    struct lki_step step = {
        .script = "semaphore_acquire", .number = attempt->permits, .is_to_sync = true};
    lk_status status = lki_counter_step(&attempt->semaphore->base, &step, err);

    if (status != LK_OK) return status;
    attempt->taken = step.n;
    if (step.is_taken) return LK_OK;
    if (out_ttl_ms) *out_ttl_ms = -1;
    return LKI_FAIL(err, LK_BUSY, "%s: %lld permits are free, not %" PRId64,
                    attempt->semaphore->base.key, step.n, attempt->permits);
}

static lk_status take(struct attempt *attempt, int64_t wait_ms, struct lk_error *err)
{
    lk_semaphore *semaphore = attempt->semaphore;
    int64_t begin = lki_clock_now();
    struct lki_pursuit pursuit = lki_counter_pursuit(&semaphore->base, attempt->permits, wait_ms);
    lk_status status = settle(semaphore, err);

    pursuit.is_repeatable = true; /* steps are idempotent */
    if (status == LK_OK) {
        do {
            status = try_once(attempt, pursuit.ttl_ms, &pursuit.why);
        } while (lki_wait_again(&pursuit, &status, err));
    }
    if (status != LK_OK && semaphore->base.is_unsettled && semaphore->unfinished == 0 &&
        undo(semaphore, UNDO_MAX_MS, NULL) != LK_OK) {
        status = LKI_FAIL(err, LK_UNKNOWN, "%s: no answer came", semaphore->base.key);
    }
    emit(semaphore,
         (struct lk_event){.type = LK_EVENT_ACQUIRE,
                           .status = status,
                           .attempts = pursuit.attempts,
                           .count = attempt->taken},
         begin);
    return status;
}

lk_status lk_semaphore_acquire(lk_semaphore *semaphore, int64_t permits, int64_t wait_ms,
                               struct lk_error *err)
{
    struct attempt attempt = {.semaphore = semaphore, .permits = permits};
    lk_status status = enter(semaphore, err);

    if (status == LK_OK) status = lki_counter_check_number(permits, 0, "permits", err);
    if (status == LK_OK && wait_ms < 0)
        status = LKI_FAIL(err, LK_INVALID, "wait_ms must not be negative");
    if (status != LK_OK || permits == 0) return leave(semaphore, status);
    return leave(semaphore, take(&attempt, wait_ms, err));
}

lk_status lk_semaphore_drain(lk_semaphore *semaphore, int64_t *out_permits, struct lk_error *err)
{
    struct attempt attempt = {.semaphore = semaphore};
    lk_status status = enter(semaphore, err);

    if (status != LK_OK) return leave(semaphore, status);
    if (!out_permits) return leave(semaphore, LKI_FAIL(err, LK_INVALID, "no result (NULL)"));
    status = take(&attempt, 0, err);
    if (status == LK_OK) *out_permits = attempt.taken;
    return leave(semaphore, status);
}

void lk_semaphore_cancel(lk_semaphore *semaphore)
{
    if (semaphore) lki_counter_cancel(&semaphore->base);
}

/* ---- the number ------------------------------------------------------------------------------ */

lk_status lk_semaphore_try_set(lk_semaphore *semaphore, int64_t permits, struct lk_error *err)
{
    char message[LKI_NUMBER_MAX];
    lk_status status = enter(semaphore, err);

    if (status == LK_OK) status = lki_counter_check_number(permits, 0, "permits", err);
    if (status != LK_OK) return leave(semaphore, status);
    (void)lki_number(message, permits);
    return leave(semaphore, lki_counter_try_set(&semaphore->base, permits, message, err));
}

lk_status lk_semaphore_available(lk_semaphore *semaphore, int64_t *out_permits,
                                 struct lk_error *err)
{
    lk_status status = enter(semaphore, err);

    if (status == LK_OK && !out_permits) status = LKI_FAIL(err, LK_INVALID, "no result (NULL)");
    return leave(semaphore,
                 status == LK_OK ? lki_counter_get(&semaphore->base, out_permits, err) : status);
}

lk_status lk_semaphore_delete(lk_semaphore *semaphore, struct lk_error *err)
{
    lk_status status = enter(semaphore, err);

    return leave(semaphore,
                 status == LK_OK ? lki_counter_delete(&semaphore->base, NULL, NULL, err) : status);
}
