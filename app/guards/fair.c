/*
 * The lock goes to those who wait in the order of their coming: instances that sell one sale take
 * turns. A waiter whose process died holds up the others until its window ends.
 */
#include "guards/hand/held_lock.h"

static lk_lock *make_fair(lk_client *client, const char *key, struct lk_error *err)
{
    return lk_fair_new(client, key, NULL, err);
}

static struct guard_result fair_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                     size_t count)
{
    return held_lock_sell(&(struct held_lock){.make = make_fair, .is_renewed = false}, ctx, batch,
                          count);
}

const struct guard guard_fair = {
    .name = "fair",
    .idea = "instances get the lock in the order in which they asked",
    .flaw = NULL,
    .expected = VERDICT_SOUND,
    .sell = fair_sell,
};
