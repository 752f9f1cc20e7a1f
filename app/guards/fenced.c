/*
 * Redisson's RFencedLock around the purchase: every holder gets a number greater than the one before,
 * and shows it with its write. The resource (the keys of the sale, here in the same Redis) remembers
 * the greatest it has seen and refuses any lower one, in the step that writes (fence_check.lua). It
 * asks nothing of the lock: so it would hold also where lock and data are on different servers.
 */
#include <string.h>

#include "guards/hand/held_lock.h"

static lk_status eval_fenced(lk_lock *lock, struct purchase_eval *purchase, int64_t limit_ms,
                             lk_reply **reply, struct lk_error *err)
{
    purchase_eval_show_fence(purchase, lk_lock_fence(lock));
    lk_status status = lk_client_eval(purchase->ctx->client, &purchase->eval, limit_ms, reply, err);
    return status == LK_SERVER && strncmp(err->text, "STALE", 5) == 0 ? LK_NOT_OWNER : status;
}

const struct guard guard_fenced = {
    .name = "fenced",
    .idea = "the lock counts its holders; the write refuses a lower number than it has seen",
    .expected = VERDICT_SOUND,
    .sell = held_lock_sell,
    .way = &(const struct held_lock){.make = lk_fenced_new, .eval = eval_fenced},
};
