/*
 * What the flawed guards share that count in PostgreSQL, and write in Redis what they have counted, unchecked.
 */
#ifndef SECKILL_GUARDS_COUNTED_H
#define SECKILL_GUARDS_COUNTED_H

#include "guards/shared/database_sale.h"

/* guard.way of these: how many of the wanted get a unit. */
struct counted {
    lk_status (*take)(struct database_sale *sale, int64_t *out_taken, struct lk_error *err);
};

/* The key of an advisory lock of the sale, for a statement's parentheses. */
#define COUNTED_KEY "('x' || substr(md5($1), 1, 16))::bit(64)::bigint"

/* Open the sale's session: statements go there. */
LK_MUST_CHECK lk_status counted_begin(struct database_sale *sale, struct lk_error *err);

/* Count what is free, and take of it, in two statements. */
LK_MUST_CHECK lk_status counted_take_free(struct database_sale *sale, int64_t *out_taken,
                                          struct lk_error *err);

struct guard_result counted_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                 size_t count);

#endif
