/*
 * See database_sale.h. Any thread. The only file here that knows libpq: of its results.
 */
#include "database_sale.h"

#include <inttypes.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "back_off.h"
#include "base/clock.h"
#include "purchase_eval.h"

enum { OWN_READS = 2, PARAMS = 6, STALE_MAX = 1024, TRIES_MAX = 5 };

/* ---- statements ------------------------------------------------------------------------------------ */

static const char tables[] =
    "DO $$ BEGIN IF pg_catalog.to_regclass('seckill.unit') IS NULL THEN"
    " PERFORM pg_catalog.pg_advisory_xact_lock(8315161603271584876);"
    " CREATE SCHEMA IF NOT EXISTS seckill;"
    " CREATE TABLE IF NOT EXISTS seckill.sale (name text PRIMARY KEY, units bigint NOT NULL,"
    " stock bigint NOT NULL CHECK (stock >= 0), took bigint) WITH (fillfactor = 10);"
    " CREATE TABLE IF NOT EXISTS seckill.orders (sale text, buyer text, id text NOT NULL,"
    " process text NOT NULL, attempt bigint NOT NULL,"
    " taken timestamptz NOT NULL DEFAULT clock_timestamp(),"
    " is_recorded boolean NOT NULL DEFAULT false, PRIMARY KEY (sale, buyer));"
    " CREATE INDEX IF NOT EXISTS orders_open ON seckill.orders (sale) WHERE NOT is_recorded;"
    " CREATE TABLE IF NOT EXISTS seckill.unit (sale text NOT NULL);"
    " CREATE INDEX IF NOT EXISTS unit_of_sale ON seckill.unit (sale);"
    " END IF; END $$";

/* $2 units put up so far; as many more are in stock. When it is not known there: $3 are. */
static const char mirror[] =
    "INSERT INTO seckill.sale (name, units, stock) VALUES ($1, $2::bigint, $3::bigint)"
    " ON CONFLICT (name) DO UPDATE SET stock = sale.stock + excluded.units - sale.units,"
    " units = excluded.units WHERE sale.units < excluded.units";

/* With those that are decided and not recorded: who decided may have died, and they come back (sweep). */
static const char left_there[] =
    "SELECT stock + (SELECT count(*) FROM seckill.unit WHERE sale = $1)"
    " + (SELECT count(*) FROM seckill.orders WHERE sale = $1 AND NOT is_recorded)"
    " FROM seckill.sale WHERE name = $1";

static const char holders[] =
    "SELECT buyer FROM seckill.orders WHERE sale = $1 AND buyer = ANY ($2::text[])";

/* Long past every deadline. */
static const char stale[] =
    "SELECT process, attempt, buyer, id FROM seckill.orders WHERE sale = $1 AND NOT is_recorded"
    " AND taken < clock_timestamp() - interval '5 s' ORDER BY process, attempt LIMIT 1024";

/* $2 buyers whose orders are recorded; $3 buyers who have none: of this process and attempt. */
static const char settle_head[] =
    "WITH kept AS (UPDATE seckill.orders SET is_recorded = true WHERE sale = $1"
    " AND buyer = ANY ($2::text[]) AND process = $4 AND attempt = $5::bigint),"
    " gone AS (DELETE FROM seckill.orders WHERE sale = $1"
    " AND buyer = ANY ($3::text[]) AND process = $4 AND attempt = $5::bigint RETURNING 1) ";

/* ---- asking ---------------------------------------------------------------------------------------- */

static int64_t left_ms(const struct database_sale *self)
{
    int64_t left = self->deadline_ms - clock_mono_ms();

    return left > 0 ? left : 1;
}

static lk_status ask(struct database_sale *self, const struct lk_postgres_work *work,
                     PGresult **out, struct lk_error *err)
{
    lk_client *client = self->ctx->servers->clients[NEED_POSTGRES];

    if (self->session) return lk_postgres_session_ask(self->session, work, left_ms(self), out, err);
    return lk_postgres_ask(client, work, left_ms(self), out, err);
}

static lk_status ask_number(struct database_sale *self, const struct lk_postgres_work *work,
                            int64_t *out, struct lk_error *err)
{
    PGresult *answer = NULL;
    lk_status status = ask(self, work, &answer, err);

    if (status != LK_OK) return status;
    *out =
        strtoll(PQntuples(answer) > 0 ? PQgetvalue(answer, 0, 0) : PQcmdTuples(answer), NULL, 10);
    PQclear(answer);
    return LK_OK;
}

