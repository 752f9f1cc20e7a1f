/*
 * FLAWED on purpose: a lock around the work, and the transaction around the lock, as a framework begins and ends it
 * for a method that locks. Whoever gets the lock next does not see yet what is not committed.
 */
#include "counted.h"

static lk_status do_locked(struct database_sale *sale, int64_t *out_taken, struct lk_error *err)
{
    int64_t number = 0;
    lk_status status =
        database_sale_ask(sale, "SELECT pg_advisory_lock(" COUNTED_KEY ")", NULL, &number, err);

    if (status == LK_OK) status = counted_take_free(sale, out_taken, err);
    if (status == LK_OK)
        status = database_sale_ask(sale, "SELECT pg_advisory_unlock(" COUNTED_KEY ")", NULL,
                                   &number, err);
    return status;
}

static lk_status take(struct database_sale *sale, int64_t *out_taken, struct lk_error *err)
{
    int64_t number = 0;
    lk_status status = counted_begin(sale, err);

    if (status == LK_OK) status = database_sale_ask(sale, "BEGIN", NULL, &number, err);
    if (status == LK_OK) status = do_locked(sale, out_taken, err);
    if (status != LK_OK) return status; /* rolled back with the session */
    guard_pause(sale->ctx);
    return database_sale_ask(sale, "COMMIT", NULL, &number, err);
}

const struct guard guard_unlock_before_commit = {
    .name = "unlock-before-commit",
    .idea = "an advisory lock in PostgreSQL around the work, COMMIT after it",
    .flaw = "it unlocks before it commits: the next one counts without what is not committed",
    .expected = VERDICT_OVERSELLS,
    .needs = NEED_POSTGRES,
    .sell = counted_sell,
    .way = &(const struct counted){take},
};
