/*
 * The same lock, held the usual way: acquire, owner-checked script, release, three round trips. The
 * watchdog renews the lease meanwhile, so a slow Redis costs no purchase; a holder that sleeps for
 * longer is still refused by the script.
 */
#include "guards/shared/held_lock.h"

const struct guard guard_mutex_watchdog = {
    .name = "mutex-watchdog",
    .idea = "acquire, owner-checked script, release, while a watchdog renews the lease",
    .expected = VERDICT_SOUND,
    .is_renewed = true,
    .sell = held_lock_sell,
    .way = &(const struct held_lock){.make = lk_mutex_new, .is_renewed = true},
};
