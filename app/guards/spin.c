/*
 * The lock without messages: who waits asks again after growing pauses of up to 128 ms.
 */
#include "guards/shared/held_lock.h"

const struct guard guard_spin = {
    .name = "spin",
    .idea = "no wake-ups: waiters try again after growing pauses",
    .expected = VERDICT_SOUND,
    .sell = held_lock_sell,
    .way = &(const struct held_lock){.make = lk_spin_new},
};