lk_status database_sale_ask(struct database_sale *self, const char *sql, const char *more,
                            int64_t *out_number, struct lk_error *err)
{
    const char *params[PARAMS] = {self->name,         self->buyers,  self->ids,
                                  self->ctx->process, self->attempt, more};
    struct lk_postgres_work work = {.sql = sql, .params = params};

    for (const char *at = strchr(sql, '$'); at; at = strchr(at + 1, '$'))
        if (at[1] - '0' > work.count) work.count = at[1] - '0';
    return ask_number(self, &work, out_number, err);
}

/* {"ann","bob"}: who is in an array, and what of him. Buyers and ids have nothing to be escaped. */
enum choice { ALL_BUYERS, ALL_IDS, RECORDED, GONE };

static bool is_chosen(const struct purchase *purchase, enum choice choice)
{
    outcome told = purchase->outcome;

    if (choice == RECORDED) return told == OUTCOME_CREATED;
    return choice != GONE ||
           (told != OUTCOME_CREATED && told != OUTCOME_UNKNOWN && told != OUTCOME_UNSYNCED);
}

static char *array_new(struct purchase *const *list, size_t count, enum choice choice)
{
    char *text = malloc(3 + count * (BUYER_ID_MAX + 3));
    char *end = text;

    if (!text) return NULL;
    *end++ = '{';
    for (size_t i = 0; i < count; i++) {
        if (!is_chosen(list[i], choice)) continue;
        if (end > text + 1) *end++ = ',';
        *end++ = '"';
        end = stpcpy(end, choice == ALL_IDS ? list[i]->order_id : list[i]->buyer);
        *end++ = '"';
    }
    (void)stpcpy(end, "}");
    return text;
}

/* The wanted from this one on, for statements. */
static bool list_from(struct database_sale *self, size_t from)
{
    free(self->buyers);
    free(self->ids);
    self->buyers = array_new(self->wanted + from, self->count - from, ALL_BUYERS);
    self->ids = array_new(self->wanted + from, self->count - from, ALL_IDS);
    return self->buyers && self->ids;
}

/* ---- reading Redis ----------------------------------------------------------------------------------- */

static int64_t number_of(const lk_reply *reply)
{
    const char *text = lk_reply_bytes(reply).data;

    return text ? strtoll(text, NULL, 10) : 0;
}

/* Before the rest: what is put up in between is not seen, or seen to cool. */
static lk_status read_redis(struct database_sale *self, struct lk_error *err)
{
    const struct sale_keys *keys = &self->hand.keys;
    const struct lk_bytes put_up[] = {LK_BYTES("HMGET"), keys->key[KEY_SALE], LK_BYTES("initial"),
                                      LK_BYTES("restocked")};
    const struct lk_bytes first[] = {LK_BYTES("XRANGE"), keys->key[KEY_LEDGER], LK_BYTES("-"),
                                     LK_BYTES("+"),      LK_BYTES("COUNT"),     LK_BYTES("1")};
    struct lk_command commands[OWN_READS + BY_HAND_READS] = {{put_up, 4}, {first, 6}};
    lk_reply *replies[OWN_READS + BY_HAND_READS] = {0};

    by_hand_reads(&self->hand, commands + OWN_READS);
    lk_status status = lk_client_call(self->ctx->client, commands, OWN_READS + BY_HAND_READS,
                                      left_ms(self), replies, err);
    if (status == LK_OK) status = by_hand_decide(&self->hand, replies + OWN_READS, err);
    if (status == LK_OK) {
        const char *id = lk_reply_bytes(lk_reply_at(lk_reply_at(replies[1], 0), 0)).data;

        self->units = number_of(lk_reply_at(replies[0], 0)) +
                      number_of(lk_reply_at(replies[0], 1)) - self->hand.sale.cooling;
        (void)snprintf(self->name, sizeof self->name, "%s/%s/%s", self->ctx->sale_id, id ? id : "",
                       self->ctx->guard->name);
    }
    for (size_t i = 0; i < OWN_READS + BY_HAND_READS; i++)
        lk_reply_free(replies[i]);
    return status;
}

