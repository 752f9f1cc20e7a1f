/*
 * The watchdog's connection to PostgreSQL: a round of up to 256 renewals is one statement, which answers the
 * renewed ones. A check has the lease 0 and only reads, as a write may wait for a standby. The watchdog's
 * thread only.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "postgres.h"

struct conn {
    struct lki_renewal_conn base;
    struct postgres_conn *pg_conn; /* owned; NULL: none */
    bool is_asked;
};

static const char renew_all[] =
    "WITH r AS (SELECT word->>0 AS name, word->>1 AS token, (word->>2)::bigint AS ms, place"
    " FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS r(word, place)),"
    " leases AS (UPDATE lockkit.lock AS l"
    " SET expires = greatest(l.expires, clock_timestamp() + r.ms * interval '1 ms') FROM r"
    " WHERE ms > 0 AND l.name = r.name AND l.token = r.token AND l.expires > clock_timestamp()"
    " RETURNING r.place)"
    " SELECT place FROM leases UNION ALL SELECT place FROM r JOIN lockkit.lock USING (name, token)"
    " WHERE ms = 0 AND expires > clock_timestamp()"
    " UNION ALL SELECT place FROM r, pg_catalog.pg_stat_activity"
    " WHERE token LIKE 'lockkit %' AND token = application_name";

static struct conn *conn_of(struct lki_renewal_conn *conn)
{
    return (struct conn *)(void *)conn;
}

/* ---- the words ------------------------------------------------------------------------------------- */

/* Names may contain any bytes. */
static void add_quoted(FILE *to, const char *text)
{
    (void)fputc('"', to);
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;

        if (byte < ' ') {
            (void)fprintf(to, "\\u%04x", byte);
        } else {
            if (byte == '"' || byte == '\\') (void)fputc('\\', to);
            (void)fputc(byte, to);
        }
    }
    (void)fputs("\",", to);
}

/* [["name","token",ms],...]; yours. */
static char *write_words(const struct lki_round *round)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    if (!to) return NULL;
    for (size_t i = 0; i < round->count; i++) {
        const struct lki_query *query = &round->queries[i];

        (void)fputs(i == 0 ? "[[" : ",[", to);
        add_quoted(to, query->lock->key);
        add_quoted(to, query->lock->token);
        (void)fprintf(to, "%lld]", query->is_check ? 0LL : (long long)query->lock->lease_ms);
    }
    (void)fputc(']', to);
    (void)fclose(to);
    return text;
}

static lk_status ask(struct conn *conn)
{
    lk_status status = LK_NO_MEMORY;
    char *words = write_words(&conn->base.round);
    const struct postgres_statement renew = POSTGRES_STATEMENT(renew_all, words);

    conn->base.round.sent_at = conn->base.began_at = lki_clock_now();
    if (words) status = postgres_conn_send(conn->pg_conn, &renew, NULL);
    free(words);
    conn->is_asked = status == LK_OK;
    return status;
}

static void read_answer(struct conn *conn, const PGresult *answer)
{
    struct lki_round *round = &conn->base.round;

    for (size_t i = 0; i < round->count; i++)
        round->queries[i].verdict = LKI_GONE;
    for (int i = 0; i < PQntuples(answer); i++) {
        long place = strtol(PQgetvalue(answer, i, 0), NULL, 10);

        if (place >= 1 && (size_t)place <= round->count)
            round->queries[place - 1].verdict = LKI_OURS;
    }
}

/* ---- the connection -------------------------------------------------------------------------------- */

static void disconnect(struct conn *conn)
{
    conn->base.has_ended |= conn->base.is_open;
    conn->base.is_open = false;
    postgres_conn_close(conn->pg_conn);
    conn->pg_conn = NULL;
}

