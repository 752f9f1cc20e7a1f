/*
 * Every session has the same settings, whatever the defaults of its role are: READ COMMITTED (a lease row that
 * was changed meanwhile is read again, without an error), confirmed commits are on disk (a fence is never issued
 * twice), an empty search_path, short waits for row locks. The client notices a cut connection within command_ms,
 * the server later. A pooler accepts no such settings; then the defaults apply.
 *
 * Threads: one at a time per connection. libpq looks names up while it begins to connect; that alone can block.
 */
#include "conn.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "postgres.h"

static const char settings[] = "-c default_transaction_isolation=read\\ committed "
                               "-c default_transaction_read_only=off -c synchronous_commit=on "
                               "-c lock_timeout=1000 -c idle_in_transaction_session_timeout=10000 "
                               "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 "
                               "-c tcp_keepalives_count=3 -c tcp_user_timeout=25000 "
                               "-c client_min_messages=warning -c search_path=";

/* The first line of a message; the others are hints. */
static const char *line_of(const char *text, char out[POSTGRES_TEXT_MAX])
{
    (void)snprintf(out, POSTGRES_TEXT_MAX, "%.*s", (int)strcspn(text, "\n"), text);
    return out;
}

static void note_warning(void *arg, const PGresult *notice)
{
    struct postgres_conn *conn = arg;

    (void)notice;
    conn->is_warned = true;
}

/* ---- connecting ------------------------------------------------------------------------------------ */

/* "a,b,c", the second one first: "b,c,a". */
static const char *turned(const char *list, unsigned turn, char out[POSTGRES_HOSTS_MAX])
{
    const char *first = list;

    if (!list) return NULL;
    while (turn-- > 0) {
        const char *comma = strchr(first, ',');

        first = comma ? comma + 1 : list;
    }
    (void)snprintf(out, POSTGRES_HOSTS_MAX, "%s%s%.*s", first, first > list ? "," : "",
                   first > list ? (int)(first - list) - 1 : 0, list);
    return out;
}

static PGconn *start(lk_client *client, const char *name, const char *options)
{
    const struct postgres *self = client->backend_state;
    unsigned turn = atomic_load(&self->turn) % POSTGRES_HOSTS_MAX;
    char lists[3][POSTGRES_HOSTS_MAX];
    /* Later settings take precedence, except over those in the URL. */
    const char *const keywords[] = {"target_session_attrs",
                                    "tcp_user_timeout",
                                    "keepalives_idle",
                                    "keepalives_interval",
                                    "dbname",
                                    "password",
                                    "application_name",
                                    "host",
                                    "hostaddr",
                                    "port",
                                    options,
                                    NULL};
    const char *const values[] = {"read-write",
                                  self->tcp_user_timeout,
                                  "1",
                                  "1",
                                  self->url,
                                  self->password,
                                  name,
                                  turned(self->lists[0], turn, lists[0]),
                                  turned(self->lists[1], turn, lists[1]),
                                  turned(self->lists[2], turn, lists[2]),
                                  settings,
                                  NULL};

    return PQconnectStartParams(keywords, values, 1);
}

struct postgres_conn *postgres_conn_begin(lk_client *client, struct lk_error *err)
{
    struct postgres *self = client->backend_state;
    struct postgres_conn *conn = calloc(1, sizeof *conn);
    char text[POSTGRES_TEXT_MAX];

    if (!conn) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "a connection");
        return NULL;
    }
    (void)snprintf(conn->name, sizeof conn->name, "lockkit %s:%lu", client->uuid,
                   atomic_fetch_add(&self->conns, 1) + 1);
    conn->connected_at = lki_clock_now();
    conn->turn = &self->turn;
    conn->pg = start(client, conn->name, atomic_load(&self->is_pooled) ? NULL : "options");
    if (conn->pg && PQstatus(conn->pg) != CONNECTION_BAD) {
        (void)PQsetNoticeReceiver(conn->pg, note_warning, conn);
        return conn;
    }
    /* The message may quote the URL, with its password. */
    const char *why = conn->pg ? line_of(PQerrorMessage(conn->pg), text) : "";
    (void)LKI_FAIL(err, conn->pg ? LK_INVALID : LK_NO_MEMORY, "a URL of PostgreSQL: %.*s",
                   (int)strcspn(why, "\""), why);
    postgres_conn_close(conn);
    return NULL;
}

