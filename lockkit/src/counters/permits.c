/*
 * The semaphore whose permits have ids and leases. The client makes the ids, so that an acquire without an
 * answer can be undone. A waiter wakes when the next permit expires, as only a script releases that. Threads as
 * semaphore.h says.
 */
#include <stdlib.h>
#include <string.h>

#include "lockkit/semaphore.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/name.h"
#include "base/options.h"
#include "counter.h"
#include "locks/lock.h"
#include "permit_list.h"
#include "wire/reply.h"

enum { UNDO_MAX_MS = 100 };

static const int64_t longest_ms = 100LL * 365 * 24 * 60 * 60 * 1000; /* longer is as no lease */

struct lk_permits {
    struct lki_counter base;
    char *timeouts; /* owned */
};

lk_permits *lk_permits_new(lk_client *client, const char *key, struct lk_error *err)
{
    lk_permits *permits = calloc(1, sizeof *permits);

    if (!permits) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "permits");
        return NULL;
    }
    permits->base =
        (struct lki_counter){.kind = "permits",
                             .is_served = client && client->backend && client->backend->permits,
                             .channel = key ? lki_permit_list_channel(client, key) : NULL,
                             .waiter.rule = LKI_WAKE_COUNT};
    permits->timeouts = key ? lki_name_suffix(key, "timeout") : NULL;
    lk_status status = lki_counter_init(&permits->base, client, key, err);
    if (status == LK_OK && permits->timeouts) return permits;
    if (status == LK_OK) (void)LKI_FAIL(err, LK_NO_MEMORY, "%s", key);
    lk_permits_free(permits);
    return NULL;
}

void lk_permits_free(lk_permits *permits)
{
    if (!permits) return;
    lki_counter_done(&permits->base);
    free(permits->timeouts);
    free(permits);
}

static lk_status enter(lk_permits *permits, struct lk_error *err)
{
    return lki_counter_enter(permits ? &permits->base : NULL, err);
}

static lk_status leave(lk_permits *permits, lk_status status)
{
    return lki_counter_leave(permits ? &permits->base : NULL, status);
}

static struct lki_permit_list list_of(const lk_permits *permits, const struct lki_permit_id *ids,
                                      size_t count)
{
    return (struct lki_permit_list){.client = permits->base.client,
                                    .key = permits->base.key,
                                    .timeouts = permits->timeouts,
                                    .channel = permits->base.channel,
                                    .ids = ids,
                                    .count = count,
                                    .deadline = lki_context_deadline(permits->base.client, 0)};
}

static lk_status run_integer(struct lki_permit_list list, const char *script, const char *number,
                             long long *out, struct lk_error *err)
{
    list.number = number;
    return lki_permit_list_run(&list, script, out, 1, err);
}

/* ---- acquire --------------------------------------------------------------------------------- */

struct attempt {
    struct lki_permit_list list;
    struct lk_permit *drawn; /* its ids, as text and otherwise */
    struct lki_permit_id *ids;
    int64_t lease_ms;
    int64_t ends; /* of the permits, by the local clock */
    bool is_open; /* an answer was lost: the request may still be run */
};

/* Release permits that may have been acquired, within a short limit; if that fails it becomes a pending undo. */
static void undo(struct attempt *attempt)
{
    int64_t lease_ms = attempt->lease_ms < 0 ? INT32_MAX : attempt->lease_ms;

    attempt->list.deadline = lki_clock_after_ms(UNDO_MAX_MS);
    attempt->list.undo_until = lki_clock_after_ms(lease_ms);
    (void)lki_permit_list_give(&attempt->list, NULL, NULL);
    attempt->list.undo_until = 0;
}

static int64_t lease_end(int64_t sent_at, int64_t lease_ms)
{
    if (lease_ms < 0) return INT64_MAX;
    return lki_hold_ends_at(sent_at, lease_ms < longest_ms ? lease_ms : longest_ms);
}

