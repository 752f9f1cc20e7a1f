/*
 * See book_rebuild.h. Any thread; steps of several that rebuild the same find out by the id of the ledger's last entry.
 */
#include "book_rebuild.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { AT_ONCE = 32, TRIES = 50, AGAIN_MS = 20, NUMBER_SIZE = 24 };

#define SALE_NO "(SELECT no FROM seckill_book.sale WHERE id = $1)"
/* As rebuild_step.lua wants them: AT_ONCE from a place on, or from a number on. */
#define ENTRIES(from)                                                                              \
    "SELECT coalesce(jsonb_agg(jsonb_build_array(ms || '-' || seq, to_jsonb(words))"               \
    " ORDER BY ms, seq)::text, '') FROM (SELECT * FROM seckill_book." from                         \
    " ORDER BY ms, seq LIMIT 32"
static const char fields_sql[] =
    "SELECT array_to_json(fields) FROM seckill_book.sale WHERE id = $1";
static const char booked_sql[] =
    ENTRIES("entry WHERE sale = " SALE_NO " AND (ms, seq) > (split_part($2, '-', 1)::bigint,"
            " split_part($2, '-', 2)::bigint)") ") e";
static const char beside_sql[] = ENTRIES("fork WHERE sale = " SALE_NO) " OFFSET $2::bigint) e";
static const char keep_sql[] =
    "INSERT INTO seckill_book.fork SELECT " SALE_NO ", x.*"
    " FROM jsonb_to_recordset($2::jsonb) x(ms bigint, seq bigint, digest bigint, words text[])"
    " WHERE NOT EXISTS (SELECT FROM seckill_book.entry e WHERE e.sale = " SALE_NO
    " AND (e.ms, e.seq, e.digest) = (x.ms, x.seq, x.digest)) ON CONFLICT DO NOTHING";
static const char refuse_sql[] =
    "INSERT INTO seckill_book.conflict (sale, why, what) SELECT " SALE_NO ", c->>0, c->>1"
    " FROM jsonb_array_elements($2::jsonb) c"
    " ON CONFLICT (sale, why, what) DO UPDATE SET settled_at = NULL";
static const char settle_sql[] =
    "WITH gone AS (DELETE FROM seckill_book.fork WHERE sale = " SALE_NO ")"
    " UPDATE seckill_book.conflict SET settled_at = clock_timestamp()"
    " WHERE sale = " SALE_NO " AND settled_at IS NULL";
static const char conflicts_sql[] =
    "SELECT count(*) FROM seckill_book.conflict WHERE sale = " SALE_NO " AND settled_at IS NULL";

struct rebuild {
    lk_client *database;
    struct store *store;
    const char *id;
    char last[LEDGER_ID_SIZE]; /* entry of the ledger, as far as is known; 0-0: none */
    bool is_stale;             /* it ends elsewhere: look again */
    struct book_rebuilt *out;
    struct lk_error *err;
};

bool book_rebuild_is_whole(const struct book_position *position, const struct store_entries *read)
{
    struct book_place first;

    if (position->entries <= 0) return true;
    return book_words_place(lk_reply_at(read->reply, 0), &first) &&
           ledger_id_compare(first.at, position->place.at) == 0 &&
           first.digest == position->place.digest;
}

static bool ask(struct rebuild *self, const char *sql, const char *more, char **out)
{
    const char *const params[] = {self->id, more};
    const struct lk_postgres_work work = {sql, params, more ? 2 : 1};

    return book_database_ask(self->database, &work, BOOK_LIMIT_MS, out, self->err) == LK_OK;
}

static bool step(struct rebuild *self, enum store_rebuild_step which, const char *second,
                 const char *third, lk_reply **out)
{
    const struct store_rebuild step = {which, {self->last, second, third}};

    return store_rebuild(self->store, self->id, &step, out, self->err) == STORE_OK;
}

/* ---- looking --------------------------------------------------------------------------------------- */

bool book_rebuild_last(struct store *store, const char *sale_id, struct book_place *out,
                       struct lk_error *err)
{
    lk_reply *reply = NULL;

    *out = (struct book_place){.digest = 0};
    if (store_read_last(store, sale_id, &reply, err) != STORE_OK) return false;
    (void)book_words_place(lk_reply_at(reply, 0), out);
    lk_reply_free(reply);
    return true;
}

/* All entries of Redis that are not the book's go there, beside it. */
static bool keep_fork(struct rebuild *self)
{
    struct book_place place = {.digest = 0};
    bool is_kept = true;
    bool goes_on = true;

    for (size_t first = 0; is_kept && goes_on; first = 1) {
        struct store_entries read = {.most = AT_ONCE};

        if (store_read_entries(self->store, self->id, place.at, &read, self->err) != STORE_OK)
            return false;
        goes_on = lk_reply_count(read.reply) > first;
        char *entries = goes_on ? book_words_json(read.reply, first, &place) : NULL;
        is_kept = !goes_on || (entries && ask(self, keep_sql, entries, NULL));
        free(entries);
        lk_reply_free(read.reply);
    }
    return is_kept;
}

