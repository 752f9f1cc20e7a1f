/*
 * Every session is set the same way, whatever its role has as defaults: READ COMMITTED (a lease row
 * that somebody else has just changed is looked at again, not refused), commits that are on disk when they
 * are confirmed (a fence that was seen is never given again), an empty search_path, and short waits for row locks. Of
 * a line that is cut we hear first, within command_ms, and the server later. A pooler takes no such settings; then the
 * defaults hold.
 *
 * Threads: one at a time per link. libpq looks names up while it begins to connect; that alone can block.
 */
#include "link.h"

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

/* Its first line: the rest is hints. */
static const char *line_of(const char *text, char out[POSTGRES_TEXT_MAX])
{
    (void)snprintf(out, POSTGRES_TEXT_MAX, "%.*s", (int)strcspn(text, "\n"), text);
    return out;
}

static void note_warning(void *arg, const PGresult *notice)
{
    struct postgres_link *link = arg;

    (void)notice;
    link->is_warned = true;
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
    /* Later ones win, but for those that the URL names itself. */
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

struct postgres_link *postgres_link_begin(lk_client *client, struct lk_error *err)
{
    struct postgres *self = client->backend_state;
    struct postgres_link *link = calloc(1, sizeof *link);
    char text[POSTGRES_TEXT_MAX];

    if (!link) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "a connection");
        return NULL;
    }
    (void)snprintf(link->name, sizeof link->name, "lockkit %s:%lu", client->uuid,
                   atomic_fetch_add(&self->links, 1) + 1);
    link->connected_at = lki_clock_now();
    link->turn = &self->turn;
    link->conn = start(client, link->name, atomic_load(&self->is_pooled) ? NULL : "options");
    if (link->conn && PQstatus(link->conn) != CONNECTION_BAD) {
        (void)PQsetNoticeReceiver(link->conn, note_warning, link);
        return link;
    }
    /* It quotes the URL, with its password. */
    const char *why = link->conn ? line_of(PQerrorMessage(link->conn), text) : "";
    (void)LKI_FAIL(err, link->conn ? LK_INVALID : LK_NO_MEMORY, "a URL of PostgreSQL: %.*s",
                   (int)strcspn(why, "\""), why);
    postgres_link_close(link);
    return NULL;
}

/* A log-in that is refused stays so; all else may pass. */
static lk_status connect_failed(const struct postgres_link *link, struct lk_error *err)
{
    static const char *const final[] = {"authentication", "no pg_hba.conf entry", "does not exist",
                                        "no password supplied", "not permitted to log in"};
    const char *text = PQerrorMessage(link->conn);
    char line[POSTGRES_TEXT_MAX];
    lk_status status = LK_UNREACHABLE;

    for (size_t i = 0; i < sizeof final / sizeof final[0]; i++) {
        if (strstr(text, final[i])) status = LK_SERVER;
    }
    return LKI_FAIL(err, status, "%s", line_of(text, line));
}

lk_status postgres_link_go_on(struct postgres_link *link, short *out_events, struct lk_error *err)
{
    PostgresPollingStatusType step = PQconnectPoll(link->conn);

    *out_events = step == PGRES_POLLING_READING ? POLLIN : 0;
    if (step == PGRES_POLLING_WRITING) *out_events = POLLOUT;
    if (*out_events != 0) return LK_BUSY;
    if (step == PGRES_POLLING_OK && PQsetnonblocking(link->conn, 1) == 0) return LK_OK;
    return connect_failed(link, err);
}

/* A pooler makes up the number of our session's process. */
static lk_status find_pooler(struct postgres *self, struct postgres_link *link, int64_t deadline,
                             struct lk_error *err)
{
    const struct postgres_statement ask = {.sql = "SELECT pg_catalog.pg_backend_pid()"};
    PGresult *answer = NULL;
    lk_status status = postgres_link_ask(link, &ask, deadline, &answer, err);

    if (status == LK_OK && strtol(PQgetvalue(answer, 0, 0), NULL, 10) != PQbackendPID(link->conn))
        atomic_store(&self->is_pooled, true);
    atomic_store(&self->is_known, status == LK_OK);
    PQclear(answer);
    return status;
}

lk_status postgres_link_open(lk_client *client, int64_t deadline, struct postgres_link **out,
                             struct lk_error *err)
{
    struct postgres *self = client->backend_state;
    struct lk_error why = {0};
    struct postgres_link *link = postgres_link_begin(client, &why);
    lk_status status = link ? LK_BUSY : why.code;
    short events = POLLOUT;

    while (link && status == LK_BUSY) {
        if (!lki_clock_poll(PQsocket(link->conn), events, deadline))
            status =
                LKI_FAIL(&why, LK_UNREACHABLE, "%s: no connection in time", PQhost(link->conn));
        else
            status = postgres_link_go_on(link, &events, &why);
    }
    if (status != LK_OK && strstr(why.text, "unsupported startup parameter") &&
        !atomic_exchange(&self->is_pooled, true)) {
        postgres_link_close(link);
        return postgres_link_open(client, deadline, out, err);
    }
    if (link && status == LK_OK && !atomic_load(&self->is_known))
        status = find_pooler(self, link, deadline, &why);
    if (status == LK_UNKNOWN) status = why.code = LK_UNREACHABLE;
    if (status == LK_OK) {
        *out = link;
        return LK_OK;
    }
    postgres_link_close(link);
    if (err) *err = why;
    return status;
}

