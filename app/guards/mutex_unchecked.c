/*
 * FLAWED on purpose: the lock is perfect, and the holder even looks whether it still holds it, but
 * the write itself does not check. A holder that is paused right after looking (a stopped process, a
 * slow disk, a long collection of garbage) writes what it had decided long ago over what the next
 * holder has written since.
 */
#include "by_hand.h"
#include "clock.h"
#include "guard.h"

static struct guard_result ended(guard_status status, const struct lk_error *err)
{
    return (struct guard_result){.status = status, .error = *err};
}

/* The lock is ours, they say. */
static struct guard_result sell_holding(lk_lock *lock, struct by_hand *hand, int64_t deadline_ms)
{
    struct lk_error err = {0};
    int64_t left_ms = deadline_ms - clock_mono_ms();

    if (left_ms <= 0 || by_hand_read_and_decide(hand, left_ms, &err) != LK_OK)
        return ended(left_ms <= 0 ? GUARD_BUSY : GUARD_UNAVAILABLE, &err);
    if (!lk_held(lock)) return ended(GUARD_BUSY, &err);
    lk_status status = by_hand_write(hand, hand->ctx->limit_ms, &err);
    if (status == LK_UNREACHABLE) return ended(GUARD_UNAVAILABLE, &err);
    if (status != LK_OK) return ended(GUARD_UNKNOWN, &err);
    by_hand_tell(hand);
    return ended(GUARD_DONE, &err);
}

static struct guard_result sell_by(lk_lock *lock, struct by_hand *hand)
{
    const struct guard_ctx *ctx = hand->ctx;
    int64_t deadline_ms = clock_mono_ms() + ctx->limit_ms;
    struct lk_error err = {0};
    lk_status status = lk_lock_acquire(
        lock, &(struct lk_lock_options){.wait_ms = ctx->limit_ms, .lease_ms = ctx->lease_ms}, &err);

    if (status == LK_BUSY || status == LK_LOST) return ended(GUARD_BUSY, &err);
    if (status != LK_OK) return ended(GUARD_UNAVAILABLE, &err); /* nothing was written yet */
    struct guard_result result = sell_holding(lock, hand, deadline_ms);
    (void)lk_lock_release(lock, NULL); /* else the lease ends it */
    return result;
}

static struct guard_result mutex_unchecked_sell(const struct guard_ctx *ctx,
                                                struct purchase **batch, size_t count)
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

const struct guard guard_mutex_unchecked = {
    .name = "mutex-unchecked",
    .idea = "the same lock, but read, decide and write trust it instead of checking it",
    .flaw = "a holder paused for longer than its lease writes over what others sold meanwhile",
    .expected = VERDICT_OVERSELLS,
    .sell = mutex_unchecked_sell,
};