/* A refused log-in is permanent; other failures may be temporary. */
static lk_status connect_failed(const struct postgres_conn *conn, struct lk_error *err)
{
    static const char *const final[] = {"authentication", "no pg_hba.conf entry", "does not exist",
                                        "no password supplied", "not permitted to log in"};
    const char *text = PQerrorMessage(conn->pg);
    char line[POSTGRES_TEXT_MAX];
    lk_status status = LK_UNREACHABLE;

    for (size_t i = 0; i < sizeof final / sizeof final[0]; i++) {
        if (strstr(text, final[i])) status = LK_SERVER;
    }
    return LKI_FAIL(err, status, "%s", line_of(text, line));
}

lk_status postgres_conn_go_on(struct postgres_conn *conn, short *out_events, struct lk_error *err)
{
    PostgresPollingStatusType step = PQconnectPoll(conn->pg);

    *out_events = step == PGRES_POLLING_READING ? POLLIN : 0;
    if (step == PGRES_POLLING_WRITING) *out_events = POLLOUT;
    if (*out_events != 0) return LK_BUSY;
    if (step == PGRES_POLLING_OK && PQsetnonblocking(conn->pg, 1) == 0) return LK_OK;
    return connect_failed(conn, err);
}

/* A pooler invents the process number of the session, by which it is detected. */
static lk_status find_pooler(struct postgres *self, struct postgres_conn *conn, int64_t deadline,
                             struct lk_error *err)
{
    const struct postgres_statement ask = {.sql = "SELECT pg_catalog.pg_backend_pid()"};
    PGresult *answer = NULL;
    lk_status status = postgres_conn_ask(conn, &ask, deadline, &answer, err);

    if (status == LK_OK && strtol(PQgetvalue(answer, 0, 0), NULL, 10) != PQbackendPID(conn->pg))
        atomic_store(&self->is_pooled, true);
    atomic_store(&self->is_known, status == LK_OK);
    PQclear(answer);
    return status;
}

lk_status postgres_conn_open(lk_client *client, int64_t deadline, struct postgres_conn **out,
                             struct lk_error *err)
{
    struct postgres *self = client->backend_state;
    struct lk_error why = {0};
    struct postgres_conn *conn = postgres_conn_begin(client, &why);
    lk_status status = conn ? LK_BUSY : why.code;
    short events = POLLOUT;

    while (conn && status == LK_BUSY) {
        if (!lki_clock_poll(PQsocket(conn->pg), events, deadline))
            status = LKI_FAIL(&why, LK_UNREACHABLE, "%s: no connection in time", PQhost(conn->pg));
        else
            status = postgres_conn_go_on(conn, &events, &why);
    }
    if (status != LK_OK && strstr(why.text, "unsupported startup parameter") &&
        !atomic_exchange(&self->is_pooled, true)) {
        postgres_conn_close(conn);
        return postgres_conn_open(client, deadline, out, err);
    }
    if (conn && status == LK_OK && !atomic_load(&self->is_known))
        status = find_pooler(self, conn, deadline, &why);
    if (status == LK_UNKNOWN) status = why.code = LK_UNREACHABLE;
    if (status == LK_OK) {
        *out = conn;
        return LK_OK;
    }
    postgres_conn_close(conn);
    if (err) *err = why;
    return status;
}

void postgres_conn_end(struct postgres_conn *conn)
{
    conn->has_ended = true;
}

void postgres_conn_close(struct postgres_conn *conn)
{
    if (!conn) return;
    /* Else a host that hangs would be tried first each time: libpq only goes on to the next one when refused. */
    if (conn->pg && PQstatus(conn->pg) != CONNECTION_OK && PQstatus(conn->pg) != CONNECTION_BAD)
        atomic_fetch_add(conn->turn, 1);
    PQclear(conn->last);
    PQfinish(conn->pg);
    free(conn);
}

void postgres_conns_close(struct postgres_conn **conns)
{
    while (*conns) {
        struct postgres_conn *conn = *conns;

        *conns = conn->next;
        postgres_conn_close(conn);
    }
}

/* ---- asking ---------------------------------------------------------------------------------------- */

bool postgres_conn_is_usable(struct postgres_conn *conn)
{
    if (conn->has_ended || PQstatus(conn->pg) != CONNECTION_OK) return false;
    bool is_there = true;
    for (int i = 0; i < 2 && is_there;
         i++) /* once for a last message, once for the end behind it */
        is_there = PQconsumeInput(conn->pg) == 1;
    return is_there && PQstatus(conn->pg) == CONNECTION_OK;
}

