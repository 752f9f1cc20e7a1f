/*
 * Connections for callers' statements, up to pool_size, made on demand. One mutex, under which nothing waits for
 * a server.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "postgres.h"

enum { UNDOING_MS = 120000, AGAIN_MS = 50 };

const char postgres_name[] = "PostgreSQL";

/* A row is never deleted: its fence would begin anew. Slot 0 is the lock, others are permits. No index on expires: an update stays on its page. */
static const char table[] =
    "DO $$ BEGIN IF pg_catalog.to_regclass('lockkit.lock') IS NULL THEN"
    " PERFORM pg_catalog.pg_advisory_xact_lock(7813586346238636338);"
    " CREATE SCHEMA IF NOT EXISTS lockkit; CREATE TABLE IF NOT EXISTS lockkit.lock (name text,"
    " slot int DEFAULT 0, owner text NOT NULL DEFAULT '', token text NOT NULL DEFAULT '',"
    " fence bigint NOT NULL DEFAULT 0, expires timestamptz NOT NULL DEFAULT '-infinity',"
    " awaited timestamptz NOT NULL DEFAULT '-infinity', taken timestamptz,"
    " PRIMARY KEY (name, slot)) WITH (fillfactor = 50); END IF; END $$";

void postgres_emit(const lk_client *client, lk_event_type type, lk_status status, int64_t begin,
                   unsigned attempts)
{
    int64_t now = lki_clock_now();

    lki_context_emit(client, (struct lk_event){.type = type,
                                               .status = status,
                                               .at_ns = now,
                                               .duration_ns = now - begin,
                                               .attempts = attempts});
}

/* Take an idle connection, or the right to make one: OK with *out NULL. */
static lk_status take(struct postgres *self, unsigned most, int64_t deadline,
                      struct postgres_conn **out, struct lk_error *err)
{
    lk_status status = LK_OK;

    (void)pthread_mutex_lock(&self->mutex);
    while (!self->idle && self->open >= most && status == LK_OK) {
        if (!lki_clock_wait(&self->freed, &self->mutex, deadline))
            status = LKI_FAIL(err, LK_EXHAUSTED, "none of %u connections became free", most);
    }
    if (status == LK_OK) {
        *out = self->idle;
        if (self->idle) {
            self->idle = self->idle->next;
        } else {
            self->open++;
        }
    }
    (void)pthread_mutex_unlock(&self->mutex);
    return status;
}

/* Return a connection; NULL: it was closed. */
static void give(struct postgres *self, struct postgres_conn *conn)
{
    (void)pthread_mutex_lock(&self->mutex);
    if (conn) {
        conn->next = self->idle;
        self->idle = conn;
    } else {
        self->open--;
    }
    (void)pthread_cond_signal(&self->freed);
    (void)pthread_mutex_unlock(&self->mutex);
}

/* Keep a connection with a pending undo for as long as a server may hang; close older ones. */
static void keep_undoing(struct postgres *self, struct postgres_conn *conn)
{
    struct postgres_conn **at = &self->undoing;

    (void)pthread_mutex_lock(&self->mutex);
    conn->undo_since = lki_clock_now();
    conn->next = self->undoing;
    self->undoing = conn;
    while (*at && (*at)->undo_since + UNDOING_MS * (int64_t)NS_PER_MS > conn->undo_since)
        at = &(*at)->next;
    postgres_conns_close(at);
    (void)pthread_mutex_unlock(&self->mutex);
}

/* Create the table unless it exists, on the first connection. */
static lk_status make_table(struct postgres *self, struct postgres_conn *conn, int64_t deadline,
                            struct lk_error *err)
{
    const struct postgres_statement make = {.sql = table};
    PGresult *answer = NULL;
    lk_status status = postgres_conn_ask(conn, &make, deadline, &answer, err);

    PQclear(answer);
    if (status == LK_OK) atomic_store(&self->has_table, true);
    return status == LK_UNKNOWN ? LK_UNREACHABLE : status;
}

lk_status postgres_borrow(lk_client *client, int64_t deadline, struct postgres_conn **out,
                          struct lk_error *err)
{
    struct postgres *self = client->backend_state;
    int64_t begin = lki_clock_now();
    int64_t half = begin + (deadline - begin) / 2;
    struct postgres_conn *conn = NULL;
    lk_status status = take(self, client->options.pool_size, half, &conn, err);