static lk_status draw_ids(struct lk_permit *out, struct lki_permit_id *out_ids, size_t count,
                          struct lk_error *err)
{
    lk_status status = LK_OK;

    for (size_t i = 0; i < count && status == LK_OK; i++) {
        status = lki_random_token(out[i].id, err);
        if (status == LK_OK) (void)lki_permit_list_parse(out[i].id, &out_ids[i]);
    }
    return status;
}

/* A backend undoes a failed try by itself, perhaps later: the next try uses new ids. */
static lk_status begin_anew(struct attempt *attempt, struct lk_error *err)
{
    undo(attempt);
    attempt->is_open = false;
    lk_status status = draw_ids(attempt->drawn, attempt->ids, attempt->list.count, err);
    return status == LK_OK ? LK_UNKNOWN : status;
}

/* One try. After a lost answer it is repeated with the same ids, so it is done once. */
static lk_status try_once(struct attempt *attempt, int64_t *out_ttl_ms, struct lk_error *err)
{
    const struct lki_backend *backend = attempt->list.client->backend;
    lk_status status = LK_UNKNOWN;
    bool is_synced = true;

    attempt->list.out_is_synced = &is_synced;
    if (!attempt->is_open) attempt->ends = lease_end(lki_clock_now(), attempt->lease_ms);
    for (int i = backend ? 1 : 0; i < 2 && status == LK_UNKNOWN; i++) {
        attempt->list.deadline = lki_context_deadline(attempt->list.client, 0);
        status = lki_permit_list_take(&attempt->list, attempt->lease_ms, out_ttl_ms, err);
        attempt->is_open = attempt->is_open || status == LK_UNKNOWN;
    }
    if (status == LK_UNKNOWN && backend) return begin_anew(attempt, err);
    if (status == LK_OK) attempt->is_open = false;
    if (status == LK_OK && lki_clock_now() >= attempt->ends) {
        status = LKI_FAIL(err, LK_LOST, "%s: the answer came after the lease of %lld ms had ended",
                          attempt->list.key, (long long)attempt->lease_ms);
    } else if (attempt->is_open) {
        if (err) err->code = LK_UNKNOWN; /* of the first attempt, whatever the second answered */
        status = LK_UNKNOWN;
    }
    attempt->list.out_is_synced = NULL;
    if (status == LK_OK) status = lki_exchange_check_synced(attempt->list.client, is_synced, err);
    return status;
}

/* One event per permit, as for locks. */
static void emit(const lk_permits *permits, struct lk_event event, const struct lk_permit *list,
                 size_t count, int64_t begin)
{
    bool may_have_moved = event.status == LK_OK || event.status == LK_UNKNOWN;

    event.count = may_have_moved && event.type != LK_EVENT_RENEW;
    if (!may_have_moved) event.ends_ns = 0;
    for (size_t i = 0; i < count; i++) {
        event.token = list[i].id;
        lki_counter_emit(&permits->base, event, begin);
    }
}

static lk_status check_lease(int64_t wait_ms, int64_t lease_ms, struct lk_error *err)
{
    return lki_lock_check_options(
        &(struct lk_lock_options){.wait_ms = wait_ms,
                                  .lease_ms = lease_ms == LK_PERMIT_NO_LEASE ? 0 : lease_ms},
        err);
}

static int64_t default_lease_ms(const lk_permits *permits)
{
    return lki_context_is_by_session(permits->base.client) ? LK_PERMIT_NO_LEASE
                                                           : LKI_DEFAULT_LEASE_MS;
}

/* Acquire permits with these ids. */
static lk_status acquire(lk_permits *permits, const struct lk_permit_options *options,
                         struct attempt *attempt, struct lk_error *err)
{
    int64_t begin = lki_clock_now();
    size_t count = attempt->list.count;
    struct lki_pursuit pursuit =
        lki_counter_pursuit(&permits->base, (int64_t)count, options->wait_ms);
    lk_status status = LK_OK;

