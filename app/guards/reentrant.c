/*
 * Redisson's RLock around the purchase: a hash that counts its owner's holds. Nothing here takes it
 * twice; it shows what the counting costs beside the mutex.
 */
#include "guards/shared/held_lock.h"

const struct guard guard_reentrant = {
    .name = "reentrant",
    .idea = "a lock that its owner may take again, around the owner-checked script",
    .expected = VERDICT_SOUND,
    .sell = held_lock_sell,
    .way = &(const struct held_lock){.make = lk_reentrant_new},
};
