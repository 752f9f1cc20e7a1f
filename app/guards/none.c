/*
 * FLAWED on purpose: read, decide, write, with nothing that keeps others from doing the same in
 * between. Two instances (or two threads with --batch 1) read the same stock and both sell it.
 */
#include "by_hand.h"

static struct guard_result none_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                     size_t count)
{
    struct guard_result result = {.status = GUARD_UNAVAILABLE};
    struct by_hand hand;

    if (by_hand_make(ctx, batch, count, &hand) &&
        by_hand_read_and_decide(&hand, ctx->limit_ms, &result.error) == LK_OK) {
        /* Its flaw is the lost update, not that it would call a refused write an order. */
        lk_status status = by_hand_write(&hand, ctx->limit_ms, &result.error);

        result.status = status == LK_OK ? GUARD_DONE : GUARD_UNKNOWN;
        if (status == LK_OK) by_hand_tell(&hand);
    }
    by_hand_done(&hand);
    return result;
}

const struct guard guard_none = {
    .name = "none",
    .idea = "read, decide, write, without any protection",
    .flaw = "two readers see the same unit and both sell it (lost update)",
    .expected = VERDICT_OVERSELLS,
    .sell = none_sell,
};
