/*
 * What guards share that hold a lock around the purchase script: acquire, the script with a check in
 * front, release, three round trips.
 */
#ifndef SECKILL_GUARDS_HELD_LOCK_H
#define SECKILL_GUARDS_HELD_LOCK_H

#include "purchase_eval.h"

/* guard.way of these. */
struct held_lock {
    lk_lock *(*make)(lk_client *client, const char *key, struct lk_error *err);
    bool is_renewed; /* the watchdog prolongs ctx->lease_ms while the script runs */
    /* How the script is run under the lock; NULL: owner-checked. */
    lk_status (*eval)(lk_lock *lock, struct purchase_eval *purchase, int64_t limit_ms,
                      lk_reply **reply, struct lk_error *err);
};

/*
 * A way to run it (`eval`): asks nothing of the lock, which may be anywhere, but shows its number to the
 * keys of the sale, that refuse one lower than they have seen: NOT_OWNER.
 */
lk_status held_lock_eval_fenced(lk_lock *lock, struct purchase_eval *purchase, int64_t limit_ms,
                                lk_reply **reply, struct lk_error *err);

/* guard.sell() under such a lock of the sale's lock key, where the guard has its locks (guard.needs). */
struct guard_result held_lock_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                   size_t count);

#endif
