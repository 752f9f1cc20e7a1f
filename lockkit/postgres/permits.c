/*
 * Permits: a row each, in slots 1, 2... of a name. An acquire takes any free rows and skips those that others are
 * about to take (SKIP LOCKED), so no client waits for a row, and there are never more permits than rows. When the
 * number is reduced below that of permits in use, surplus slots are negative until their permit is released.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "counters/permit_list.h"
#include "postgres.h"

enum { ROWS_MAX = 10000 };
enum { ACQUIRE, RELEASE }; /* the first steps */

/* Parameters of all: name, number, ids, owner, ms for which a release is to be notified (0: not). Each answers two
   numbers. */
#define BEGIN                                                                                      \
    "WITH asked AS (SELECT $1::text, $2::bigint, $3::text[], $4::text, $5::bigint),"               \
    " seen AS (SELECT expires > clock_timestamp() AS is_out, * FROM lockkit.lock"                  \
    " WHERE name = $1 AND slot <> 0),"                                                             \
    " sums AS (SELECT count(*) FILTER (WHERE is_out) AS acquired,"                                 \
    " count(*) FILTER (WHERE slot > 0 AND NOT is_out) - count(*) FILTER (WHERE slot < 0"           \
    " AND is_out) AS available, count(*) FILTER (WHERE is_out AND token = ANY ($3)) AS ours,"      \
    " count(*) FILTER (WHERE is_out AND awaited < clock_timestamp() + $5 * interval '0.5 ms')"     \
    " AS untold, min(expires) FILTER (WHERE is_out) AS first FROM seen)"
#define LEASE "CASE WHEN $2 < 0 THEN 'infinity' ELSE clock_timestamp() + $2 * interval '1 ms' END"
#define MS_LEFT(end)                                                                               \
    "CASE WHEN " end " = 'infinity' THEN -1 ELSE"                                                  \
    " ceil(extract(epoch FROM " end " - clock_timestamp()) * 1000)::bigint END"
#define OUT_IS " FROM lockkit.lock WHERE name = $1 AND slot <> 0 AND expires > clock_timestamp()"

static const struct {
    const char *script, *sql;
    int least; /* the least number of rows; 0: the number means something else */
} steps[] = {
    /* A failed acquire is repeated at once (-2) if there were enough, or if a holder did not see the request to
       notify. */
    {.script = "permits_acquire",
     .sql = BEGIN
     ", free AS (SELECT slot FROM lockkit.lock WHERE name = $1 AND slot > 0"
     " AND expires <= clock_timestamp() AND (SELECT ours = 0 AND available >= cardinality($3)"
     " FROM sums) ORDER BY slot LIMIT cardinality($3) FOR UPDATE SKIP LOCKED),"
     " placed AS (SELECT slot, row_number() OVER (ORDER BY slot) AS place FROM free),"
     " taken AS (UPDATE lockkit.lock l SET token = $3[place], owner = $4,"
     " taken = clock_timestamp(), expires = " LEASE " FROM placed p WHERE l.name = $1"
     " AND l.slot = p.slot AND (SELECT count(*) FROM free) = cardinality($3) RETURNING 1),"
     " holders AS (SELECT slot" OUT_IS " AND $5 > 0 AND awaited < clock_timestamp()"
     " + $5 * interval '0.5 ms' AND NOT EXISTS (SELECT FROM taken) FOR UPDATE SKIP LOCKED),"
     " told AS (UPDATE lockkit.lock l SET awaited = clock_timestamp() + $5 * interval '1 ms'"
     " FROM holders h WHERE l.name = $1 AND l.slot = h.slot RETURNING 1)"
     " SELECT (ours > 0 OR EXISTS (SELECT FROM taken))::int, CASE WHEN available >="
     " cardinality($3) OR untold > (SELECT count(*) FROM told) THEN -2 WHEN first IS NULL"
     " THEN -1 ELSE " MS_LEFT("first") " END FROM sums"},
    {.script = "permits_release",
     .sql = BEGIN
     ", gone AS (SELECT slot" OUT_IS " AND token = ANY ($3) ORDER BY slot FOR UPDATE),"
     " freed AS (UPDATE lockkit.lock l SET token = '', expires = '-infinity' FROM gone g"
     " WHERE l.name = $1 AND l.slot = g.slot AND (SELECT count(*) FROM gone) >= cardinality($3)"
     " RETURNING awaited > clock_timestamp() AS is_awaited)"
     " SELECT CASE WHEN count(*) = 0 THEN 2 ELSE (count(*) >= cardinality($3))::int END, 0,"
     " (SELECT pg_catalog.pg_notify('lockkit', count(*) || ' ' || $1) FROM freed"
     " HAVING bool_or(is_awaited)) FROM gone"},
    {.script = "permits_renew",
     .sql = BEGIN ", set AS (UPDATE lockkit.lock SET expires = " LEASE " WHERE name = $1"
                  " AND token = ANY ($3) AND expires > clock_timestamp() RETURNING 1)"
                  " SELECT least(count(*), 1), 0 FROM set"},
    {.script = "permits_lease",
     .sql = BEGIN " SELECT coalesce(min(" MS_LEFT("expires") "), 0), 0 FROM seen"
                                                             " WHERE is_out AND token = ANY ($3)"},
    {.script = "permits_usage", .sql = BEGIN " SELECT available, acquired FROM sums"},
    {.script = "permits_try_set",
     .sql = BEGIN
     ", made AS (INSERT INTO lockkit.lock (name, slot) SELECT $1, 1 WHERE NOT EXISTS"
     " (SELECT FROM seen) ON CONFLICT DO NOTHING RETURNING 1), more AS (INSERT INTO lockkit.lock"
     " (name, slot) SELECT $1, i FROM made, generate_series(2, $2) i ON CONFLICT DO NOTHING)"
     " SELECT count(*), 0, pg_catalog.pg_notify('lockkit', $2 || ' ' || $1) FROM made",
     .least = 1},
    {.script = "permits_set",
     .sql = BEGIN
     ", rows AS (SELECT slot, expires > clock_timestamp() AS is_out FROM lockkit.lock"
     " WHERE name = $1 AND slot <> 0 ORDER BY slot FOR UPDATE),"
     " placed AS (SELECT *, row_number() OVER (ORDER BY is_out DESC, slot) > $2 AS is_over FROM"
     " rows), gone AS (DELETE FROM lockkit.lock l USING placed p WHERE l.name = $1"
     " AND l.slot = p.slot AND is_over AND NOT is_out),"
     " kept AS (UPDATE lockkit.lock l SET slot = -l.slot FROM placed p WHERE l.name = $1"
     " AND l.slot = p.slot AND (is_out OR NOT is_over) AND (l.slot < 0) <> is_over),"
     " made AS (INSERT INTO lockkit.lock (name, slot) SELECT $1, i FROM generate_series(1, $2 +"
     " (SELECT count(*) FROM rows)) i WHERE i NOT IN (SELECT abs(slot) FROM rows) ORDER BY i"
     " LIMIT greatest(0, $2 - (SELECT count(*) FROM rows)) ON CONFLICT DO NOTHING)"
     " SELECT 1, 0, pg_catalog.pg_notify('lockkit', $2 || ' ' || $1)",
     .least = -1},
    {.script = "permits_delete",
     .sql = BEGIN ", gone AS (DELETE FROM lockkit.lock WHERE name = $1 AND slot <> 0 RETURNING 1)"
                  " SELECT least(count(*), 1), 0 FROM gone"},
};

