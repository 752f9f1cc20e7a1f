/*
 * No lock at all: the stock lives in the same Redis, so one atomic script is enough. The honest
 * baseline that every lock has to be compared with.
 */
#include "guards/base/guard.h"
#include "guards/shared/purchase_eval.h"

static struct guard_result script_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                       size_t count)
{
    struct purchase_eval purchase;
    struct lk_error err = {0};
    lk_reply *reply = NULL;
    lk_status status = LK_NO_MEMORY;

    if (purchase_eval_make(ctx, batch, count, &purchase)) {
        status = lk_client_eval(ctx->client, &purchase.eval, ctx->limit_ms, &reply, &err);
    }
    return purchase_eval_end(&purchase, status, reply, &err);
}

const struct guard guard_script = {
    .name = "script",
    .idea = "no lock: one atomic script checks and writes",
    .expected = VERDICT_SOUND,
    .sell = script_sell,
};
