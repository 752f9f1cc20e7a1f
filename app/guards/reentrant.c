/*
 * Redisson's RLock around the purchase: a hash that counts its owner's holds. Nothing here takes it
 * twice; it shows what the counting costs beside the mutex.
 */
#include "guards/hand/held_lock.h"

static struct guard_result reentrant_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                          size_t count)
{
    return held_lock_sell(&(struct held_lock){.make = lk_reentrant_new, .is_renewed = false}, ctx,
                          batch, count);
}

const struct guard guard_reentrant = {
    .name = "reentrant",
    .idea = "a lock that its owner may take again, around the owner-checked script",
    .flaw = NULL,
    .expected = VERDICT_SOUND,
    .sell = reentrant_sell,
};