lk_status database_sale_begin(const struct guard_ctx *ctx, struct purchase **batch, size_t count,
                              struct database_sale *out, struct lk_error *err)
{
    *out = (struct database_sale){.ctx = ctx, .deadline_ms = clock_mono_ms() + ctx->limit_ms};
    bool is_made = by_hand_make(ctx, batch, count, &out->hand);
    out->wanted = calloc(count, sizeof(struct purchase *));
    if (!is_made || !out->wanted) return LK_NO_MEMORY;
    (void)snprintf(out->attempt, sizeof out->attempt, "%" PRId64, ctx->attempt);
    lk_status status = read_redis(out, err);
    if (status != LK_OK) return status;
    by_hand_set_outcomes(&out->hand);
    for (size_t i = 0; i < count; i++)
        if (batch[i]->outcome == OUTCOME_CREATED) out->wanted[out->count++] = batch[i];
    return list_from(out, 0) ? LK_OK : LK_NO_MEMORY;
}

void database_sale_end(struct database_sale *self)
{
    lk_postgres_session_close(self->session);
    by_hand_done(&self->hand);
    free(self->wanted);
    free(self->buyers);
    free(self->ids);
}

/* ---- what is not as it was ------------------------------------------------------------------------- */

lk_status database_sale_prepare(struct database_sale *self, struct lk_error *err)
{
    char units[24], left[24];
    const char *params[] = {self->name, units, left};
    int64_t number = 0;
    const struct sale *sale = &self->hand.sale;

    (void)snprintf(units, sizeof units, "%" PRId64, self->units);
    (void)snprintf(left, sizeof left, "%" PRId64, sale->left + (int64_t)self->hand.sold);
    lk_status status = ask_number(self, &(struct lk_postgres_work){.sql = tables}, &number, err);
    if (status != LK_OK) return status;
    return ask_number(self, &(struct lk_postgres_work){mirror, params, 3}, &number, err);
}

/* What was decided for these is recorded, or taken back; if it is not done now, later (sweep). */
static void settle(struct database_sale *self, struct purchase *const *list, size_t count,
                   const char *process, const char *attempt)
{
    const struct database_way *way = self->ctx->guard->way;
    char *recorded = array_new(list, count, RECORDED);
    char *gone = array_new(list, count, GONE);
    const char *params[] = {self->name, recorded, gone, process, attempt};
    char sql[1024];
    int64_t number = 0;

    (void)snprintf(sql, sizeof sql, "%s%s", settle_head, way->give);
    if (recorded && gone)
        (void)!ask_number(self, &(struct lk_postgres_work){sql, params, 5}, &number, NULL);
    free(recorded);
    free(gone);
}

/* Those of one attempt that were never recorded: see what became of it, which makes it void. */
static void sweep_attempt(struct database_sale *self, const PGresult *rows)
{
    static struct lk_error lost = {.code = LK_UNKNOWN};
    struct guard_ctx ctx = *self->ctx;
    int count = 0;
    struct purchase *purchases = calloc(STALE_MAX, sizeof *purchases);
    struct purchase **list = calloc(STALE_MAX, sizeof(struct purchase *));
    struct purchase_eval eval;

    ctx.process = PQgetvalue(rows, 0, 0);
    ctx.attempt = strtoll(PQgetvalue(rows, 0, 1), NULL, 10);
    ctx.limit_ms = left_ms(self);
    for (; purchases && list && count < PQntuples(rows); count++) {
        if (strcmp(PQgetvalue(rows, count, 0), ctx.process) != 0 ||
            strcmp(PQgetvalue(rows, count, 1), PQgetvalue(rows, 0, 1)) != 0)
            break;
        list[count] = &purchases[count];
        purchases[count] = (struct purchase){.buyer = PQgetvalue(rows, count, 2), .key = ""};
        (void)snprintf(purchases[count].order_id, ORDER_ID_MAX, "%s", PQgetvalue(rows, count, 3));
    }
    if (count > 0 && purchase_eval_make(&ctx, list, (size_t)count, &eval) &&
        purchase_eval_end(&eval, LK_UNKNOWN, NULL, &lost).status == GUARD_DONE)
        settle(self, list, (size_t)count, ctx.process, PQgetvalue(rows, 0, 1));
    free(list);
    free(purchases);
}

