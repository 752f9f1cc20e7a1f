/*
 * No lock: the stock is a row of PostgreSQL, and one statement takes a unit from it and makes the order, or
 * neither. Everybody who buys meets at that row, which its transaction keeps until it is on disk: the
 * honest baseline of a sale in a database. Redis records what was decided (shared/database_sale.h).
 */
#include "guards/shared/database_sale.h"

static const struct database_way way = {
    .take =
        "WITH asked AS (SELECT * FROM unnest($2::text[], $3::text[])"
        " WITH ORDINALITY AS asked (buyer, id, n)),"
        " unit AS (UPDATE seckill.sale SET stock = stock - least(stock, cardinality($2::text[])),"
        " took = least(stock, cardinality($2::text[])) WHERE name = $1 AND stock > 0 RETURNING "
        "took)"
        " INSERT INTO seckill.orders (sale, buyer, id, process, attempt)"
        " SELECT $1, buyer, id, $4, $5::bigint FROM asked, unit WHERE n <= took",
    .give = "UPDATE seckill.sale SET stock = stock + (SELECT count(*) FROM gone) WHERE name = $1"
            " AND EXISTS (SELECT FROM gone)",
};

const struct guard guard_database = {
    .name = "database",
    .idea = "no lock: one statement in PostgreSQL takes units from one row; Redis records it",
    .expected = VERDICT_SOUND,
    .is_final = true,
    .needs = NEED_POSTGRES,
    .sell = database_sale_sell,
    .way = &way,
};
