/*
 * See book_audit.h. Statements give what is wrong first, or nothing.
 */
#include "book_audit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "book_rebuild.h"
#include "store/store_ledger.h"

enum {
    AT_ONCE = 32,
    ROWS = 200,
    ROWS_ROOM = 80000,
    LEVEL_MS = 15000,
    LONG_MS = 600000,
    LOOK_MS = 20,
    NUMBER_SIZE = 24
};

#define SALE_NO     "(SELECT no FROM seckill_book.sale WHERE id = $1)"
#define PLACE(text) "(split_part(" text ", '-', 1)::bigint, split_part(" text ", '-', 2)::bigint)"
/* Orders as the entries name them; OFFSET 0: an event is taken out of its entry once, not for each. */
#define NAMED                                                                                      \
    " FROM (SELECT ms, seq, words, words[2] AS event FROM seckill_book.entry WHERE sale "          \
    "= " SALE_NO " OFFSET 0) AS e, LATERAL (SELECT word, n, lag(word) OVER () AS name"             \
    " FROM unnest(words) WITH ORDINALITY AS w (word, n)) AS u WHERE n % 2 = 0 AND name = 'order'"

static const char entries_sql[] =
    "WITH x AS (SELECT * FROM jsonb_to_recordset($2::jsonb)"
    " AS x (ms bigint, seq bigint, digest bigint, words text[])),"
    " e AS (SELECT * FROM seckill_book.entry WHERE sale = " SALE_NO " AND (ms, seq) > " PLACE(
        "$3") " AND (ms, seq) <= (SELECT ms, seq FROM x ORDER BY ms DESC, seq DESC LIMIT 1))"
              " SELECT ms || '-' || seq FROM x FULL JOIN e USING (ms, seq)"
              " WHERE (x.digest, x.words) IS DISTINCT FROM (e.digest, e.words) ORDER BY ms, seq "
              "LIMIT 1";
static const char kept_sql[] =
    "SELECT x.id || ':' || x.buyer FROM jsonb_to_recordset($2::jsonb)"
    " AS x (id bigint, buyer text, key text, state text)"
    " LEFT JOIN seckill_book.orders o ON o.sale = " SALE_NO " AND o.id = x.id"
    " WHERE (o.buyer, o.key) IS DISTINCT FROM (x.buyer, x.key)"
    " OR x.state NOT IN ('held', o.state) LIMIT 1";
static const char count_sql[] =
    "SELECT 'Redis has ' || $2 || ', the book ' || count(*)" NAMED
    " AND event = 'sold' AND (ms, seq) <= " PLACE("$3") " HAVING count(*) <> $2::bigint";

static const struct {
    const char *check, *sql;
} of_book[] = {
    {"position",
     "SELECT 'at ' || s.ms || '-' || s.seq FROM seckill_book.sale s"
     " LEFT JOIN LATERAL (SELECT ms, seq, digest FROM seckill_book.entry WHERE sale = s.no"
     " ORDER BY ms DESC, seq DESC LIMIT 1) l ON true WHERE s.id = $1"
     " AND (s.ms, s.seq, s.digest, s.entries) IS DISTINCT FROM (l.ms, l.seq, l.digest,"
     " (SELECT count(*) FROM seckill_book.entry WHERE sale = s.no))"},
    {"book-follows",
     "WITH w AS (SELECT split_part(word, ':', 1)::bigint AS id, min(split_part(word, ':', 2)) AS "
     "buyer,"
     " min(split_part(word, ':', 3)) FILTER (WHERE event = 'sold') AS key,"
     " min(event) FILTER (WHERE event <> 'sold') AS state" NAMED
     " AND event IN ('sold', 'paid', 'cancelled', 'expired')"
     " GROUP BY 1), o AS (SELECT * FROM seckill_book.orders WHERE sale = " SALE_NO ")"
     " SELECT id || ':' || coalesce(o.buyer, w.buyer) FROM w FULL JOIN o USING (id)"
     " WHERE (w.buyer, w.key, w.state) IS DISTINCT FROM (o.buyer, o.key,"
     " CASE WHEN o.state NOT IN ('sold', 'held') THEN o.state END) ORDER BY id LIMIT 1"},
    {"unique", "SELECT 'an index is missing or invalid' WHERE (SELECT count(*)"
               " FROM pg_catalog.pg_constraint JOIN pg_catalog.pg_index ON indexrelid = conindid"
               " WHERE conrelid = to_regclass('seckill_book.orders_' || " SALE_NO ")"
               " AND contype IN ('p', 'u')"
               " AND indisvalid AND indisunique) < 2"},
    {"conflicts", "SELECT why || ' ' || what FROM seckill_book.conflict WHERE sale = " SALE_NO
                  " AND settled_at IS NULL LIMIT 1"},
};

struct auditing {
    const struct book_audit *audit;
    struct lk_error *err;
    char *found; /* owned; of this check */
    bool is_looked_at;
    struct text rows; /* orders of Redis, to be looked for */
    unsigned count;
};

