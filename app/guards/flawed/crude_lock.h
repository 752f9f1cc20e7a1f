/*
 * What the textbook's guards share: take a lock, read, decide and write by hand, give it back. Where
 * that lock is, how it is taken and how given back, is in each guard's own file.
 */
#ifndef SECKILL_GUARDS_CRUDE_LOCK_H
#define SECKILL_GUARDS_CRUDE_LOCK_H

#include "guards/shared/by_hand.h"

/* guard.way of these. */
struct crude_lock {
    /* One try, or a wait of its own for ctx->wait_ms. OK: it is ours; BUSY: somebody's; else nobody knows. */
    lk_status (*take)(const struct crude_lock *lock, struct by_hand *hand, struct lk_error *err);
    void (*give)(const struct crude_lock *lock, struct by_hand *hand);
    void *arg; /* the guard's own; NULL when it needs none */
};

/* guard.sell() under such a lock, tried again after growing pauses for as long as ctx->wait_ms. */
struct guard_result crude_lock_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                    size_t count);
/* The same under a lock that is made for this sell. */
struct guard_result crude_lock_sell_by(const struct crude_lock *lock, const struct guard_ctx *ctx,
                                       struct purchase **batch, size_t count);

/* ---- locks in Redis, at the sale's lock key ------------------------------------------------------ */

enum { CRUDE_WORDS_MAX = 7 };

/* One command, its words up to a NULL. OK: *out_reply is yours, and no error. */
lk_status crude_lock_ask(const struct guard_ctx *ctx, const char *const words[CRUDE_WORDS_MAX],
                         lk_reply **out_reply, struct lk_error *err);

/* SETNX with the instance's name as the value. */
LK_MUST_CHECK lk_status crude_lock_setnx(const struct by_hand *hand, struct lk_error *err);
/* SET NX PX with the lease of the guards. */
LK_MUST_CHECK lk_status crude_lock_set_nx_px(const struct by_hand *hand, const char *value,
                                             struct lk_error *err);
/* DEL, whoever's it is; a give() of crude_lock. */
void crude_lock_del(const struct crude_lock *lock, struct by_hand *hand);

#endif