    attempt->lease_ms = options->lease_ms ? options->lease_ms : default_lease_ms(permits);
    pursuit.is_repeatable = true; /* the ids stay the same, or the hold is undone */
    do {
        status = try_once(attempt, pursuit.ttl_ms, &pursuit.why);
    } while (lki_wait_again(&pursuit, &status, err));
    bool has_place = status != LK_OK && lki_context_is_by_session(permits->base.client);
    if (status == LK_LOST || status == LK_UNSYNCED || attempt->is_open || has_place) undo(attempt);
    for (size_t i = 0; i < count; i++)
        attempt->drawn[i].ends_ns = attempt->ends;
    emit(permits,
         (struct lk_event){.type = LK_EVENT_ACQUIRE,
                           .status = status,
                           .attempts = pursuit.attempts,
                           .ends_ns = attempt->ends},
         attempt->drawn, count, begin);
    return status;
}

static lk_status enter_with(lk_permits *permits, const struct lk_permit *list, size_t count,
                            struct lk_error *err)
{
    lk_status status = enter(permits, err);

    if (status == LK_OK && !list) status = LKI_FAIL(err, LK_INVALID, "no permits (NULL)");
    if (status == LK_OK && (count < 1 || count > LK_PERMITS_AT_ONCE))
        status = LKI_FAIL(err, LK_INVALID, "not 1 to %d permits", LK_PERMITS_AT_ONCE);
    return status;
}

lk_status lk_permits_acquire(lk_permits *permits, const struct lk_permit_options *options,
                             struct lk_permit *out, size_t count, struct lk_error *err)
{
    struct lk_permit_options known;
    lk_status status = enter_with(permits, out, count, err);

    if (status == LK_OK) status = LKI_OPTIONS_COPY(&known, options, lease_ms, err);
    if (status == LK_OK) options = &known;
    if (status == LK_OK) status = check_lease(options->wait_ms, options->lease_ms, err);
    if (status != LK_OK) return leave(permits, status);
    struct lk_permit *list = calloc(count, sizeof *list);
    struct lki_permit_id *ids = calloc(count, sizeof *ids);
    if (list && ids) {
        status = draw_ids(list, ids, count, err);
        struct attempt attempt = {.list = list_of(permits, ids, count), .drawn = list, .ids = ids};
        if (status == LK_OK) status = acquire(permits, options, &attempt, err);
        if (status == LK_OK) memcpy(out, list, count * sizeof *out);
    } else {
        status = LKI_FAIL(err, LK_NO_MEMORY, "%zu permits", count);
    }
    free(list);
    free(ids);
    return leave(permits, status);
}

/* ---- what is done with a permit -------------------------------------------------------------- */

/* When the leases of all of them have ended; permits of another process are taken to have the default lease. */
static int64_t last_end(const struct lk_permit *list, size_t count)
{
    int64_t last = 0;

    for (size_t i = 0; i < count; i++) {
        int64_t end = list[i].ends_ns;

        if (end == 0) end = lki_clock_after_ms(LKI_DEFAULT_LEASE_MS);
        if (end > last) last = end;
    }
    return last;
}

/* Release. After a lost answer it is repeated: if all are released then, the first attempt did it. */
static lk_status release_confirmed(struct lki_permit_list *list, struct lk_error *err)
{
    bool is_none = false;
    lk_status status = lki_permit_list_give(list, NULL, err);

    list->undo_until = 0; /* if the first attempt fails it is a pending undo already */
    if (status != LK_UNKNOWN) return status;
    list->deadline = lki_context_deadline(list->client, 0);
    status = lki_permit_list_give(list, &is_none, err);
    if (status == LK_OK || (status == LK_NOT_OWNER && is_none)) return LK_OK;
    if (status == LK_NOT_OWNER) return status;
    if (err) err->code = LK_UNKNOWN; /* the first attempt may have done it */
    return LK_UNKNOWN;
}

