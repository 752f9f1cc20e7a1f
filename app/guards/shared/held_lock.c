/*
 * See held_lock.h. Any thread.
 */
#include "held_lock.h"

#include <string.h>

#include "base/clock.h"

static lk_status eval_checked(lk_lock *lock, struct purchase_eval *purchase, int64_t limit_ms,
                              lk_reply **reply, struct lk_error *err)
{
    return lk_guarded_eval(lock, &purchase->eval, limit_ms, reply, err);
}

lk_status held_lock_eval_fenced(lk_lock *lock, struct purchase_eval *purchase, int64_t limit_ms,
                                lk_reply **reply, struct lk_error *err)
{
    purchase_eval_show_fence(purchase, lk_lock_fence(lock));
    lk_status status = lk_client_eval(purchase->ctx->client, &purchase->eval, limit_ms, reply, err);
    return status == LK_SERVER && strncmp(err->text, "STALE", 5) == 0 ? LK_NOT_OWNER : status;
}

static lk_status sell_holding(const struct held_lock *how, lk_lock *lock,
                              struct purchase_eval *purchase, lk_reply **reply,
                              struct lk_error *err)
{
    const struct guard_ctx *ctx = purchase->ctx;
    const struct lk_lock_options *options = &(struct lk_lock_options){
        .wait_ms = ctx->wait_ms, .lease_ms = ctx->lease_ms, .is_renewed = how->is_renewed};
    lk_status status = lk_lock_acquire(lock, options, err);

    if (status == LK_UNKNOWN || status == LK_UNSYNCED) /* of the lock alone: nothing was sold */
        return LK_UNREACHABLE;
    if (status != LK_OK) return status;
    guard_pause(ctx);
    int64_t left_ms = purchase->begin_ms + ctx->limit_ms - clock_mono_ms();
    status = (how->eval ? how->eval : eval_checked)(lock, purchase, left_ms > 0 ? left_ms : 1,
                                                    reply, err);
    (void)lk_lock_release(lock, NULL); /* else the lease ends it; the hook counts it */
    return status;
}

struct guard_result held_lock_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                   size_t count)
{
    const struct held_lock *how = ctx->guard->way;
    enum guard_need needs = ctx->guard->needs;
    lk_client *locks = needs == NEED_NOTHING ? ctx->client : ctx->servers->clients[needs];
    struct purchase_eval purchase;
    struct lk_error err = {0};
    lk_reply *reply = NULL;
    lk_lock *lock = NULL;
    lk_status status = LK_NO_MEMORY;

    if (purchase_eval_make(ctx, batch, count, &purchase))
        lock = how->make(locks, purchase.keys.text[KEY_LOCK], &err);
    if (lock) status = sell_holding(how, lock, &purchase, &reply, &err);
    lk_lock_free(lock);
    return purchase_eval_end(&purchase, status, reply, &err);
}
