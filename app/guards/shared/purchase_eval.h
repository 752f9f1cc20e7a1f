/*
 * store/scripts/purchase.lua as guards use it: arguments of a batch in, outcomes out.
 */
#ifndef SECKILL_PURCHASE_EVAL_H
#define SECKILL_PURCHASE_EVAL_H

#include "guards/base/guard.h"
#include "sale/sale_keys.h"

struct purchase_eval {
    struct sale_keys keys;
    struct lk_bytes *args; /* owned */
    char attempt[24];
    char count[12];
    char fence[24];
    char fence_key[SALE_KEY_ROOM + 32]; /* of a lock elsewhere: KEY_FENCE and the guard */
    const struct guard_ctx *ctx;        /* borrowed, as is the batch */
    struct purchase **batch;
    size_t batch_count;
    int64_t begin_ms;    /* of the sell */
    unsigned changes;    /* of the servers by then: deployment_changes() */
    struct lk_eval eval; /* ready for lk_client_eval() or lk_mutex_run() */
};

/* False when out of memory. *out must not move; it borrows ctx and batch. */
bool purchase_eval_make(const struct guard_ctx *ctx, struct purchase **batch, size_t count,
                        struct purchase_eval *out);

/*
 * Show this fencing token with it: ctx->fenced refuses it when it has seen a higher one. Once. The tokens
 * of each server of locks are counted by themselves, so they are kept apart.
 */
void purchase_eval_show_fence(struct purchase_eval *self, uint64_t token);

/*
 * Give every purchase its outcome, or say what the status means for all. When the answer was lost,
 * ask what became of the attempt (store/scripts/resolve.lua) until there is an answer or the limit of the
 * sell is over; only then it stays unknown.
 *
 * Owns     takes the reply (NULL when status is not LK_OK) and what purchase_eval_make() made.
 */
struct guard_result purchase_eval_end(struct purchase_eval *self, lk_status status, lk_reply *reply,
                                      const struct lk_error *err);

/*
 * Where replicas are waited for: a replay wrote nothing, so that its WAIT may have waited for nothing.
 * Give the replays of the batch something to wait for (store/scripts/confirm.lua). Those that are not
 * confirmed are not replayed orders any more but OUTCOME_UNSYNCED or OUTCOME_UNKNOWN.
 */
void purchase_eval_confirm(const struct purchase_eval *self);

#endif