lk_status lk_permits_release(lk_permits *permits, const struct lk_permit *list, size_t count,
                             struct lk_error *err)
{
    int64_t begin = lki_clock_now();
    lk_status status = enter_with(permits, list, count, err);

    if (status != LK_OK) return leave(permits, status);
    struct lki_permit_id *ids = calloc(count, sizeof *ids);
    if (!ids) return leave(permits, LKI_FAIL(err, LK_NO_MEMORY, "%zu permits", count));
    for (size_t i = 0; i < count && status == LK_OK; i++) {
        if (!lki_permit_list_parse(list[i].id, &ids[i]))
            status = LKI_FAIL(err, LK_INVALID, "an id is not %d hex digits", LK_PERMIT_ID_MAX - 1);
    }
    if (status == LK_OK) {
        struct lki_permit_list all = list_of(permits, ids, count);

        if (!all.client->backend) all.undo_until = last_end(list, count);
        status = release_confirmed(&all, err);
        emit(permits, (struct lk_event){.type = LK_EVENT_RELEASE, .status = status, .attempts = 1},
             list, count, begin);
    }
    free(ids);
    return leave(permits, status);
}

static lk_status renew(const lk_permits *permits, const struct lk_permit *permit, int64_t lease_ms,
                       struct lk_error *err)
{
    lk_client *client = permits->base.client;
    char lease[LKI_NUMBER_MAX];
    struct lki_permit_id id;
    struct lki_call call = {
        .script = "permits_renew",
        .keys = {lk_bytes_of(permits->base.key), lk_bytes_of(permits->timeouts)},
        .key_count = 2,
        .args = {lk_bytes_of(permit->id), lki_number(lease, lease_ms), LK_BYTES("sooner")},
        .arg_count = 3};
    long long is_out = 0;

    (void)lki_permit_list_parse(permit->id, &id); /* lk_permits_renew() has checked it */
    lk_status status =
        client->backend
            ? run_integer(list_of(permits, &id, 1), "permits_renew", lease, &is_out, err)
            : lki_call_integer(client, &call, lki_context_deadline(client, 0), &is_out, err);
    if (status != LK_OK || is_out == 1) return status;
    return LKI_FAIL(err, LK_LOST, "%s: the permit has ended", permits->base.key);
}

lk_status lk_permits_renew(lk_permits *permits, struct lk_permit *permit, int64_t lease_ms,
                           struct lk_error *err)
{
    struct lki_permit_id id;
    int64_t begin = lki_clock_now();
    lk_status status = enter_with(permits, permit, 1, err);

    if (status == LK_OK) status = check_lease(0, lease_ms, err);
    if (status == LK_OK && !lki_permit_list_parse(permit->id, &id))
        status = LKI_FAIL(err, LK_INVALID, "an id is not %d hex digits", LK_PERMIT_ID_MAX - 1);
    if (status != LK_OK) return leave(permits, status);
    if (lease_ms == 0) lease_ms = default_lease_ms(permits);
    int64_t ends = lease_end(begin, lease_ms);
    status = renew(permits, permit, lease_ms, err);
    bool is_nearer = status == LK_UNKNOWN && ends < permit->ends_ns;
    if (status == LK_OK || is_nearer) permit->ends_ns = ends;
    if (status == LK_LOST) permit->ends_ns = 0;
    emit(permits,
         (struct lk_event){
             .type = LK_EVENT_RENEW, .status = status, .attempts = 1, .ends_ns = permit->ends_ns},
         permit, 1, begin);
    return leave(permits, status);
}