/* Whether it has to be rebuilt, and from its first entry on. What is seen of the ledger's end is seen first: if that is
   still there when all begins, so is the rest. */
static bool compare_ledgers(struct rebuild *self, bool *out_forgets)
{
    struct book_position position;
    struct book_place last;
    struct store_entries read = {.most = 1};
    char *beside = NULL;

    if (!book_rebuild_last(self->store, self->id, &last, self->err) ||
        book_database_find(self->database, self->id, &position, self->err) != LK_OK ||
        store_read_entries(self->store, self->id, position.place.at, &read, self->err) != STORE_OK)
        return false;
    bool is_whole = book_rebuild_is_whole(&position, &read);
    lk_reply_free(read.reply);
    ledger_id_format(last.at, self->last);
    if ((!is_whole && !keep_fork(self)) || !ask(self, beside_sql, "0", &beside)) return false;
    *out_forgets = !is_whole && beside[0];
    self->out->was_whole = is_whole && !read.is_rebuilt && !beside[0];
    free(beside);
    return true;
}

/* ---- steps ----------------------------------------------------------------------------------------- */

static bool begin(struct rebuild *self, bool forgets)
{
    char *fields = NULL;
    lk_reply *reply = NULL;
    bool is_begun = ask(self, fields_sql, NULL, &fields) &&
                    step(self, REBUILD_BEGIN, forgets ? "forget" : "keep", fields, &reply);

    if (is_begun) self->is_stale = lk_reply_integer(reply, 0) != 1;
    if (is_begun && forgets) ledger_id_format((struct ledger_id){0}, self->last);
    lk_reply_free(reply);
    free(fields);
    return is_begun && !self->is_stale;
}

/* What a step answers: where the ledger ends now, and what could not stand. */
static bool note_step(struct rebuild *self, const lk_reply *reply)
{
    const char *last = lk_reply_bytes(lk_reply_at(reply, 0)).data;
    const char *conflicts = lk_reply_bytes(lk_reply_at(reply, 1)).data;

    self->is_stale = !last || !conflicts;
    if (self->is_stale) return false;
    (void)snprintf(self->last, sizeof self->last, "%s", last);
    return !conflicts[0] || ask(self, refuse_sql, conflicts, NULL);
}

/* All entries of the book behind `last`, or all beside it. */
static bool add_entries(struct rebuild *self, const char *sql, const char *kind)
{
    char number[NUMBER_SIZE] = "0";

    for (long from = AT_ONCE;; from += AT_ONCE) {
        char *entries = NULL;
        lk_reply *reply = NULL;

        if (!ask(self, sql, sql == beside_sql ? number : self->last, &entries)) return false;
        bool goes_on = entries[0] != '\0';
        bool is_added =
            !goes_on || (step(self, REBUILD_STEP, kind, entries, &reply) && note_step(self, reply));
        lk_reply_free(reply);
        free(entries);
        if (!is_added || !goes_on) return is_added;
        (void)snprintf(number, sizeof number, "%ld", from);
    }
}

static bool end(struct rebuild *self)
{
    lk_reply *reply = NULL;

    if (!step(self, REBUILD_END, NULL, "", &reply)) return false;
    const char *state = lk_reply_bytes(lk_reply_at(reply, 0)).data;
    self->is_stale = !state;
    (void)snprintf(self->out->state, sizeof self->out->state, "%s", state ? state : "");
    bool is_stopped = lk_reply_integer(lk_reply_at(reply, 1), 0) == 1;
    lk_reply_free(reply);
    return !self->is_stale && (is_stopped || ask(self, settle_sql, NULL, NULL));
}

static bool try_once(struct rebuild *self)
{
    bool forgets = false;

    return compare_ledgers(self, &forgets) &&
           (self->out->was_whole ||
            (begin(self, forgets) && add_entries(self, booked_sql, "book") &&
             add_entries(self, beside_sql, "beside") && end(self)));
}

bool book_rebuild(lk_client *database, struct store *store, const char *sale_id,
                  struct book_rebuilt *out, struct lk_error *err)
{
    struct rebuild self = {
        .database = database, .store = store, .id = sale_id, .out = out, .err = err};
    char *conflicts = NULL;
    bool is_done = false;

    for (int i = 0; !is_done && i < TRIES; i++) {
        if (i > 0) clock_pause_ms(AGAIN_MS);
        self.is_stale = false;
        is_done = try_once(&self);
        if (!is_done && !self.is_stale) return false;
    }
    if (!is_done || !ask(&self, conflicts_sql, NULL, &conflicts)) return false;
    out->conflicts = strtol(conflicts, NULL, 10);
    free(conflicts);
    return true;
}
