/*
 * The lock is in PostgreSQL (--postgres), the stock in Redis: two systems, so that no step can check the
 * owner and sell. What protects the stock from a holder that has overslept is the number that lockkit's
 * lease row counts up with each grant: the sale's keys refuse one lower than they have seen, as they do
 * for guard "fenced". Those numbers are compared with their like alone: they have a key of their own.
 */
#include "guards/shared/held_lock.h"

const struct guard guard_postgres = {
    .name = "postgres",
    .idea = "a fenced lock in PostgreSQL; the write in Redis refuses a lower number",
    .expected = VERDICT_SOUND,
    .needs = NEED_POSTGRES,
    .sell = held_lock_sell,
    .way = &(const struct held_lock){.make = lk_fenced_new, .eval = held_lock_eval_fenced},
};
