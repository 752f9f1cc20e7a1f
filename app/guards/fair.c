/*
 * The lock goes to those who wait in the order of their coming: instances that sell one sale take
 * turns. A waiter whose process died holds up the others until its window ends.
 */
#include "guards/shared/held_lock.h"

static lk_lock *make_fair(lk_client *client, const char *key, struct lk_error *err)
{
    return lk_fair_new(client, key, NULL, err);
}

const struct guard guard_fair = {
    .name = "fair",
    .idea = "instances get the lock in the order in which they asked",
    .expected = VERDICT_SOUND,
    .sell = held_lock_sell,
    .way = &(const struct held_lock){.make = make_fair},
};
