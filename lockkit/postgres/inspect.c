/*
 * Inspect a name in the table. It does not show which of the four kinds a lock is: all have a fence.
 */
#include "lockkit/inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "postgres.h"

enum { NAME, TOKEN, LEFT_MS, SLOT, FENCE, HOLDERS, AVAILABLE };

/* Held rows first, and the lock before permits. */
static const char look[] =
    "SELECT name, token, CASE WHEN expires <= now() THEN 0 WHEN expires = 'infinity' THEN -1 ELSE"
    " ceil(extract(epoch FROM expires - now()) * 1000)::bigint END, slot, fence, count(*) FILTER"
    " (WHERE expires > now()) OVER (), count(*) FILTER (WHERE slot > 0 AND expires <= now())"
    " OVER () - count(*) FILTER (WHERE slot < 0 AND expires > now()) OVER () FROM lockkit.lock"
    " WHERE (expires > now() OR slot > 0) AND name = CASE WHEN $2::boolean THEN (SELECT min(name)"
    " FROM lockkit.lock WHERE name > $1 AND expires > now()) ELSE $1 END"
    " ORDER BY slot <> 0, expires <= now(), slot LIMIT 64";

static long long number_at(const PGresult *answer, int row, int column)
{
    return strtoll(PQgetvalue(answer, row, column), NULL, 10);
}

static void read_rows(const PGresult *answer, struct lk_inspection *out)
{
    bool is_lock = number_at(answer, 0, SLOT) == 0;

    (void)snprintf(out->key, sizeof out->key, "%s", PQgetvalue(answer, 0, NAME));
    out->holder_count = is_lock ? 1 : (size_t)number_at(answer, 0, HOLDERS);
    out->layout = is_lock                 ? LK_LAYOUT_FENCED
                  : out->holder_count > 0 ? LK_LAYOUT_PERMITS
                                          : LK_LAYOUT_NUMBER;
    if (is_lock) out->fence = strtoull(PQgetvalue(answer, 0, FENCE), NULL, 10);
    if (!is_lock) out->number = number_at(answer, 0, AVAILABLE);
    for (int i = 0; i < PQntuples(answer) && (size_t)i < out->holder_count; i++) {
        struct lk_holder *holder = &out->holders[i];

        (void)snprintf(holder->owner, sizeof holder->owner, "%s", PQgetvalue(answer, i, TOKEN));
        holder->holds = 1;
        holder->left_ms = number_at(answer, i, LEFT_MS);
    }
    out->left_ms = is_lock ? out->holders[0].left_ms : LK_INSPECT_FOREVER;
}

lk_status postgres_inspect(lk_client *client, const char *key, bool is_next,
                           struct lk_inspection *out, struct lk_error *err)
{
    const struct postgres_statement ask = POSTGRES_STATEMENT(look, key, is_next ? "t" : "f");
    PGresult *answer = NULL;
    lk_status status = postgres_ask(client, &ask, lki_context_deadline(client, 0), &answer, err);

    if (status != LK_OK) return status;
    memset(out, 0, sizeof *out);
    (void)snprintf(out->key, sizeof out->key, "%s", key);
    if (PQntuples(answer) > 0) read_rows(answer, out);
    PQclear(answer);
    return LK_OK;
}