static lk_status sweep(struct database_sale *self, struct lk_error *err)
{
    const char *params[] = {self->name};
    PGresult *rows = NULL;
    lk_status status = ask(self, &(struct lk_postgres_work){stale, params, 1}, &rows, err);

    if (status == LK_OK && PQntuples(rows) > 0) sweep_attempt(self, rows);
    PQclear(rows);
    return status;
}

/* Their order is decided, but not recorded yet, by whoever asked for it: they may ask again. */
static lk_status drop_holders(struct database_sale *self, size_t from, struct lk_error *err)
{
    const char *params[] = {self->name, self->buyers};
    PGresult *rows = NULL;
    size_t kept = from;
    lk_status status = ask(self, &(struct lk_postgres_work){holders, params, 2}, &rows, err);

    for (size_t i = from; status == LK_OK && i < self->count; i++) {
        int row = 0;

        while (row < PQntuples(rows) &&
               strcmp(PQgetvalue(rows, row, 0), self->wanted[i]->buyer) != 0)
            row++;
        if (row < PQntuples(rows)) {
            self->wanted[i]->outcome = OUTCOME_LOCK_TIMEOUT;
        } else {
            self->wanted[kept++] = self->wanted[i];
        }
    }
    if (status == LK_OK) self->count = kept;
    PQclear(rows);
    return status == LK_OK && !list_from(self, from) ? LK_NO_MEMORY : status;
}

/* ---- selling --------------------------------------------------------------------------------------- */

static lk_status mend(struct database_sale *self, size_t taken, struct lk_error *err)
{
    const struct database_way *way = self->ctx->guard->way;
    int64_t number = 0;
    lk_status status = database_sale_prepare(self, err);

    if (status == LK_OK && !list_from(self, taken)) status = LK_NO_MEMORY;
    if (status == LK_OK) status = sweep(self, err);
    if (status == LK_OK) status = drop_holders(self, taken, err);
    if (status == LK_OK && way->put_out)
        status = database_sale_ask(self, way->put_out, NULL, &number, err);
    return status;
}

/* Units for the first *out_taken of the wanted. Fewer than all: once more, when all is as it must be. */
static lk_status take(struct database_sale *self, size_t *out_taken, struct lk_error *err)
{
    const struct database_way *way = self->ctx->guard->way;
    int64_t number = 0;
    lk_status status = database_sale_ask(self, way->take, NULL, &number, err);

    if (status != LK_OK && status != LK_SERVER) return status; /* SERVER: no table, or two orders */
    *out_taken = (size_t)number;
    if (*out_taken == self->count) return LK_OK;
    status = mend(self, *out_taken, err);
    number = 0;
    if (status == LK_OK && *out_taken < self->count)
        status = database_sale_ask(self, way->take, NULL, &number, err);
    *out_taken += (size_t)number;
    return status;
}

static guard_status status_of(lk_status status)
{
    bool is_busy = status == LK_BUSY || status == LK_EXHAUSTED || status == LK_DEADLOCK;

    /* Also when the answer is lost: what was decided is never recorded, so it is taken back. */
    return is_busy ? GUARD_BUSY : GUARD_UNAVAILABLE;
}

/* Also those beyond what Redis has: units there may be decided for buyers who ask once more. */
static lk_status want_all(struct database_sale *self)
{
    const struct by_hand *hand = &self->hand;
    bool is_any_left = hand->sale.left + (int64_t)hand->sold > 0;

    for (size_t i = 0; i < hand->count && is_any_left; i++) {
        struct purchase *purchase = hand->batch[i];
        size_t k = 0;

        if (purchase->outcome != OUTCOME_SOLD_OUT) continue;
        while (k < self->count && strcmp(self->wanted[k]->buyer, purchase->buyer) != 0)
            k++;
        purchase->outcome = OUTCOME_LOCK_TIMEOUT; /* of a double click */
        if (k == self->count) self->wanted[self->count++] = purchase;
    }
    return list_from(self, 0) ? LK_OK : LK_NO_MEMORY;
}

/* Those who got no unit. */
static void refuse(struct database_sale *self, size_t taken, lk_status status)
{
    int64_t left = 0;
    outcome told =
        status_of(status) == GUARD_BUSY ? OUTCOME_LOCK_TIMEOUT : OUTCOME_STORE_UNAVAILABLE;

    if (taken == self->count) return;
    if (status == LK_OK) status = database_sale_ask(self, left_there, NULL, &left, NULL);
    /* Now that none is: whoever got one is seen. */
    if (status == LK_OK && left == 0) status = drop_holders(self, taken, NULL);
    /* Left there, but others are at it, or it was taken back just now. */
    if (status == LK_OK) told = left > 0 ? OUTCOME_LOCK_TIMEOUT : OUTCOME_SOLD_OUT;
    for (size_t i = taken; i < self->count; i++)
        self->wanted[i]->outcome = told;
}