/* Looks only as long as nothing was found; all that was asked must be answered. */
static void judge(struct auditing *self, const char *sql, const char *second, const char *third)
{
    const char *const params[] = {self->audit->sale_id, second, third};
    const struct lk_postgres_work work = {sql, params, !second ? 1 : !third ? 2 : 3};
    char *found = NULL;

    if (self->found || !self->is_looked_at) return;
    self->is_looked_at =
        book_database_ask(self->audit->database, &work, LONG_MS, &found, self->err) == LK_OK;
    if (found && found[0]) self->found = strdup(found);
    free(found);
}

static void end_check(struct auditing *self, const char *check)
{
    if (self->is_looked_at) self->audit->say(check, self->found, self->audit->arg);
    free(self->found);
    self->found = NULL;
}

/* What Redis' ledger says by now is in the book. */
static void get_level(struct auditing *self)
{
    const struct book_audit *audit = self->audit;
    int64_t until_ms = clock_mono_ms() + LEVEL_MS;
    struct book_position position = {.entries = 0};
    struct book_place end;
    bool is_level = self->found != NULL;

    self->is_looked_at &= book_rebuild_last(audit->store, audit->sale_id, &end, self->err);
    while (self->is_looked_at && !is_level && clock_mono_ms() < until_ms) {
        self->is_looked_at =
            book_database_find(audit->database, audit->sale_id, &position, self->err) == LK_OK;
        is_level = ledger_id_compare(position.place.at, end.at) >= 0;
        if (!is_level) clock_pause_ms(LOOK_MS);
    }
    if (!is_level && !self->found) self->found = strdup("the book is behind");
}

static void audit_ledger(struct auditing *self)
{
    const struct book_audit *audit = self->audit;
    struct book_place place = {.digest = 0};
    struct book_position before = {.entries = 0};
    bool goes_on = true;

    self->is_looked_at =
        book_database_find(audit->database, audit->sale_id, &before, self->err) == LK_OK;
    get_level(self);
    for (size_t first = 0; goes_on && self->is_looked_at && !self->found; first = 1) {
        struct store_entries read = {.most = AT_ONCE};
        char from[LEDGER_ID_SIZE];

        ledger_id_format(place.at, from);
        self->is_looked_at = store_read_entries(audit->store, audit->sale_id, place.at, &read,
                                                self->err) == STORE_OK;
        goes_on = lk_reply_count(read.reply) > first;
        char *entries = goes_on ? book_words_json(read.reply, first, &place) : NULL;
        self->is_looked_at &= !goes_on || entries;
        if (goes_on) get_level(self);
        if (goes_on) judge(self, entries_sql, entries, from);
        free(entries);
        lk_reply_free(read.reply);
    }
    if (!self->found && ledger_id_compare(place.at, before.place.at) < 0)
        self->found = strdup("Redis has forgotten what is in the book");
    end_check(self, "ledger");
}

static void find_missing_rows(struct auditing *self)
{
    TEXT_ADD(&self->rows, "]");
    text_add(&self->rows, "", 1);
    get_level(self);
    if (self->count > 0) judge(self, kept_sql, self->rows.data, NULL);
    self->rows.len = self->count = 0;
}

static bool add_row(const struct order *order, void *arg)
{
    struct auditing *self = arg;

    text_add_string(&self->rows, self->count++ > 0 ? ",{" : "[{");
    text_add_member(&self->rows, "id", order->id);
    text_add_member(&self->rows, "buyer", order->buyer);
    text_add_member(&self->rows, "key", order->key);
    text_add_member(&self->rows, "state", order->state);
    TEXT_ADD(&self->rows, "}");
    if (self->count == ROWS) find_missing_rows(self);
    return self->is_looked_at && !self->found;
}

static void audit_orders(struct auditing *self)
{
    const struct book_audit *audit = self->audit;
    struct sale_moment moment = {.orders = 0};
    char orders[NUMBER_SIZE];
    char last[LEDGER_ID_SIZE];

    self->rows = (struct text){.data = malloc(ROWS_ROOM), .size = ROWS_ROOM};
    store_status status =
        self->rows.data && self->is_looked_at
            ? store_scan_orders(audit->store, audit->sale_id, add_row, self, self->err)
            : STORE_FAILED;
    if (status == STORE_OK) {
        find_missing_rows(self);
        status = store_load_moment(audit->store, audit->sale_id, &moment, self->err);
    }
    free(self->rows.data);
    if (status == STORE_NOT_FOUND && !self->found) self->found = strdup("Redis has no such sale");
    self->is_looked_at &= status == STORE_OK || status == STORE_NOT_FOUND;
    (void)snprintf(orders, sizeof orders, "%" PRId64,
                   moment.orders + moment.sale.payment.cancelled + moment.sale.payment.expired);
    ledger_id_format(moment.last, last);
    get_level(self);
    judge(self, count_sql, orders, last);
    end_check(self, "orders");
}

bool book_audit(const struct book_audit *audit, struct lk_error *err)
{
    struct auditing self = {.audit = audit, .err = err, .is_looked_at = true};

    audit_ledger(&self);
    for (size_t i = 0; i < sizeof of_book / sizeof of_book[0]; i++) {
        judge(&self, of_book[i].sql, NULL, NULL);
        end_check(&self, of_book[i].check);
    }
    audit_orders(&self);
    return self.is_looked_at;
}
