/*
 * The same lock, held the usual way: acquire, owner-checked script, release, three round trips. The
 * watchdog renews the lease meanwhile, so a slow Redis costs no purchase; a holder that sleeps for
 * longer is still refused by the script.
 */
#include "guards/hand/held_lock.h"

static struct guard_result mutex_watchdog_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                               size_t count)
{
    return held_lock_sell(&(struct held_lock){.make = lk_mutex_new, .is_renewed = true}, ctx, batch,
                          count);
}

const struct guard guard_mutex_watchdog = {
    .name = "mutex-watchdog",
    .idea = "acquire, owner-checked script, release, while a watchdog renews the lease",
    .flaw = NULL,
    .expected = VERDICT_SOUND,
    .sell = mutex_watchdog_sell,
};
