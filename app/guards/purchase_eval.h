/*
 * scripts/purchase.lua as guards use it: arguments of a batch in, outcomes out.
 */
#ifndef SECKILL_PURCHASE_EVAL_H
#define SECKILL_PURCHASE_EVAL_H

#include "guard.h"
#include "sale_keys.h"

struct purchase_eval {
    struct sale_keys keys;
    struct lk_bytes *args; /* owned */
    char count[12];
    struct lk_eval eval; /* ready for lk_client_eval() or lk_mutex_run() */
};

/* False when out of memory. *out must not move; it borrows ctx and batch. */
bool purchase_eval_make(const struct guard_ctx *ctx, struct purchase *const *batch, size_t count,
                        struct purchase_eval *out);
void purchase_eval_done(struct purchase_eval *self);

/*
 * Give every purchase its outcome, or say what the status means for all. Takes the reply (may be
 * NULL when status is not LK_OK).
 */
struct guard_result purchase_eval_read(lk_status status, lk_reply *reply,
                                       const struct lk_error *err, struct purchase **batch,
                                       size_t count);

#endif