lk_status lk_permits_ask(lk_permits *permits, struct lk_permit *permit, struct lk_error *err)
{
    struct lki_permit_id id;
    int64_t asked_at = lki_clock_now();
    long long left_ms = 0;
    lk_status status = enter_with(permits, permit, 1, err);

    if (status == LK_OK && !lki_permit_list_parse(permit->id, &id))
        status = LKI_FAIL(err, LK_INVALID, "an id is not %d hex digits", LK_PERMIT_ID_MAX - 1);
    if (status != LK_OK) return leave(permits, status);
    status = run_integer(list_of(permits, &id, 1), "permits_lease", NULL, &left_ms, err);
    if (status != LK_OK) return leave(permits, status);
    permit->ends_ns = left_ms == 0 ? 0 : lease_end(asked_at, left_ms);
    return leave(permits, left_ms != 0 ? LK_OK
                                       : LKI_FAIL(err, LK_NOT_OWNER, "%s: the permit has ended",
                                                  permits->base.key));
}

int64_t lk_permit_remaining_ms(const struct lk_permit *permit)
{
    if (!permit) return 0;
    if (permit->ends_ns == INT64_MAX) return INT64_MAX;
    int64_t left = permit->ends_ns - lki_clock_now();
    return left > 0 ? (left + NS_PER_MS - 1) / NS_PER_MS : 0;
}

/* ---- the number ------------------------------------------------------------------------------ */

lk_status lk_permits_try_set(lk_permits *permits, int64_t count, struct lk_error *err)
{
    char message[LKI_NUMBER_MAX];
    long long is_set = 0;
    lk_status status = enter(permits, err);

    if (status == LK_OK) status = lki_counter_check_number(count, 0, "permits", err);
    if (status != LK_OK) return leave(permits, status);
    (void)lki_number(message, count);
    if (!permits->base.is_served)
        return leave(permits, lki_counter_try_set(&permits->base, count, message, err));
    status = run_integer(list_of(permits, NULL, 0), "permits_try_set", message, &is_set, err);
    if (status == LK_OK && is_set == 0)
        status = LKI_FAIL(err, LK_BUSY, "%s: it is set already", permits->base.key);
    return leave(permits, status);
}

lk_status lk_permits_set(lk_permits *permits, int64_t count, struct lk_error *err)
{
    char number[LKI_NUMBER_MAX];
    long long done = 0;
    lk_status status = enter(permits, err);

    if (status == LK_OK) status = lki_counter_check_number(count, 0, "permits", err);
    if (status != LK_OK) return leave(permits, status);
    (void)lki_number(number, count);
    return leave(permits,
                 run_integer(list_of(permits, NULL, 0), "permits_set", number, &done, err));
}

lk_status lk_permits_usage(lk_permits *permits, struct lk_permits_usage *out, struct lk_error *err)
{
    long long counts[2] = {0};
    lk_status status = enter(permits, err);

    if (status != LK_OK) return leave(permits, status);
    if (!out) return leave(permits, LKI_FAIL(err, LK_INVALID, "no result (NULL)"));
    struct lki_permit_list none = list_of(permits, NULL, 0);
    status = lki_permit_list_run(&none, "permits_usage", counts, 2, err);
    if (status != LK_OK) return leave(permits, status);
    *out = (struct lk_permits_usage){.available = counts[0], .acquired = counts[1]};
    return leave(permits, LK_OK);
}

lk_status lk_permits_delete(lk_permits *permits, struct lk_error *err)
{
    long long was_there = 0;
    lk_status status = enter(permits, err);

    if (status != LK_OK) return leave(permits, status);
    if (!permits->base.is_served)
        return leave(permits, lki_counter_delete(&permits->base, permits->timeouts, NULL, err));
    status = run_integer(list_of(permits, NULL, 0), "permits_delete", NULL, &was_there, err);
    if (status == LK_OK && was_there == 0)
        status = LKI_FAIL(err, LK_NOT_OWNER, "%s: there is none", permits->base.key);
    return leave(permits, status);
}

void lk_permits_cancel(lk_permits *permits)
{
    if (permits) lki_counter_cancel(&permits->base);
}