static lk_status connect_on(struct conn *conn)
{
    lk_status status = LK_BUSY;

    if (!conn->pg_conn) {
        conn->base.began_at = lki_clock_now();
        conn->pg_conn = postgres_conn_begin(conn->base.client, NULL);
        conn->base.events = POLLOUT;
        if (!conn->pg_conn) status = LK_UNREACHABLE;
    } else {
        status = postgres_conn_go_on(conn->pg_conn, &conn->base.events, NULL);
    }
    if (status == LK_BUSY) return status;
    postgres_emit(conn->base.client, LK_EVENT_CONNECT, status, conn->base.began_at, 1);
    conn->base.is_open = status == LK_OK;
    if (conn->base.is_open) conn->base.connected_at = conn->pg_conn->connected_at;
    return status;
}

/* OK: the round is answered or refused. BUSY: not yet. */
static lk_status exchange_on(struct conn *conn)
{
    PGresult *answer = NULL;
    lk_status status = LK_OK;

    if (!conn->is_asked && ask(conn) != LK_OK) return LK_UNKNOWN;
    conn->base.events = postgres_conn_events(conn->pg_conn);
    if (!postgres_conn_receive(conn->pg_conn, &answer, &status, NULL)) return LK_BUSY;
    conn->is_asked = false;
    postgres_emit(conn->base.client, LK_EVENT_ROUND_TRIP, status, conn->base.began_at,
                  (unsigned)conn->base.round.count);
    if (status == LK_UNKNOWN) return status;
    if (status == LK_OK) read_answer(conn, answer);
    for (size_t i = 0; i < conn->base.round.count && status != LK_OK; i++)
        conn->base.round.queries[i].verdict = status == LK_SERVER ? LKI_REFUSED : LKI_NOT_NOW;
    PQclear(answer);
    return LK_OK;
}

static void conn_give_up(struct lki_renewal_conn *base)
{
    struct conn *conn = conn_of(base);

    conn->is_asked = false;
    disconnect(conn);
    base->events = 0;
}

static void conn_go_on(struct lki_renewal_conn *base)
{
    struct conn *conn = conn_of(base);
    lk_status status = base->is_open ? LK_OK : connect_on(conn);

    if (status == LK_OK) status = exchange_on(conn);
    if (status == LK_OK) {
        base->events = 0;
    } else if (status != LK_BUSY || lki_clock_now() >= lki_renewal_conn_until(base)) {
        conn_give_up(base);
    }
}

static void conn_start(struct lki_renewal_conn *base)
{
    struct conn *conn = conn_of(base);

    for (size_t i = 0; i < base->round.count; i++)
        base->round.queries[i].verdict = LKI_SILENT;
    if (conn->pg_conn && !postgres_conn_is_usable(conn->pg_conn)) disconnect(conn);
    conn_go_on(base);
}

static void conn_check_idle(struct lki_renewal_conn *base)
{
    struct conn *conn = conn_of(base);

    if (!postgres_conn_is_usable(conn->pg_conn)) disconnect(conn);
}

static bool conn_is_open_since(struct lki_renewal_conn *base, int64_t moment)
{
    return base->is_open && base->connected_at < moment;
}

static int conn_fd(const struct lki_renewal_conn *base)
{
    const struct conn *conn = (const struct conn *)(const void *)base;

    return conn->pg_conn ? PQsocket(conn->pg_conn->pg) : -1;
}

static enum lki_verdict conn_verdict(const struct lki_query *query)
{
    return query->verdict;
}

static void conn_clear(struct lki_renewal_conn *base)
{
    base->round.count = 0;
}

static void conn_free(struct lki_renewal_conn *base)
{
    disconnect(conn_of(base));
    free(base);
}

static const struct lki_renewal_conn_ops ops = {.start = conn_start,
                                                .go_on = conn_go_on,
                                                .give_up = conn_give_up,
                                                .check_idle = conn_check_idle,
                                                .is_open_since = conn_is_open_since,
                                                .fd = conn_fd,
                                                .verdict = conn_verdict,
                                                .clear = conn_clear,
                                                .free = conn_free};

struct lki_renewal_conn *postgres_renewal_conn_new(lk_client *client)
{
    struct conn *conn = calloc(1, sizeof *conn);

    if (!conn) return NULL;
    conn->base = (struct lki_renewal_conn){.ops = &ops, .client = client};
    return &conn->base;
}
