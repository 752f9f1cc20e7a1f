/*
 * Only for the lab: it counts in PostgreSQL, as flawed guards do, with a lock that lasts as long as the transaction.
 * Any thread.
 */
#include "guards/flawed/counted.h"
#include "scenarios.h"

/* Who did not get the lock ends the transaction, too: it has done nothing. */
static lk_status take_until_commit(struct database_sale *sale, int64_t *out_taken,
                                   struct lk_error *err)
{
    int64_t number = 0;
    int64_t is_ours = 0;
    lk_status status = counted_begin(sale, err);

    if (status == LK_OK) status = database_sale_ask(sale, "BEGIN", NULL, &number, err);
    if (status == LK_OK)
        status = database_sale_ask(sale, "SELECT pg_try_advisory_xact_lock(" COUNTED_KEY ")::int",
                                   NULL, &is_ours, err);
    if (status == LK_OK && is_ours) status = counted_take_free(sale, out_taken, err);
    if (status == LK_OK) status = database_sale_ask(sale, "COMMIT", NULL, &number, err);
    return status == LK_OK && !is_ours ? LK_BUSY : status;
}

const struct guard scenario_guard_lock_until_commit = {
    .name = "lock-until-commit",
    .idea = "an advisory lock of the transaction that counts: its end is the lock's end",
    .expected = VERDICT_SOUND,
    .needs = NEED_POSTGRES,
    .sell = counted_sell,
    .way = &(const struct counted){take_until_commit},
};
