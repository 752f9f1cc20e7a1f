/*
 * No lock that anybody waits for: each unit is a row of PostgreSQL, and a buyer takes any that nobody else is
 * at (SKIP LOCKED). Units are put out some at a time, from the same row that guard "database" sells of.
 */
#include "guards/shared/database_sale.h"

static const struct database_way way = {
    .take =
        "WITH asked AS (SELECT * FROM unnest($2::text[], $3::text[])"
        " WITH ORDINALITY AS asked (buyer, id, n)),"
        " unit AS (DELETE FROM seckill.unit WHERE ctid = ANY (ARRAY(SELECT ctid FROM seckill.unit"
        " WHERE sale = $1 LIMIT cardinality($2::text[]) FOR UPDATE SKIP LOCKED)) RETURNING 1)"
        " INSERT INTO seckill.orders (sale, buyer, id, process, attempt)"
        " SELECT $1, buyer, id, $4, $5::bigint FROM asked"
        " WHERE n <= (SELECT count(*) FROM unit)",
    .give = "INSERT INTO seckill.unit SELECT $1 FROM gone",
    .put_out = "WITH more AS (UPDATE seckill.sale SET stock = stock - least(stock, 10000),"
               " took = least(stock, 10000) WHERE name = $1 AND stock > 0 RETURNING took)"
               " INSERT INTO seckill.unit SELECT $1 FROM more, generate_series(1, took)",
};

const struct guard guard_skip_locked = {
    .name = "skip-locked",
    .idea = "no lock: a row per unit in PostgreSQL, taken with SKIP LOCKED; Redis records it",
    .expected = VERDICT_SOUND,
    .is_final = true,
    .needs = NEED_POSTGRES,
    .sell = database_sale_sell,
    .way = &way,
};
