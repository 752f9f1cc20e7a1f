/*
 * Redisson's RFencedLock around the purchase: every holder gets a number greater than the one before,
 * and shows it with its write. The resource (the keys of the sale, here in the same Redis) remembers
 * the greatest it has seen and refuses any lower one, in the step that writes (fence_check.lua). It
 * asks nothing of the lock: so it would hold also where lock and data are on different servers.
 */
#include "guards/shared/held_lock.h"

const struct guard guard_fenced = {
    .name = "fenced",
    .idea = "the lock counts its holders; the write refuses a lower number than it has seen",
    .expected = VERDICT_SOUND,
    .sell = held_lock_sell,
    .way = &(const struct held_lock){.make = lk_fenced_new, .eval = held_lock_eval_fenced},
};
