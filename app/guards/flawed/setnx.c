/*
 * FLAWED on purpose: the first lock in Redis that everybody writes. All instances see it, but when
 * its holder dies, nobody deletes it.
 */
#include "crude_lock.h"

static lk_status take(const struct crude_lock *lock, struct by_hand *hand, struct lk_error *err)
{
    (void)lock;
    return crude_lock_setnx(hand, err);
}

const struct guard guard_setnx = {
    .name = "setnx",
    .idea = "SETNX, then DEL",
    .flaw = "no expiry: when the holder dies, nobody sells any more",
    .expected = VERDICT_STUCK,
    .sell = crude_lock_sell,
    .way = &(const struct crude_lock){.take = take, .give = crude_lock_del},
};
