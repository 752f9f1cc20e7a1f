/*
 * FLAWED on purpose: as mutex-unchecked, with a watchdog that renews the lease while its holder is
 * slow. It helps as long as the process runs; when all of it stands still (SIGSTOP, a frozen virtual
 * machine), so does the watchdog, and the holder wakes up in the belief that the lock is its own.
 */
#include "unchecked_lock.h"

const struct guard guard_watchdog_unchecked = {
    .name = "watchdog-unchecked",
    .idea = "as mutex-unchecked, while a watchdog renews the lease",
    .flaw = "a process that is stopped as a whole does not renew, wakes up and writes",
    .expected = VERDICT_OVERSELLS,
    .is_renewed = true,
    .sell = unchecked_lock_sell,
    .way = &(const struct lk_lock_options){.is_renewed = true},
};
