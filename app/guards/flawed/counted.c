/*
 * See counted.h. Any thread.
 */
#include "counted.h"

#include <inttypes.h>
#include <stdio.h>

/* Of those that by_hand would sell to, the others get none. */
static void keep_first(struct database_sale *sale, int64_t taken)
{
    struct by_hand *hand = &sale->hand;

    for (size_t i = 0; i < hand->count; i++) {
        if (hand->answers[i].outcome != OUTCOME_CREATED || taken-- > 0) continue;
        hand->answers[i].outcome = OUTCOME_SOLD_OUT;
        hand->sold--;
        hand->sale.left++;
    }
}

lk_status counted_begin(struct database_sale *sale, struct lk_error *err)
{
    sale->session = lk_postgres_session_open(sale->ctx->servers->clients[NEED_POSTGRES],
                                             sale->ctx->limit_ms, err);
    return sale->session ? LK_OK : LK_UNREACHABLE;
}

lk_status counted_take_free(struct database_sale *sale, int64_t *out_taken, struct lk_error *err)
{
    char free_units[24];
    int64_t number = 0;
    lk_status status =
        database_sale_ask(sale,
                          "SELECT units - (SELECT count(*) FROM seckill.orders WHERE sale = $1)"
                          " FROM seckill.sale WHERE name = $1",
                          NULL, &number, err);

    if (status != LK_OK) return status;
    (void)snprintf(free_units, sizeof free_units, "%" PRId64, number);
    return database_sale_ask(sale,
                             "INSERT INTO seckill.orders (sale, buyer, id, process, attempt)"
                             " SELECT $1, buyer, id, $4, $5::bigint"
                             " FROM unnest($2::text[], $3::text[])"
                             " WITH ORDINALITY AS asked (buyer, id, n) WHERE n <= $6::bigint",
                             free_units, out_taken, err);
}

struct guard_result counted_sell(const struct guard_ctx *ctx, struct purchase **batch, size_t count)
{
    const struct counted *way = ctx->guard->way;
    struct guard_result result = {.status = GUARD_UNAVAILABLE};
    struct database_sale sale;
    int64_t taken = 0;
    lk_status status = database_sale_begin(ctx, batch, count, &sale, &result.error);

    if (status == LK_OK && sale.count > 0) status = database_sale_prepare(&sale, &result.error);
    if (status == LK_OK && sale.count > 0) status = way->take(&sale, &taken, &result.error);
    if (status == LK_BUSY) result.status = GUARD_BUSY;
    if (status == LK_OK) {
        keep_first(&sale, taken);
        status = by_hand_write(&sale.hand, &result.error);
        if (status != LK_OK && status != LK_UNREACHABLE) result.status = GUARD_UNKNOWN;
    }
    if (status == LK_OK) {
        by_hand_set_outcomes(&sale.hand);
        result.status = GUARD_DONE;
    }
    database_sale_end(&sale);
    return result;
}
