/*
 * FLAWED on purpose, and only for the lab: a lease in a row of PostgreSQL, which a transaction looks at by its own time,
 * or by the clock's. Any thread.
 */
#include "guards/flawed/counted.h"
#include "scenarios.h"

/* guard.way of these. */
struct leased {
    struct counted base;
    const char *look; /* whether it is ours still */
};

#define LOOK(time)                                                                                 \
    "SELECT count(*) FROM seckill.lease WHERE name = $1"                                           \
    " AND owner = current_setting('application_name') AND until > " time

/* Its lease is given by the clock; then a long transaction looks at it. It ends by itself. */
static lk_status take_leased(struct database_sale *sale, int64_t *out_taken, struct lk_error *err)
{
    const struct leased *way = sale->ctx->guard->way;
    int64_t number = 0;
    int64_t is_ours = 0;
    lk_status status = counted_begin(sale, err);

    if (status == LK_OK)
        status =
            database_sale_ask(sale,
                              "INSERT INTO seckill.lease AS held (name, until)"
                              " VALUES ($1, clock_timestamp() + interval '30 s') ON CONFLICT (name)"
                              " DO UPDATE SET until = excluded.until, owner = excluded.owner"
                              " WHERE held.until <= clock_timestamp()",
                              NULL, &is_ours, err);
    if (status == LK_OK && !is_ours) status = LK_BUSY;
    if (status == LK_OK) status = database_sale_ask(sale, "BEGIN", NULL, &number, err);
    if (status == LK_OK) status = database_sale_ask(sale, way->look, NULL, &is_ours, err);
    *out_taken = is_ours ? (int64_t)sale->count : 0;
    if (status == LK_OK) status = database_sale_ask(sale, "COMMIT", NULL, &number, err);
    return status == LK_OK && !is_ours ? LK_BUSY : status;
}

const struct guard scenario_guard_lease_by_now = {
    .name = "lease-by-now",
    .idea = "a lease in a row of PostgreSQL; a transaction looks whether it lasts: until > now()",
    .flaw = "now() is when the transaction began: a lease that has run out since looks alive",
    .expected = VERDICT_OVERSELLS,
    .needs = NEED_POSTGRES,
    .sell = counted_sell,
    .way = &(const struct leased){{take_leased}, LOOK("now()")},
};

const struct guard scenario_guard_lease_by_clock = {
    .name = "lease-by-clock",
    .idea = "the same, and it looks by clock_timestamp(), which goes on",
    .flaw = "between the look and the write there is time, as with every lease: see fencing",
    .expected = VERDICT_OVERSELLS,
    .needs = NEED_POSTGRES,
    .sell = counted_sell,
    .way = &(const struct leased){{take_leased}, LOOK("clock_timestamp()")},
};
