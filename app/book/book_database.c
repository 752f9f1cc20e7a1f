/*
 * See book_database.h. The only file here that knows libpq: of its results.
 */
#include "book_database.h"

#include <inttypes.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lockkit/error.h"
#include "lockkit/script.h"

enum { LIMIT_MS = BOOK_LIMIT_MS, MIGRATE_MS = 600000, NUMBER_SIZE = 24 };

extern const struct lk_script_source book_migrations[]; /* by number, from 1 */

/* ---- schema ---------------------------------------------------------------------------------------- */

/* Around each: in its transaction, whose lock excludes other instances. $N$: its number; behind it the migration. */
static const char before[] =
    "DO $migrate$ DECLARE known int; BEGIN"
    " PERFORM pg_catalog.pg_advisory_xact_lock(8315161603271584877);"
    " CREATE SCHEMA IF NOT EXISTS seckill_book;"
    " CREATE TABLE IF NOT EXISTS seckill_book.schema"
    " (version int PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp());"
    " SELECT coalesce(max(version), 0) INTO known FROM seckill_book.schema;"
    " IF known < %d THEN EXECUTE $body$%s$body$;"
    " INSERT INTO seckill_book.schema VALUES (%d); END IF; END $migrate$";

static lk_status migrate_one(lk_client *client, int number, const char *sql, struct lk_error *err)
{
    char *text = NULL;

    if (asprintf(&text, before, number, sql, number) < 0) {
        if (err) *err = (struct lk_error){.code = LK_NO_MEMORY, .where = __func__};
        return LK_NO_MEMORY;
    }
    lk_status status =
        lk_postgres_ask(client, &(struct lk_postgres_work){.sql = text}, MIGRATE_MS, NULL, err);
    free(text);
    return status;
}

lk_status book_database_migrate(lk_client *client, struct lk_error *err)
{
    PGresult *answer = NULL;
    lk_status status = LK_OK;
    int number = 0;

    for (; status == LK_OK && book_migrations[number].name; number++)
        status = migrate_one(client, number + 1, book_migrations[number].source, err);
    if (status == LK_OK)
        status = lk_postgres_ask(
            client,
            &(struct lk_postgres_work){.sql = "SELECT max(version) FROM seckill_book.schema"},
            LIMIT_MS, &answer, err);
    if (status == LK_OK && strtol(PQgetvalue(answer, 0, 0), NULL, 10) > number) {
        status = LK_SERVER;
        if (err)
            *err = (struct lk_error){.code = status, .text = "its schema is of a newer program"};
    }
    PQclear(answer);
    return status;
}

/* ---- sales ------------------------------------------------------------------------------------------- */

static int64_t number_at(const PGresult *rows, int row, int column)
{
    return strtoll(PQgetvalue(rows, row, column), NULL, 10);
}

lk_status book_database_find(lk_client *client, const char *sale_id, struct book_position *out,
                             struct lk_error *err)
{
    PGresult *rows = NULL;
    lk_status status = lk_postgres_ask(
        client,
        BOOK_WORK("SELECT ms, seq, digest, entries FROM seckill_book.sale WHERE id = $1", sale_id),
        LIMIT_MS, &rows, err);

    if (status != LK_OK) return status;
    *out = (struct book_position){.entries = -1};
    if (PQntuples(rows) > 0) {
        out->place.at.ms = (uint64_t)number_at(rows, 0, 0);
        out->place.at.seq = (uint64_t)number_at(rows, 0, 1);
        out->place.digest = number_at(rows, 0, 2);
        out->entries = number_at(rows, 0, 3);
    }
    PQclear(rows);
    return LK_OK;
}

lk_status book_database_add(lk_client *client, const char *sale_id, const char *fields,
                            struct lk_error *err)
{
    return lk_postgres_ask(client,
                           BOOK_WORK("INSERT INTO seckill_book.sale (id, fields)"
                                     " SELECT $1, array_agg(word ORDER BY n)"
                                     " FROM jsonb_array_elements_text($2::jsonb)"
                                     " WITH ORDINALITY AS words (word, n)"
                                     " ON CONFLICT (id) DO NOTHING",
                                     sale_id, fields),
                           LIMIT_MS, NULL, err);
}

lk_status book_database_take(lk_client *client, const struct book_batch *batch,
                             struct lk_error *err)
{
    char numbers[3][NUMBER_SIZE];

