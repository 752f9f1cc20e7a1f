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

static struct guard_result setnx_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                      size_t count)
{
    return crude_lock_sell(&(struct crude_lock){.take = take, .give = crude_lock_del}, ctx, batch,
                           count);
}

const struct guard guard_setnx = {
    .name = "setnx",
    .idea = "SETNX, then DEL",
    .flaw = "no expiry: when the holder dies, nobody sells any more",
    .expected = VERDICT_STUCK,
    .sell = setnx_sell,
};
