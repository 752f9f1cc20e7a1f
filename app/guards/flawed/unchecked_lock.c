/*
 * See unchecked_lock.h. Any thread.
 */
#include "unchecked_lock.h"

#include "base/clock.h"
#include "guards/shared/by_hand.h"

static struct guard_result sell_by(lk_lock *lock, struct by_hand *hand)
{
    const struct guard_ctx *ctx = hand->ctx;
    struct lk_lock_options options = *(const struct lk_lock_options *)ctx->guard->way;
    int64_t deadline_ms = clock_mono_ms() + ctx->limit_ms;
    struct guard_result result = {.status = GUARD_UNAVAILABLE}; /* nothing was written yet */

    options.wait_ms = ctx->wait_ms;
    options.lease_ms = ctx->lease_ms;
    lk_status status = lk_lock_acquire(lock, &options, &result.error);
    if (status == LK_BUSY || status == LK_LOST) result.status = GUARD_BUSY;
    if (status != LK_OK) return result;
    result = by_hand_sell(hand, deadline_ms, lock);
    (void)lk_lock_release(lock, NULL); /* else the lease ends it */
    return result;
}

struct guard_result unchecked_lock_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                        size_t count)
{
    struct by_hand hand;
    struct guard_result result = {.status = GUARD_UNAVAILABLE};
    lk_lock *lock = NULL;

    if (by_hand_make(ctx, batch, count, &hand))
        lock = lk_mutex_new(ctx->client, hand.keys.text[KEY_LOCK], &result.error);
    if (lock) result = sell_by(lock, &hand);
    lk_lock_free(lock);
    by_hand_done(&hand);
    return result;
}
