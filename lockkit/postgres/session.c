/*
 * Statements of the user without a lock: a single one on any connection, or several on one.
 */
#include <stdlib.h>

#include "lockkit/postgres.h"

#include "base/clock.h"
#include "base/error.h"
#include "postgres.h"

struct lk_postgres_session {
    lk_client *client; /* borrowed */
    struct postgres_conn *conn;
};

static lk_status begin(lk_client *client, int64_t deadline, lk_postgres_session *out,
                       struct lk_error *err)
{
    if (!client || !postgres_is(client))
        return LKI_FAIL(err, LK_INVALID, "no client of PostgreSQL");
    lk_status status = lki_context_check(client, err);
    *out = (lk_postgres_session){.client = client};
    return status == LK_OK ? postgres_borrow(client, deadline, &out->conn, err) : status;
}

static lk_status ask(const lk_postgres_session *session, const struct lk_postgres_work *work,
                     int64_t deadline, PGresult **out, struct lk_error *err)
{
    const struct postgres_statement own = {
        .sql = work->sql, .params = work->params, .count = work->count};
    lk_status status = postgres_conn_ask(session->conn, &own, deadline, out, err);

    if (status == LK_UNREACHABLE) postgres_conn_end(session->conn);
    return status;
}

lk_status lk_postgres_ask(lk_client *client, const struct lk_postgres_work *work, int64_t limit_ms,
                          struct pg_result **out_result, struct lk_error *err)
{
    int64_t deadline = client ? lki_context_deadline(client, limit_ms) : 0;
    lk_postgres_session session = {.client = client};
    lk_status status = begin(client, deadline, &session, err);

    if (status != LK_OK) return status;
    status = ask(&session, work, deadline, out_result, err);
    postgres_return(client, session.conn);
    return status;
}

lk_postgres_session *lk_postgres_session_open(lk_client *client, int64_t limit_ms,
                                              struct lk_error *err)
{
    int64_t deadline = client ? lki_context_deadline(client, limit_ms) : 0;
    lk_postgres_session *self = calloc(1, sizeof *self);

    if (!self) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "a session");
    } else if (begin(client, deadline, self, err) != LK_OK) {
        free(self);
        self = NULL;
    }
    return self;
}

lk_status lk_postgres_session_ask(lk_postgres_session *session, const struct lk_postgres_work *work,
                                  int64_t limit_ms, struct pg_result **out_result,
                                  struct lk_error *err)
{
    return ask(session, work, lki_context_deadline(session->client, limit_ms), out_result, err);
}

void lk_postgres_session_close(lk_postgres_session *session)
{
    static const struct lk_postgres_work last[] = {{.sql = "ROLLBACK"}, {.sql = "DISCARD ALL"}};

    if (!session) return;
    int64_t deadline = lki_context_deadline(session->client, 0);
    for (size_t i = 0; i < sizeof last / sizeof last[0]; i++)
        if (ask(session, &last[i], deadline, NULL, NULL) != LK_OK) postgres_conn_end(session->conn);
    postgres_return(session->client, session->conn);
    free(session);
}