    if (conn && !postgres_conn_is_usable(conn)) {
        postgres_conn_close(conn);
        conn = NULL;
    }
    if (status == LK_OK && !conn) {
        int64_t connect_by = lki_clock_after_ms(client->options.connect_ms);

        status =
            postgres_conn_open(client, connect_by < deadline ? connect_by : deadline, &conn, err);
        postgres_emit(client, LK_EVENT_CONNECT, status, begin, 1);
        if (status == LK_OK && !atomic_load(&self->has_table)) {
            status = make_table(self, conn, deadline, err);
            if (status != LK_OK) postgres_conn_close(conn);
        }
        if (status != LK_OK) give(self, conn = NULL);
    }
    *out = conn;
    return status;
}

lk_status postgres_ask(lk_client *client, const struct postgres_statement *statement,
                       int64_t deadline, PGresult **out, struct lk_error *err)
{
    struct postgres *self = client->backend_state;
    int64_t begin = lki_clock_now();
    lk_status status = lki_context_check(client, err);
    bool was_idle = status == LK_OK;

    /* A connection that had ended while it was idle says nothing about the server. */
    while (was_idle) {
        struct postgres_conn *conn = NULL;

        status = postgres_borrow(client, deadline, &conn, err);
        if (status != LK_OK) return status;
        was_idle = conn->connected_at < begin;
        if (statement->out_conn)
            (void)snprintf(statement->out_conn, POSTGRES_NAME_MAX, "%s", conn->name);
        int64_t sent_at = lki_clock_now();
        status = postgres_conn_ask(conn, statement, deadline, out, err);
        postgres_emit(client, LK_EVENT_ROUND_TRIP, status, sent_at, 1);
        if (conn->lacks_table && strstr(statement->sql, "lockkit.lock")) {
            atomic_store(&self->has_table, false); /* it is another, empty server now */
            status = LK_UNREACHABLE;
        }
        if (status == LK_UNREACHABLE) postgres_conn_end(conn);
        postgres_return(client, conn);
        was_idle &= status == LK_UNREACHABLE;
    }
    return status;
}

void postgres_return(lk_client *client, struct postgres_conn *conn)
{
    struct postgres *self = client->backend_state;
    bool is_sound = postgres_conn_is_usable(conn);

    if (conn->has_pending_undo) {
        keep_undoing(self, conn);
    } else if (!is_sound) {
        postgres_conn_close(conn);
    }
    give(self, is_sound ? conn : NULL);
}

lk_status postgres_touch(lk_client *client, const struct postgres_statement *statement,
                         int64_t deadline, struct lk_error *err)
{
    PGresult *answer = NULL;
    lk_status status = postgres_ask(client, statement, deadline, &answer, err);

    if (status == LK_OK && PQntuples(answer) == 0) status = LK_NOT_OWNER;
    PQclear(answer);
    return status;
}

lk_status postgres_end_session(lk_client *client, const char *conn,
                               const struct postgres_statement *undo, int64_t deadline,
                               struct lk_error *err)
{
    const struct postgres *self = client->backend_state;
    /* An idle session of a pooler serves others now. pg_terminate_backend() polls every 100 ms. */
    struct postgres_statement end = POSTGRES_STATEMENT(
        "SELECT pg_catalog.pg_terminate_backend(pid, 5000) FROM pg_catalog.pg_stat_activity"
        " WHERE application_name = $1 AND usename = current_user"
        " AND (state <> 'idle' OR NOT $2::boolean)",
        conn, atomic_load(&self->is_pooled) ? "t" : "f");
    lk_status status = LK_OK;

    end.undo = undo;
    while ((status = postgres_touch(client, &end, deadline, err)) == LK_OK)
        lki_clock_sleep_ms(1);
    return status == LK_NOT_OWNER ? LK_OK : status;
}

lk_status postgres_undo(lk_client *client, const char *conn, const struct postgres_statement *undo,
                        struct lk_error *err)
{
    int64_t deadline = lki_context_deadline(client, 0);
    struct postgres_statement again = *undo;
    lk_status status = LK_OK;

    again.undo = undo;
    while (true) {
        status = conn[0] ? postgres_end_session(client, conn, undo, deadline, err) : LK_OK;
        if (status == LK_OK) status = postgres_touch(client, &again, deadline, err);
        bool is_away = status == LK_UNREACHABLE || status == LK_UNKNOWN;
        if (!is_away || lki_clock_left_ms(deadline) <= AGAIN_MS) return status;
        lki_clock_sleep_ms(AGAIN_MS);
    }
}