    (void)snprintf(numbers[0], NUMBER_SIZE, "%" PRIu64, batch->fence);
    (void)snprintf(numbers[1], NUMBER_SIZE, "%" PRIu64, batch->from.ms);
    (void)snprintf(numbers[2], NUMBER_SIZE, "%" PRIu64, batch->from.seq);
    return lk_postgres_ask(
        client,
        BOOK_WORK("SELECT seckill_book.take($1, $2::bigint, $3::bigint, $4::bigint,"
                  " $5::jsonb)",
                  batch->sale_id, numbers[0], numbers[1], numbers[2], batch->entries),
        LIMIT_MS, NULL, err);
}

lk_status book_database_ask(lk_client *client, const struct lk_postgres_work *work,
                            int64_t limit_ms, char **out, struct lk_error *err)
{
    PGresult *rows = NULL;
    lk_status status = lk_postgres_ask(client, work, limit_ms, out ? &rows : NULL, err);

    if (status != LK_OK || !out) return status;
    *out = strdup(PQntuples(rows) > 0 ? PQgetvalue(rows, 0, 0) : "");
    PQclear(rows);
    return *out ? LK_OK : LK_NO_MEMORY;
}

char *book_database_booked(lk_client *client, const char *sale_id, const char *words,
                           int64_t limit_ms)
{
    char *found = NULL;
    lk_status status = book_database_ask(
        client, BOOK_WORK("SELECT seckill_book.booked($1, $2::text[])", sale_id, words), limit_ms,
        &found, NULL);

    return status == LK_OK ? found : NULL;
}

/* Whether a statement on a sale and a place has found a row. */
struct question {
    const char *sql, *sale_id;
    const struct book_place *place;
};

static lk_status ask_about(lk_client *client, const struct question *asked, bool *out,
                           struct lk_error *err)
{
    char numbers[3][NUMBER_SIZE];
    char *found = NULL;

    (void)snprintf(numbers[0], NUMBER_SIZE, "%" PRIu64, asked->place->at.ms);
    (void)snprintf(numbers[1], NUMBER_SIZE, "%" PRIu64, asked->place->at.seq);
    (void)snprintf(numbers[2], NUMBER_SIZE, "%" PRId64, asked->place->digest);
    lk_status status = book_database_ask(
        client, BOOK_WORK(asked->sql, asked->sale_id, numbers[0], numbers[1], numbers[2]), LIMIT_MS,
        &found, err);
    if (status == LK_OK) *out = found[0] != '\0';
    free(found);
    return status;
}

lk_status book_database_was_removed(lk_client *client, const char *sale_id,
                                    const struct book_place *first, bool *out_was,
                                    struct lk_error *err)
{
    static const char sql[] =
        "SELECT 1 FROM seckill_book.sale s JOIN seckill_book.entry e ON e.sale = s.no"
        " WHERE s.id LIKE $1 || '@%' AND (e.ms, e.seq, e.digest) ="
        " ($2::bigint, $3::bigint, $4::bigint)";

    return ask_about(client, &(struct question){sql, sale_id, first}, out_was, err);
}

lk_status book_database_remove(lk_client *client, const char *sale_id,
                               const struct book_place *last, bool *out_is_removed,
                               struct lk_error *err)
{
    static const char sql[] = "UPDATE seckill_book.sale SET id = $1 || '@' || no"
                              " WHERE split_part(id, '@', 1) = $1 AND (ms, seq, digest) ="
                              " ($2::bigint, $3::bigint, $4::bigint) RETURNING 1";

    return ask_about(client, &(struct question){sql, sale_id, last}, out_is_removed, err);
}

lk_status book_database_list(lk_client *client, struct sale_id **out_ids, size_t *out_count,
                             struct lk_error *err)
{
    PGresult *rows = NULL;
    lk_status status =
        lk_postgres_ask(client,
                        &(struct lk_postgres_work){
                            .sql = "SELECT id FROM seckill_book.sale WHERE id NOT LIKE '%@%'"},
                        LIMIT_MS, &rows, err);

    if (status != LK_OK) return status;
    size_t count = (size_t)PQntuples(rows);
    struct sale_id *ids = calloc(count + 1, sizeof *ids);
    for (size_t i = 0; ids && i < count; i++)
        (void)strncpy(ids[i].text, PQgetvalue(rows, (int)i, 0), SALE_ID_MAX);
    PQclear(rows);
    if (!ids) return LK_NO_MEMORY;
    *out_ids = ids;
    *out_count = count;
    return LK_OK;
}
