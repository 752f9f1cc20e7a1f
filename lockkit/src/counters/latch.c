/*
 * The latch. A count-down without an answer is repeated with the same step number, so it counts once
 * (counter.c). Threads as latch.h says.
 */
#include "lockkit/latch.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "counter.h"

struct lk_latch {
    struct lki_counter base;
};

/* Redisson adds the braces to every name, also to one that has some. */
static char *channel_of(lk_client *client, const char *key)
{
    char *channel = NULL;

    if (lki_context_is_by_session(client)) return lki_context_own_channel(client);

    return asprintf(&channel, "redisson_countdownlatch__channel__{%s}", key) < 0 ? NULL : channel;
}

lk_latch *lk_latch_new(lk_client *client, const char *key, struct lk_error *err)
{
    lk_latch *latch = calloc(1, sizeof *latch);

    if (!latch) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "a latch");
        return NULL;
    }
    latch->base = (struct lki_counter){
        .kind = "latch",
        .is_served = client && client->backend && client->backend->latch,
        .channel = key ? channel_of(client, key) : NULL,
        .waiter.rule = LKI_WAKE_ALL,
    };
    if (lki_counter_init(&latch->base, client, key, err) == LK_OK &&
        lki_counter_name_claim(&latch->base, err) == LK_OK)
        return latch;
    lk_latch_free(latch);
    return NULL;
}

void lk_latch_free(lk_latch *latch)
{
    if (!latch) return;
    lki_counter_done(&latch->base);
    free(latch);
}

static lk_status enter(lk_latch *latch, struct lk_error *err)
{
    return lki_counter_enter(latch ? &latch->base : NULL, err);
}

static lk_status leave(lk_latch *latch, lk_status status)
{
    return lki_counter_leave(latch ? &latch->base : NULL, status);
}

lk_status lk_latch_try_set(lk_latch *latch, int64_t count, struct lk_error *err)
{
    lk_status status = enter(latch, err);

    if (status == LK_OK) status = lki_counter_check_number(count, 1, "count", err);
    return leave(latch,
                 status == LK_OK ? lki_counter_try_set(&latch->base, count, "1", err) : status);
}

lk_status lk_latch_count_down(lk_latch *latch, struct lk_error *err)
{
    struct lki_step step = {.script = "latch_count_down", .number = 1};
    int64_t begin = lki_clock_now();
    lk_status status = enter(latch, err);

    if (status != LK_OK) return leave(latch, status);
    int64_t counted = latch->base.is_unsettled ? 0 : 1; /* else it was reported before */
    status = lki_counter_step(&latch->base, &step, err);
    lki_counter_emit(
        &latch->base,
        (struct lk_event){
            .type = LK_EVENT_RELEASE, .status = status, .attempts = 1, .count = counted},
        begin);
    return leave(latch, status);
}

lk_status lk_latch_count(lk_latch *latch, int64_t *out_count, struct lk_error *err)
{
    lk_status status = enter(latch, err);

    if (status == LK_OK && !out_count) status = LKI_FAIL(err, LK_INVALID, "no result (NULL)");
    return leave(latch, status == LK_OK ? lki_counter_get(&latch->base, out_count, err) : status);
}

static lk_status look(const struct lki_counter *counter, int64_t *out_ttl_ms, struct lk_error *err)
{
    int64_t count = 0;
    lk_status status = lki_counter_get(counter, &count, err);

    if (status != LK_OK || count <= 0) return status;
    if (out_ttl_ms) *out_ttl_ms = -1;
    return LKI_FAIL(err, LK_BUSY, "%s: %lld have not arrived yet", counter->key, (long long)count);
}

lk_status lk_latch_await(lk_latch *latch, int64_t wait_ms, struct lk_error *err)
{
    int64_t begin = lki_clock_now();
    lk_status status = enter(latch, err);

    if (status == LK_OK && wait_ms < 0)
        status = LKI_FAIL(err, LK_INVALID, "wait_ms must not be negative");
    if (status != LK_OK) return leave(latch, status);
    struct lki_pursuit pursuit = lki_counter_pursuit(&latch->base, 1, wait_ms);
    do {
        status = look(&latch->base, pursuit.ttl_ms, &pursuit.why);
    } while (lki_wait_again(&pursuit, &status, err));
    lki_counter_emit(
        &latch->base,
        (struct lk_event){.type = LK_EVENT_ACQUIRE, .status = status, .attempts = pursuit.attempts},
        begin);
    return leave(latch, status);
}

lk_status lk_latch_delete(lk_latch *latch, struct lk_error *err)
{
    lk_status status = enter(latch, err);

    return leave(latch,
                 status == LK_OK ? lki_counter_delete(&latch->base, NULL, "1", err) : status);
}

void lk_latch_cancel(lk_latch *latch)
{
    if (latch) lki_counter_cancel(&latch->base);
}