void postgres_link_end(struct postgres_link *link)
{
    link->has_ended = true;
}

void postgres_link_close(struct postgres_link *link)
{
    if (!link) return;
    /* One that stands still would be waited for each time; libpq itself goes on to the next only when refused. */
    if (link->conn && PQstatus(link->conn) != CONNECTION_OK &&
        PQstatus(link->conn) != CONNECTION_BAD)
        atomic_fetch_add(link->turn, 1);
    PQclear(link->last);
    PQfinish(link->conn);
    free(link);
}

void postgres_links_close(struct postgres_link **links)
{
    while (*links) {
        struct postgres_link *link = *links;

        *links = link->next;
        postgres_link_close(link);
    }
}

/* ---- asking ---------------------------------------------------------------------------------------- */

bool postgres_link_is_usable(struct postgres_link *link)
{
    if (link->has_ended || PQstatus(link->conn) != CONNECTION_OK) return false;
    bool is_there = true;
    for (int i = 0; i < 2 && is_there; i++) /* once for a last word, once for the end behind it */
        is_there = PQconsumeInput(link->conn) == 1;
    return is_there && PQstatus(link->conn) == CONNECTION_OK;
}

/* By SQLSTATE, PostgreSQL manual, appendix A. */
static lk_status status_of(const PGresult *result, struct lk_error *err)
{
    static const struct {
        const char *begin;
        lk_status status;
    } states[] = {
        {"55P03", LK_BUSY}, /* lock_timeout: somebody is at the row */
        {"57014", LK_BUSY}, /* statement_timeout, or an operator's word */
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

static bool send_it(struct postgres_link *link, const struct postgres_statement *statement)
{
    return PQsendQueryParams(link->conn, statement->sql, statement->count, NULL, statement->params,
                             NULL, NULL, 0) == 1;
}

lk_status postgres_link_send(struct postgres_link *link, const struct postgres_statement *statement,
                             struct lk_error *err)
{
    char text[POSTGRES_TEXT_MAX];

    link->lacks_table = false;
    if (postgres_link_is_usable(link) && send_it(link, statement)) return LK_OK;
    return LKI_FAIL(err, LK_UNREACHABLE, "%s", line_of(PQerrorMessage(link->conn), text));
}

bool postgres_link_receive(struct postgres_link *link, PGresult **out, lk_status *out_status,
                           struct lk_error *err)
{
    char text[POSTGRES_TEXT_MAX];
    PGresult *next = NULL;

    if (PQflush(link->conn) < 0 || PQconsumeInput(link->conn) == 0) {
        *out_status = LKI_FAIL(err, LK_UNKNOWN, "%s", line_of(PQerrorMessage(link->conn), text));
        return true;
    }
    do {
        if (PQisBusy(link->conn)) return false;
        next = PQgetResult(link->conn);
        if (PQresultStatus(next) == PGRES_PIPELINE_SYNC) {
            PQclear(next);
            next = NULL;
            (void)PQexitPipelineMode(link->conn);
        } else if (next) {
            PQclear(link->last);
            link->last = next;
        }
    } while (next || PQpipelineStatus(link->conn) != PQ_PIPELINE_OFF);
    *out_status =
        link->last ? status_of(link->last, err) : LKI_FAIL(err, LK_UNKNOWN, "no answer came");
    const char *state = PQresultErrorField(link->last, PG_DIAG_SQLSTATE);
    link->lacks_table = state && strcmp(state, "42P01") == 0;
    if (*out_status == LK_OK && out) {
        *out = link->last;
    } else {
        PQclear(link->last);
    }
    link->last = NULL;
    return true;
}

short postgres_link_events(struct postgres_link *link)
{
    return PQflush(link->conn) > 0 ? POLLIN | POLLOUT : POLLIN;
}

lk_status postgres_link_ask(struct postgres_link *link, const struct postgres_statement *statement,
                            int64_t deadline, PGresult **out, struct lk_error *err)
{
    if (statement->undo) (void)PQenterPipelineMode(link->conn);
    lk_status status = postgres_link_send(link, statement, err);
    if (status != LK_OK) return status;
    if (statement->undo) (void)PQpipelineSync(link->conn);
    while (!postgres_link_receive(link, out, &status, err)) {
        if (lki_clock_poll(PQsocket(link->conn), postgres_link_events(link), deadline)) continue;
        status = LKI_FAIL(err, LK_UNKNOWN, "no answer in time");
        break;
    }
    if (status == LK_UNKNOWN) postgres_link_end(link);
    if (status == LK_UNKNOWN && statement->undo && PQstatus(link->conn) == CONNECTION_OK)
        link->owes = send_it(link, statement->undo) && PQpipelineSync(link->conn) == 1 &&
                     PQflush(link->conn) == 0;
    return status;
}
