/*
 * The lock without messages: who waits asks again after growing pauses of up to 128 ms.
 */
#include "guards/hand/held_lock.h"

static struct guard_result spin_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                     size_t count)
{
    return held_lock_sell(&(struct held_lock){.make = lk_spin_new, .is_renewed = false}, ctx, batch,
                          count);
}

const struct guard guard_spin = {
    .name = "spin",
    .idea = "no wake-ups: waiters try again after growing pauses",
    .flaw = NULL,
    .expected = VERDICT_SOUND,
    .sell = spin_sell,
};
