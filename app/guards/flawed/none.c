/*
 * FLAWED on purpose: read, decide, write, with nothing that keeps others from doing the same in
 * between. Two instances (or two threads with --batch 1) read the same stock and both sell it.
 */
#include "base/clock.h"
#include "guards/shared/by_hand.h"

static struct guard_result none_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                     size_t count)
{
    struct guard_result result = {.status = GUARD_UNAVAILABLE};
    struct by_hand hand;

    if (by_hand_make(ctx, batch, count, &hand))
        result = by_hand_sell(&hand, clock_mono_ms() + ctx->limit_ms, NULL);
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
