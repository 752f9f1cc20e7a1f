/*
 * FLAWED on purpose: read the stock, count in the program, write the result. Each statement is a transaction of
 * its own, and so it would be in one at READ COMMITTED: the second reader has seen what the first is about to
 * change, and writes over it.
 */
#include <inttypes.h>
#include <stdio.h>

#include "counted.h"

static lk_status take(struct database_sale *sale, int64_t *out_taken, struct lk_error *err)
{
    char seen[24];
    int64_t stock = 0;
    lk_status status = database_sale_ask(sale, "SELECT stock FROM seckill.sale WHERE name = $1",
                                         NULL, &stock, err);

    if (status != LK_OK) return status;
    guard_pause(sale->ctx);
    (void)snprintf(seen, sizeof seen, "%" PRId64, stock);
    return database_sale_ask(
        sale,
        "WITH stock AS (UPDATE seckill.sale SET stock = $6::bigint"
        " - least($6::bigint, cardinality($2::text[])) WHERE name = $1)"
        " INSERT INTO seckill.orders (sale, buyer, id, process, attempt)"
        " SELECT $1, buyer, id, $4, $5::bigint FROM unnest($2::text[], $3::text[])"
        " WITH ORDINALITY AS asked (buyer, id, n) WHERE n <= $6::bigint",
        seen, out_taken, err);
}

const struct guard guard_select_then_update = {
    .name = "select-then-update",
    .idea = "SELECT the stock in PostgreSQL, UPDATE it to what the program has counted",
    .flaw = "two readers see the same stock, and both write theirs less one (lost update)",
    .expected = VERDICT_OVERSELLS,
    .needs = NEED_POSTGRES,
    .sell = counted_sell,
    .way = &(const struct counted){take},
};