/* {id,id}; yours. */
static char *write_ids(const struct lki_permit_list *list)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    if (!to) return NULL;
    for (size_t i = 0; i < list->count; i++) {
        (void)fputs(i == 0 ? "{" : ",", to);
        for (size_t j = 0; j < sizeof list->ids[i].bytes; j++)
            (void)fprintf(to, "%02x", list->ids[i].bytes[j]);
    }
    (void)fputs(list->count == 0 ? "{}" : "}", to);
    (void)fclose(to);
    return text;
}

/* After a lost answer to an acquire or release the permits are released, as soon as the server runs that, unless the
   session can be ended now. The next try uses other ids. */
lk_status postgres_permits(const struct lki_permit_list *list, const char *script,
                           long long out_answer[2], struct lk_error *err)
{
    const struct postgres *self = list->client->backend_state;
    int64_t told_ms = list->is_waited_for ? 2 * list->client->options.poll_ms : 0;
    int64_t count = list->number ? strtoll(list->number, NULL, 10) : 0;
    size_t at = 0;
    char conn[POSTGRES_NAME_MAX] = "";
    char *ids = write_ids(list);
    struct postgres_statement step = POSTGRES_STATEMENT(steps[RELEASE].sql, list->key, list->number,
                                                        ids, self->owner, POSTGRES_NUMBER(told_ms));
    const struct postgres_statement give_back = step;
    PGresult *answer = NULL;
    lk_status status = ids ? LK_OK : LKI_FAIL(err, LK_NO_MEMORY, "%s", list->key);

    while (strcmp(steps[at].script, script) != 0)
        at++;
    step.sql = steps[at].sql;
    step.out_conn = conn;
    if (at == ACQUIRE || at == RELEASE) step.undo = &give_back;
    if (steps[at].least != 0 && (count > ROWS_MAX || count < steps[at].least))
        status = LKI_FAIL(err, LK_INVALID, "%s: in PostgreSQL 1 to %d permits: each has a row",
                          list->key, ROWS_MAX);
    if (status == LK_OK) status = postgres_ask(list->client, &step, list->deadline, &answer, err);
    if (status == LK_UNKNOWN && step.undo)
        (void)postgres_undo(list->client, conn, &give_back, NULL);
    if (status == LK_UNKNOWN && !step.undo)
        (void)postgres_end_session(list->client, conn, NULL, lki_context_deadline(list->client, 0),
                                   NULL);
    for (int i = 0; i < 2 && status == LK_OK; i++)
        out_answer[i] = strtoll(PQgetvalue(answer, 0, i), NULL, 10);
    PQclear(answer);
    free(ids);
    return status;
}
