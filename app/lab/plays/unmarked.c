/*
 * FLAWED on purpose, and only for the lab: the atomic script, and after a lost answer a look for the
 * order instead of the void mark. Any thread.
 */
#include "guards/shared/purchase_eval.h"
#include "scenarios.h"

static bool has_order(const struct purchase_eval *purchase, const char *buyer)
{
    struct lk_bytes words[] = {LK_BYTES("HGET"), purchase->keys.key[KEY_ORDERS],
                               lk_bytes_of(buyer)};
    lk_reply *reply = NULL;
    lk_status status = lk_client_call(purchase->ctx->client, &(struct lk_command){words, 3}, 1,
                                      purchase->ctx->limit_ms, &reply, NULL);
    bool is_there = status != LK_OK || lk_reply_type_of(reply) != LK_REPLY_NIL;

    lk_reply_free(reply);
    return is_there;
}

static struct guard_result unmarked_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                         size_t count)
{
    struct purchase_eval purchase;
    struct lk_error err = {0};
    lk_reply *reply = NULL;
    lk_status status = LK_NO_MEMORY;

    if (purchase_eval_make(ctx, batch, count, &purchase))
        status = lk_client_eval(ctx->client, &purchase.eval, ctx->limit_ms, &reply, &err);
    if (status == LK_UNKNOWN && !has_order(&purchase, batch[0]->buyer)) status = LK_UNREACHABLE;
    return purchase_eval_end(&purchase, status, reply, &err);
}

const struct guard scenario_guard_unmarked = {
    .name = "unmarked",
    .idea = "after a lost answer look for the order, and believe what is found",
    .flaw = "what still lies in a dead connection arrives after the look, and sells",
    .expected = VERDICT_OVERSELLS,
    .sell = unmarked_sell,
};
