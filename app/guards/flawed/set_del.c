/*
 * FLAWED on purpose: the expiry is set in one step with the lock, but DEL asks for no owner. A holder
 * that comes late deletes the lock of the next one, and lets a third one in.
 */
#include "crude_lock.h"

static lk_status take(const struct crude_lock *lock, struct by_hand *hand, struct lk_error *err)
{
    (void)lock;
    return crude_lock_set_nx_px(hand, hand->ctx->instance, err);
}

const struct guard guard_set_del = {
    .name = "set-del",
    .idea = "SET NX PX, then DEL",
    .flaw = "a holder that comes late deletes the lock of the next one",
    .expected = VERDICT_OVERSELLS,
    .sell = crude_lock_sell,
    .way = &(const struct crude_lock){.take = take, .give = crude_lock_del},
};