/* By SQLSTATE, PostgreSQL manual, appendix A. */
static lk_status status_of(const PGresult *result, struct lk_error *err)
{
    static const struct {
        const char *begin;
        lk_status status;
    } states[] = {
        {"55P03", LK_BUSY}, /* lock_timeout: the row is in use */
        {"57014", LK_BUSY}, /* statement_timeout, or cancelled by an operator */
        {"40P01", LK_DEADLOCK},    {"40001", LK_UNREACHABLE}, /* not done; it may be sent again */
        {"57P02", LK_UNKNOWN},     {"57", LK_UNREACHABLE},
        {"53300", LK_UNREACHABLE}, {"25006", LK_UNREACHABLE}, /* a standby */
        {"08", LK_UNKNOWN},        {"53200", LK_UNREACHABLE},
    };
    ExecStatusType type = PQresultStatus(result);
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    char text[POSTGRES_TEXT_MAX];
    lk_status status = state ? LK_SERVER : LK_UNKNOWN;

    if (type == PGRES_TUPLES_OK || type == PGRES_COMMAND_OK) return LK_OK;
    for (size_t i = 0; state && i < sizeof states / sizeof states[0]; i++) {
        if (strncmp(state, states[i].begin, strlen(states[i].begin)) != 0) continue;
        status = states[i].status;
        break;
    }
    return LKI_FAIL(err, status, "%s", line_of(PQresultErrorMessage(result), text));
}

static bool send_it(struct postgres_conn *conn, const struct postgres_statement *statement)
{
    return PQsendQueryParams(conn->pg, statement->sql, statement->count, NULL, statement->params,
                             NULL, NULL, 0) == 1;
}

lk_status postgres_conn_send(struct postgres_conn *conn, const struct postgres_statement *statement,
                             struct lk_error *err)
{
    char text[POSTGRES_TEXT_MAX];

    conn->lacks_table = false;
    if (postgres_conn_is_usable(conn) && send_it(conn, statement)) return LK_OK;
    return LKI_FAIL(err, LK_UNREACHABLE, "%s", line_of(PQerrorMessage(conn->pg), text));
}

bool postgres_conn_receive(struct postgres_conn *conn, PGresult **out, lk_status *out_status,
                           struct lk_error *err)
{
    char text[POSTGRES_TEXT_MAX];
    PGresult *next = NULL;

    if (PQflush(conn->pg) < 0 || PQconsumeInput(conn->pg) == 0) {
        *out_status = LKI_FAIL(err, LK_UNKNOWN, "%s", line_of(PQerrorMessage(conn->pg), text));
        return true;
    }
    do {
        if (PQisBusy(conn->pg)) return false;
        next = PQgetResult(conn->pg);
        if (PQresultStatus(next) == PGRES_PIPELINE_SYNC) {
            PQclear(next);
            next = NULL;
            (void)PQexitPipelineMode(conn->pg);
        } else if (next) {
            PQclear(conn->last);
            conn->last = next;
        }
    } while (next || PQpipelineStatus(conn->pg) != PQ_PIPELINE_OFF);
    *out_status =
        conn->last ? status_of(conn->last, err) : LKI_FAIL(err, LK_UNKNOWN, "no answer came");
    const char *state = PQresultErrorField(conn->last, PG_DIAG_SQLSTATE);
    conn->lacks_table = state && strcmp(state, "42P01") == 0;
    if (*out_status == LK_OK && out) {
        *out = conn->last;
    } else {
        PQclear(conn->last);
    }
    conn->last = NULL;
    return true;
}

short postgres_conn_events(struct postgres_conn *conn)
{
    return PQflush(conn->pg) > 0 ? POLLIN | POLLOUT : POLLIN;
}

lk_status postgres_conn_ask(struct postgres_conn *conn, const struct postgres_statement *statement,
                            int64_t deadline, PGresult **out, struct lk_error *err)
{
    if (statement->undo) (void)PQenterPipelineMode(conn->pg);
    lk_status status = postgres_conn_send(conn, statement, err);
    if (status != LK_OK) return status;
    if (statement->undo) (void)PQpipelineSync(conn->pg);
    while (!postgres_conn_receive(conn, out, &status, err)) {
        if (lki_clock_poll(PQsocket(conn->pg), postgres_conn_events(conn), deadline)) continue;
        status = LKI_FAIL(err, LK_UNKNOWN, "no answer in time");
        break;
    }
    if (status == LK_UNKNOWN) postgres_conn_end(conn);
    if (status == LK_UNKNOWN && statement->undo && PQstatus(conn->pg) == CONNECTION_OK)
        conn->has_pending_undo = send_it(conn, statement->undo) && PQpipelineSync(conn->pg) == 1 &&
                                 PQflush(conn->pg) == 0;
    return status;
}