/* The orders that were decided, in Redis' ledger. */
static struct guard_result record(struct database_sale *self, size_t taken)
{
    const struct guard_ctx *ctx = self->ctx;
    struct purchase_eval purchase;
    struct lk_error err = {0};
    lk_reply *reply = NULL;
    lk_status status = LK_NO_MEMORY;

    guard_pause(ctx);
    if (purchase_eval_make(ctx, self->wanted, taken, &purchase))
        status = lk_client_eval(ctx->client, &purchase.eval, left_ms(self), &reply, &err);
    struct guard_result result = purchase_eval_end(&purchase, status, reply, &err);
    if (result.status != GUARD_DONE) {
        bool is_certain = result.status == GUARD_BUSY || result.status == GUARD_UNAVAILABLE;

        for (size_t i = 0; i < taken; i++)
            self->wanted[i]->outcome = is_certain ? OUTCOME_STORE_UNAVAILABLE : OUTCOME_UNKNOWN;
        if (result.status == GUARD_UNSYNCED)
            for (size_t i = 0; i < taken; i++)
                self->wanted[i]->outcome = OUTCOME_UNSYNCED;
        result.status = GUARD_DONE; /* each has its outcome */
    }
    settle(self, self->wanted, taken, ctx->process, self->attempt);
    return result;
}

/* Double clicks in one batch were answered as if the first of them had got its order: has it? */
static void check_doubles(const struct by_hand *hand)
{
    for (size_t i = 0; i < hand->count; i++) {
        outcome answer = hand->answers[i].outcome;

        if (answer != OUTCOME_REPLAYED && answer != OUTCOME_ALREADY_ORDERED) continue;
        for (size_t k = 0; k < i; k++) {
            if (hand->answers[k].outcome == OUTCOME_CREATED &&
                strcmp(hand->batch[k]->buyer, hand->batch[i]->buyer) == 0 &&
                hand->batch[k]->outcome != OUTCOME_CREATED)
                hand->batch[i]->outcome = OUTCOME_LOCK_TIMEOUT;
        }
    }
}

static struct guard_result sell_once(const struct guard_ctx *ctx, struct purchase **batch,
                                     size_t count)
{
    struct database_sale self;
    struct guard_result result = {.status = GUARD_DONE};
    size_t taken = 0;
    lk_status status = database_sale_begin(ctx, batch, count, &self, &result.error);

    if (status != LK_OK) {
        result.status = GUARD_UNAVAILABLE;
    } else {
        const struct sale *sale = &self.hand.sale;

        result.is_sold_out = sale->stored_state[0] && sale->left + sale->cooling == 0;
        status = want_all(&self);
        if (status == LK_OK && self.count > 0) status = take(&self, &taken, &result.error);
        refuse(&self, taken, status);
        if (taken > 0) result = record(&self, taken);
        check_doubles(&self.hand);
    }
    database_sale_end(&self);
    return result;
}

/* Whoever met others at it asks a few times more: mostly they are done by then. */
struct guard_result database_sale_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                       size_t count)
{
    int64_t deadline_ms = clock_mono_ms() + ctx->wait_ms;
    struct guard_ctx again = *ctx;
    struct purchase **list = calloc(count, sizeof(struct purchase *));
    struct guard_result result = sell_once(ctx, batch, count);
    bool is_done = result.status == GUARD_DONE && list;

    for (unsigned tries = 0; tries < TRIES_MAX && is_done && clock_mono_ms() < deadline_ms;
         tries++) {
        size_t left = 0;

        for (size_t i = 0; i < count; i++)
            if (batch[i]->outcome == OUTCOME_LOCK_TIMEOUT) list[left++] = batch[i];
        if (left == 0) break;
        back_off(tries, deadline_ms);
        again.limit_ms = again.wait_ms = deadline_ms - clock_mono_ms();
        is_done = sell_once(&again, list, left).status == GUARD_DONE;
    }
    free(list);
    return result;
}
