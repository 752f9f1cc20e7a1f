/*
 * See held_lock.h. Any thread.
 */
#include "held_lock.h"

#include "clock.h"
#include "purchase_eval.h"

static lk_status sell_holding(lk_lock *lock, const struct lk_lock_options *options,
                              const struct purchase_eval *purchase, lk_reply **reply,
                              struct lk_error *err)
{
    lk_status status = lk_lock_acquire(lock, options, err);

    if (status == LK_UNKNOWN || status == LK_UNSYNCED) /* of the lock alone: nothing was sold */
        return LK_UNREACHABLE;
    if (status != LK_OK) return status;
    int64_t left_ms = purchase->begin_ms + purchase->ctx->limit_ms - clock_mono_ms();
    status = lk_guarded_eval(lock, &purchase->eval, left_ms > 0 ? left_ms : 1, reply, err);
    (void)lk_lock_release(lock, NULL); /* else the lease ends it; the hook counts it */
    return status;
}

struct guard_result held_lock_sell(const struct held_lock *how, const struct guard_ctx *ctx,
                                   struct purchase **batch, size_t count)
{
    const struct lk_lock_options options = {
        .wait_ms = ctx->limit_ms, .lease_ms = ctx->lease_ms, .is_renewed = how->is_renewed};
    struct purchase_eval purchase;
    struct lk_error err = {0};
    lk_reply *reply = NULL;
    lk_lock *lock = NULL;
    lk_status status = LK_NO_MEMORY;

    if (purchase_eval_make(ctx, batch, count, &purchase))
        lock = how->make(ctx->client, purchase.keys.text[KEY_LOCK], &err);
    if (lock) status = sell_holding(lock, &options, &purchase, &reply, &err);
    lk_lock_free(lock);
    return purchase_eval_end(&purchase, status, reply, &err);
}
