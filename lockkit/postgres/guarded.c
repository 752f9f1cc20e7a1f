/*
 * The user's statement and its protection in one transaction: the check of the owner, which locks the row, so it
 * holds until the COMMIT; or a transaction's advisory lock. After a COMMIT without an answer, the same server is
 * asked for the outcome, once the session that may still be committing has ended.
 */
#include <stdio.h>
#include <string.h>

#include "lockkit/postgres.h"

#include "base/clock.h"
#include "base/error.h"
#include "locks/lock.h"
#include "postgres.h"

static const char advise[] =
    "SELECT " POSTGRES_TRANSACTION ", pg_catalog.set_config('lock_timeout', $2, true),"
    " pg_catalog.pg_advisory_xact_lock(" POSTGRES_ADVISORY_KEY ")";

struct transaction {
    lk_client *client;
    const char *key;
    struct postgres_statement protect; /* answers POSTGRES_TRANSACTION; no row: not held */
    struct postgres_conn *conn;
    int64_t deadline;
    char id[POSTGRES_NAME_MAX];
};

static lk_status run_sql(const struct transaction *transaction, const char *sql, PGresult **out,
                         struct lk_error *err)
{
    return postgres_conn_ask(transaction->conn, &(struct postgres_statement){.sql = sql},
                             transaction->deadline, out, err);
}

static lk_status begin(struct transaction *transaction, struct lk_error *err)
{
    PGresult *answer = NULL;
    lk_status status = run_sql(transaction, "BEGIN ISOLATION LEVEL READ COMMITTED", NULL, err);

    if (status == LK_OK)
        status = postgres_conn_ask(transaction->conn, &transaction->protect, transaction->deadline,
                                   &answer, err);
    if (status == LK_OK && PQntuples(answer) == 0)
        status =
            LKI_FAIL(err, LK_NOT_OWNER, "%s: not held by this handle any more", transaction->key);
    if (status == LK_OK)
        (void)snprintf(transaction->id, sizeof transaction->id, "%s", PQgetvalue(answer, 0, 0));
    PQclear(answer);
    return status;
}

/* A confirmed commit implies that all earlier ones are on the standbys of synchronous_standby_names. */
static bool check_synced(lk_client *client, int64_t deadline)
{
    char conn[POSTGRES_NAME_MAX] = "";
    const struct postgres_statement commit = {
        .sql = "SELECT pg_catalog.pg_logical_emit_message(true, 'lockkit', '')", .out_conn = conn};
    lk_status status = postgres_ask(client, &commit, deadline, NULL, NULL);

    if (status == LK_UNKNOWN)
        (void)postgres_end_session(client, conn, NULL, lki_context_deadline(client, 0), NULL);
    return status == LK_OK;
}

/* The session may still be committing, or wait for a standby without end: it is ended, and then the outcome is final.
   On another server, or one that was promoted since, the transaction number may be that of another one. */
static lk_status resolve(const struct transaction *transaction, struct lk_error *err)
{
    const struct postgres_statement ask =
        POSTGRES_STATEMENT("SELECT pg_catalog.pg_xact_status(split_part($1, ' ', 1)::xid8)"
                           " WHERE split_part($1, ' ', 2) = " POSTGRES_TIMELINE,
                           transaction->id);
    lk_client *client = transaction->client;
    int64_t deadline = lki_context_deadline(client, 0);
    PGresult *answer = NULL;
    lk_status status = postgres_end_session(client, transaction->conn->name, NULL, deadline, NULL);

    if (status == LK_OK) status = postgres_ask(client, &ask, deadline, &answer, NULL);
    const char *word =
        status == LK_OK && PQntuples(answer) == 1 ? PQgetvalue(answer, 0, 0) : "unknown";
    bool is_aborted = strcmp(word, "aborted") == 0;
    bool is_committed = strcmp(word, "committed") == 0;
    PQclear(answer);
    postgres_conn_end(transaction->conn);
    if (!is_committed)
        return LKI_FAIL(err, is_aborted ? LK_UNREACHABLE : LK_UNKNOWN,
                        "%s: the answer to COMMIT was lost%s", transaction->key,
                        is_aborted ? "; it was not done" : "");
    if (check_synced(client, deadline)) return LK_OK;
    return LKI_FAIL(err, LK_UNSYNCED, "%s: committed, but no standby has confirmed it",
                    transaction->key);
}

static lk_status commit(struct transaction *transaction, struct lk_error *err)
{
    PGresult *answer = NULL;

    transaction->conn->is_warned = false;
    lk_status status = run_sql(transaction, "COMMIT", &answer, err);
    /* COMMIT of a failed transaction is a ROLLBACK. */
    if (status == LK_OK && strcmp(PQcmdStatus(answer), "COMMIT") != 0)
        status = LKI_FAIL(err, LK_SERVER, "%s: rolled back", transaction->key);
    PQclear(answer);
    /* The warning says that its wait for a standby was cancelled. */
    bool is_open = status == LK_UNKNOWN || (status == LK_OK && transaction->conn->is_warned);
    return is_open ? resolve(transaction, err) : status;
}

