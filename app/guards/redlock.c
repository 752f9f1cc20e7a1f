/*
 * The published Redlock: the lock is held by a majority of independent servers (--redlock), while the
 * stock is where it always is. So nothing can check the owner and sell in one step, and no fencing
 * token is there to check either: that no unit is sold twice, also by a holder that has overslept its
 * lease, is the doing of purchase.lua alone, which is one atomic step and needs no lock. What the lock
 * adds is that instances take turns.
 */
#include "base/clock.h"
#include "guards/base/guard.h"
#include "guards/shared/purchase_eval.h"

/* *out_is_free: the lock is not held afterwards, as far as is known. */
static lk_status sell_holding(lk_lock *lock, const struct purchase_eval *purchase,
                              bool *out_is_free, lk_reply **reply, struct lk_error *err)
{
    const struct guard_ctx *ctx = purchase->ctx;
    lk_status status = lk_lock_acquire(
        lock, &(struct lk_lock_options){.wait_ms = ctx->wait_ms, .lease_ms = ctx->lease_ms}, err);

    *out_is_free = status != LK_OK;
    if (status == LK_UNKNOWN || status == LK_UNSYNCED)
        return LK_UNREACHABLE; /* of the lock alone: nothing was sold */
    if (status != LK_OK) return status;
    guard_pause(ctx);
    int64_t left_ms = purchase->begin_ms + ctx->limit_ms - clock_mono_ms();
    status = LK_BUSY;
    if (left_ms > 0) status = lk_client_eval(ctx->client, &purchase->eval, left_ms, reply, err);
    *out_is_free = lk_lock_release(lock, NULL) == LK_OK; /* else the lease ends it */
    return status;
}

static struct guard_result redlock_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                        size_t count)
{
    struct purchase_eval purchase;
    struct lk_error err = {0};
    lk_reply *reply = NULL;
    lk_lock *lock = NULL;
    lk_status status = LK_NO_MEMORY;
    bool is_free = false;

    if (purchase_eval_make(ctx, batch, count, &purchase)) {
        lock = redlock_servers_borrow(&ctx->servers->redlock, purchase.keys.text[KEY_LOCK], &err);
        status = lock ? sell_holding(lock, &purchase, &is_free, &reply, &err) : LK_UNREACHABLE;
    }
    if (is_free) {
        redlock_servers_return(&ctx->servers->redlock, purchase.keys.text[KEY_LOCK], lock);
    } else {
        lk_lock_free(lock);
    }
    return purchase_eval_end(&purchase, status, reply, &err);
}

const struct guard guard_redlock = {
    .name = "redlock",
    .idea = "a lock over independent servers (--redlock) around the atomic script",
    .expected = VERDICT_SOUND,
    .needs = NEED_REDLOCK,
    .sell = redlock_sell,
};
