/*
 * The same lock, held the usual way: acquire, owner-checked script, release, three round trips. The
 * watchdog renews the lease meanwhile, so a slow Redis costs no purchase; a holder that sleeps for
 * longer is still refused by the script.
 */
#include "clock.h"
#include "guard.h"
#include "purchase_eval.h"

static lk_status sell_holding(lk_lock *lock, const struct guard_ctx *ctx,
                              const struct purchase_eval *purchase, lk_reply **reply,
                              struct lk_error *err)
{
    lk_status status = lk_lock_acquire(lock,
                                       &(struct lk_lock_options){.wait_ms = ctx->limit_ms,
                                                                 .lease_ms = ctx->lease_ms,
                                                                 .is_renewed = true},
                                       err);

    if (status == LK_UNKNOWN) return LK_UNREACHABLE; /* of the lock alone: nothing was sold */
    if (status != LK_OK) return status;
    int64_t left_ms = purchase->begin_ms + ctx->limit_ms - clock_mono_ms();
    status = lk_guarded_eval(lock, &purchase->eval, left_ms > 0 ? left_ms : 1, reply, err);
    (void)lk_lock_release(lock, NULL); /* else the lease ends it; the hook counts it */
    return status;
}

static struct guard_result mutex_watchdog_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                               size_t count)
{
    struct purchase_eval purchase;
    struct lk_error err = {0};
    lk_reply *reply = NULL;
    lk_lock *lock = NULL;
    lk_status status = LK_NO_MEMORY;

    if (purchase_eval_make(ctx, batch, count, &purchase))
        lock = lk_mutex_new(ctx->client, purchase.keys.text[KEY_LOCK], &err);
    if (lock) status = sell_holding(lock, ctx, &purchase, &reply, &err);
    lk_lock_free(lock);
    return purchase_eval_end(&purchase, status, reply, &err);
}

const struct guard guard_mutex_watchdog = {
    .name = "mutex-watchdog",
    .idea = "acquire, owner-checked script, release, while a watchdog renews the lease",
    .flaw = NULL,
    .expected = VERDICT_SOUND,
    .sell = mutex_watchdog_sell,
};