static lk_status run(struct transaction *transaction, const struct lk_postgres_work *work,
                     PGresult **out, struct lk_error *err)
{
    const struct postgres_statement own = {
        .sql = work->sql, .params = work->params, .count = work->count};
    lk_client *client = transaction->client;
    lk_status status = begin(transaction, err);

    if (status == LK_OK)
        status = postgres_conn_ask(transaction->conn, &own, transaction->deadline, out, err);
    if (status == LK_OK) return commit(transaction, err);
    if (status == LK_UNKNOWN) { /* without a COMMIT it is rolled back, and holds no lock */
        (void)postgres_end_session(client, transaction->conn->name, NULL,
                                   lki_context_deadline(client, 0), NULL);
        return LKI_FAIL(err, LK_UNREACHABLE, "%s: no answer in time; it was not done",
                        transaction->key);
    }
    if (run_sql(transaction, "ROLLBACK", NULL, NULL) != LK_OK) postgres_conn_end(transaction->conn);
    return status;
}

/* Reset the session: the statement may have left settings, LISTENs or session locks. */
static void give_back(struct transaction *transaction)
{
    transaction->deadline = lki_context_deadline(transaction->client, 0);
    if (run_sql(transaction, "DISCARD ALL", NULL, NULL) != LK_OK)
        postgres_conn_end(transaction->conn);
    postgres_return(transaction->client, transaction->conn);
}

static lk_status check_work(const struct lk_postgres_work *work, struct lk_error *err)
{
    if (work && work->sql && work->count >= 0 && (work->count == 0 || work->params)) return LK_OK;
    return LKI_FAIL(err, LK_INVALID, "no statement, or no parameters (NULL)");
}

static lk_status execute(struct transaction *transaction, const struct lk_postgres_work *work,
                         PGresult **out_result, struct lk_error *err)
{
    PGresult *result = NULL;
    lk_status status =
        postgres_borrow(transaction->client, transaction->deadline, &transaction->conn, err);

    if (status != LK_OK) return status;
    status = run(transaction, work, &result, err);
    give_back(transaction);
    if (status == LK_OK && out_result) {
        *out_result = result;
    } else {
        PQclear(result);
    }
    return status;
}

lk_status lk_postgres_guarded(lk_lock *lock, const struct lk_postgres_work *work, int64_t limit_ms,
                              struct pg_result **out_result, struct lk_error *err)
{
    lk_status status = check_work(work, err);

    if (status == LK_OK) status = lki_lock_enter(lock, err);
    if (status != LK_OK) return status;
    struct transaction transaction = {
        .client = lock->client,
        .key = lock->key,
        .protect = POSTGRES_STATEMENT(postgres_row_check(lock), lock->key, lock->token),
        .deadline = lki_context_deadline(lock->client, limit_ms)};
    if (!transaction.protect.sql) {
        status = LKI_FAIL(err, LK_INVALID, "%s: no row of PostgreSQL", lock->key);
    } else if (atomic_load(&lock->state) == LOCK_IDLE) {
        status = LKI_FAIL(err, LK_INVALID, "%s: this handle holds nothing", lock->key);
    } else {
        status = execute(&transaction, work, out_result, err);
    }
    return lki_lock_leave(lock, status);
}

lk_status lk_postgres_exclusive(lk_lock *lock, const struct lk_postgres_work *work,
                                int64_t limit_ms, struct pg_result **out_result,
                                struct lk_error *err)
{
    lk_status status = check_work(work, err);

    if (status == LK_OK) status = lki_lock_enter(lock, err);
    if (status != LK_OK) return status;
    int64_t deadline = lki_context_deadline(lock->client, limit_ms);
    const char *wait_ms = POSTGRES_NUMBER(lki_clock_left_ms(deadline) * 3 / 4);
    struct transaction transaction = {.client = lock->client,
                                      .key = lock->key,
                                      .protect = POSTGRES_STATEMENT(advise, lock->key, wait_ms),
                                      .deadline = deadline};
    if (!postgres_is(lock->client) || lock->wake_channel) {
        status = LKI_FAIL(err, LK_INVALID, "%s: no advisory lock of PostgreSQL", lock->key);
    } else if (atomic_load(&lock->state) != LOCK_IDLE) {
        status = LKI_FAIL(err, LK_INVALID, "%s: this handle holds it: release it first", lock->key);
    } else {
        status = execute(&transaction, work, out_result, err);
    }
    return lki_lock_leave(lock, status);
}
