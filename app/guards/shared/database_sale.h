/*
 * A sale whose units are counted in PostgreSQL, and whose orders are recorded in Redis: what the guards share
 * that decide there. The rest of the sale, its window and state, is Redis' as ever.
 *
 * PostgreSQL decides who gets a unit, Redis' ledger says who has an order: only once it is there is a
 * buyer told so. What was decided and never recorded (a crash, a lost answer) is taken back: first its
 * attempt is declared void (store/scripts/resolve.lua), so that it can never be recorded later; then
 * the unit is put up again. That is done by whoever finds no unit left there, though Redis has some.
 *
 * Layout, made when it is missing: seckill.sale (units, and those left), seckill.orders (unique per sale and
 * buyer), seckill.unit (of skip-locked: a row per unit, some put out at a time). A sale's name there has
 * the id of its ledger's first entry in it: one that was made anew begins anew.
 */
#ifndef SECKILL_DATABASE_SALE_H
#define SECKILL_DATABASE_SALE_H

#include "lockkit/postgres.h"

#include "by_hand.h"

enum { DATABASE_NAME_MAX = SALE_ID_MAX + SALE_GUARD_MAX + 48 };

/* guard.way of those that decide in one statement. */
struct database_way {
    /* $1 sale, $2 buyers, $3 order ids, $4 process, $5 attempt: sells to the first of them as far as units go. */
    const char *take;
    const char *give;    /* $1 sale: puts up again as many units as rows are in `gone` */
    const char *put_out; /* $1 sale: readies some more units to be taken; NULL: nothing to do */
};

/* One sell. */
struct database_sale {
    const struct guard_ctx *ctx;
    struct by_hand hand; /* what Redis says, and would answer */
    int64_t deadline_ms;
    char name[DATABASE_NAME_MAX];
    int64_t units;            /* put up so far, those that cool not counted */
    struct purchase **wanted; /* owned: who is to get a unit, as far as Redis knows */
    size_t count;
    char *buyers, *ids; /* owned: of the wanted, as arrays */
    char attempt[24];
    lk_postgres_session *session; /* statements go there; NULL: to any connection */
};

/*
 * Read the sale in Redis, and list who is to get a unit; the others have their outcomes.
 *
 * Owns     *out must not move; end it with database_sale_end() in any case.
 * Returns  OK; else GUARD_UNAVAILABLE's reasons.
 */
LK_MUST_CHECK lk_status database_sale_begin(const struct guard_ctx *ctx, struct purchase **batch,
                                            size_t count, struct database_sale *out,
                                            struct lk_error *err);
void database_sale_end(struct database_sale *self);

/*
 * Ask a statement. Its number is the first field of its first row, or how many rows it has changed.
 *
 * Shape    its parameters are $1 name, $2 buyers, $3 order ids, $4 process, $5 attempt, $6 `more`: the first of
 *          them, and none left out.
 */
LK_MUST_CHECK lk_status database_sale_ask(struct database_sale *self, const char *sql,
                                          const char *more, int64_t *out_number,
                                          struct lk_error *err);

/* Make the tables if they are missing, and tell them of units that were put up since. */
LK_MUST_CHECK lk_status database_sale_prepare(struct database_sale *self, struct lk_error *err);

/* guard.sell() with a database_way. */
struct guard_result database_sale_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                       size_t count);

#endif
