/*
 * The default guard, and the project's main lesson: SET NX PX, the purchase under an owner check,
 * compare-and-delete; all three in one round trip for the whole batch.
 */
#include "guards/base/guard.h"
#include "guards/shared/purchase_eval.h"

static struct guard_result mutex_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                      size_t count)
{
    struct purchase_eval purchase;
    struct lk_error err = {0};
    lk_reply *reply = NULL;
    lk_lock *lock = NULL;
    lk_status status = LK_NO_MEMORY;

    if (purchase_eval_make(ctx, batch, count, &purchase)) {
        lock = lk_mutex_new(ctx->client, purchase.keys.text[KEY_LOCK], &err);
    }
    if (lock) {
        status = lk_mutex_run(
            lock, &(struct lk_lock_options){.wait_ms = ctx->wait_ms, .lease_ms = ctx->lease_ms},
            &purchase.eval, &reply, &err);
    }
    lk_lock_free(lock);
    return purchase_eval_end(&purchase, status, reply, &err);
}

const struct guard guard_mutex = {
    .name = "mutex",
    .idea = "SET NX PX, owner-checked script, compare-and-delete, in one round trip",
    .expected = VERDICT_SOUND,
    .sell = mutex_sell,
};
