/*
 * The lease row: one row per lock, with a token per hold, a fence, and its end by the clock of the database. Each
 * step is one statement that commits by itself. All times are clock_timestamp(): now() is constant in a
 * transaction, and could grant a lease that has ended already.
 *
 * A release sends a NOTIFY only if there is a waiter, as committing one takes a lock over the whole server. An
 * acquire that finds the lock taken registers as a waiter in the same statement; if a release came in between, it
 * tries again. Threads as lock.h says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "locks/lock.h"
#include "postgres.h"

struct row {
    lk_lock base;
    const struct postgres_words *words;
    char conn
        [POSTGRES_NAME_MAX]; /* the connection of an unanswered try, which may still run; or "" */
};

static const char make_row[] = "INSERT INTO lockkit.lock VALUES ($1) ON CONFLICT DO NOTHING";

/* name, token, owner, lease ms, ms for which a release is to be notified (0: not). The fence is greater than every
   earlier one, also after the table was restored from a backup. -> fence, ms left, whether to try again */
static const char acquire[] =
    "WITH won AS (UPDATE lockkit.lock SET token = $2, owner = $3, taken = clock_timestamp(),"
    " fence = greatest(fence + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint),"
    " expires = clock_timestamp() + $4::bigint * interval '1 ms'"
    " WHERE name = $1 AND slot = 0 AND expires <= clock_timestamp() RETURNING fence),"
    " told AS (UPDATE lockkit.lock SET awaited = clock_timestamp() + $5::bigint * interval '1 ms'"
    " WHERE name = $1 AND slot = 0 AND expires > clock_timestamp() AND $5::bigint > 0"
    " AND awaited < clock_timestamp() + $5::bigint * interval '0.5 ms' RETURNING 1)"
    " SELECT (SELECT fence FROM won),"
    " ceil(extract(epoch FROM greatest(expires, now()) - now()) * 1000)::bigint,"
    " NOT EXISTS (SELECT FROM told) AND awaited < clock_timestamp() + $5::bigint * interval"
    " '0.5 ms' FROM lockkit.lock WHERE name = $1 AND slot = 0";

static const char renew[] =
    "UPDATE lockkit.lock SET expires = greatest(expires, clock_timestamp() + $3::bigint *"
    " interval '1 ms') WHERE name = $1 AND token = $2 AND expires > clock_timestamp() RETURNING 1";

/* By token, or by force. */
static const char release[] =
    "WITH freed AS (UPDATE lockkit.lock SET token = '', expires = '-infinity'"
    " WHERE name = $1 AND (token = $2 OR ($2 IS NULL AND slot = 0)) AND expires > clock_timestamp()"
    " RETURNING awaited > clock_timestamp() AS is_awaited)"
    " SELECT CASE WHEN is_awaited THEN pg_catalog.pg_notify('lockkit', '1 ' || $1) END FROM freed";

static const struct postgres_words own = {
    .make = make_row,
    .acquire = acquire,
    .renew = renew,
    .release = release,
    .check = "SELECT " POSTGRES_TRANSACTION " FROM lockkit.lock"
             " WHERE name = $1 AND token = $2 AND expires > clock_timestamp() FOR UPDATE",
    .has_fence = true,
};

/* ---- one statement --------------------------------------------------------------------------------- */

static const struct postgres_words *words_of(const lk_lock *lock)
{
    return ((const struct row *)(const void *)lock)->words;
}

static lk_status ask_acquire(lk_lock *lock, int64_t told_ms, int64_t deadline, PGresult **out,
                             struct lk_error *err)
{
    const struct postgres *self = lock->client->backend_state;
    struct row *row = (struct row *)(void *)lock;
    const struct postgres_statement undo =
        POSTGRES_STATEMENT(row->words->release, lock->key, lock->token);
    struct postgres_statement take =
        POSTGRES_STATEMENT(row->words->acquire, lock->key, lock->token, self->owner,
                           POSTGRES_NUMBER(lock->lease_ms), POSTGRES_NUMBER(told_ms));
    char conn[POSTGRES_NAME_MAX] = "";
    take.undo = &undo;
    take.out_conn = conn;
    lk_status status = postgres_ask(lock->client, &take, deadline, out, err);

    if (status == LK_UNKNOWN) memcpy(row->conn, conn, sizeof conn);
    return status;
}

static lk_status row_try_acquire(lk_lock *lock, int64_t *out_ttl_ms, int64_t deadline,
                                 struct lk_error *err)
{
    const struct postgres_words *words = words_of(lock);
    const struct postgres_statement make = POSTGRES_STATEMENT(words->make, lock->key);
    int64_t told_ms = out_ttl_ms ? 2 * lock->client->options.poll_ms : 0;
    PGresult *answer = NULL;

    if (lock->is_renewed && !words->has_fence)
        return LKI_FAIL(err, LK_INVALID, "%s: renewed by hand alone", lock->key);
    lk_status status = ask_acquire(lock, told_ms, deadline, &answer, err);

    if (status == LK_OK && PQntuples(answer) == 0) { /* the first one ever */
        PQclear(answer);
        answer = NULL;
        status = postgres_ask(lock->client, &make, deadline, NULL, err);
        if (status == LK_OK) status = ask_acquire(lock, told_ms, deadline, &answer, err);
    }
    if (out_ttl_ms) *out_ttl_ms = -2;
    if (status != LK_OK) return status;
    lock->fence = strtoull(PQgetvalue(answer, 0, 0), NULL, 10);
    if (out_ttl_ms && *PQgetvalue(answer, 0, 2) != 't')
        *out_ttl_ms = strtoll(PQgetvalue(answer, 0, 1), NULL, 10);
    PQclear(answer);
    if (lock->fence == 0) return LKI_FAIL(err, LK_BUSY, "%s: held by somebody else", lock->key);
    if (!words->has_fence) lock->fence = 0;
    return LK_OK;
}

/* Only this handle counts holds, not the server. So a re-entry is a renewal. */
static lk_status row_renew(lk_lock *lock, int64_t lease_ms, int64_t deadline, struct lk_error *err)
{
    const struct postgres_statement prolong = POSTGRES_STATEMENT(
        words_of(lock)->renew, lock->key, lock->token, POSTGRES_NUMBER(lease_ms));
    lk_status status = postgres_touch(lock->client, &prolong, deadline, err);

    if (status != LK_NOT_OWNER) return status;
    return LKI_FAIL(err, LK_LOST, "%s: the hold has ended", lock->key);
}

static lk_status row_leave(lk_lock *lock, unsigned depth, int64_t deadline, struct lk_error *err)
{
    (void)depth;
    lk_status status = row_renew(lock, lock->lease_ms, deadline, err);

    if (status != LK_LOST) return status;
    return LKI_FAIL(err, LK_NOT_OWNER, "%s: the lease had ended before the release", lock->key);
}

/* Release. Without an answer it is still run, as soon as the server or a pooler gets to it. */
static lk_status end_by(lk_lock *lock, const char *token, int64_t deadline, struct lk_error *err)
{
    struct row *row = (struct row *)(void *)lock;
    const struct postgres_statement again =
        POSTGRES_STATEMENT(row->words->release, lock->key, token);
    struct postgres_statement end = again;

    if (token) end.undo = &again;
    if (token && row->conn[0]) { /* an unanswered statement may still be running */
        lk_status ended = postgres_end_session(lock->client, row->conn, &again, deadline, err);

        if (ended != LK_OK) return ended;
        row->conn[0] = '\0';
    }
    return postgres_touch(lock->client, &end, deadline, err);
}

/* An undo is tried for the time of a command; unlike with Redis, there are no pending undos later. */
static lk_status undo_acquire(lk_lock *lock, struct lk_error *err)
{
    struct row *row = (struct row *)(void *)lock;
    const struct postgres_statement end =
        POSTGRES_STATEMENT(row->words->release, lock->key, lock->token);
    lk_status status = postgres_undo(lock->client, row->conn, &end, err);

    if (status == LK_OK || status == LK_NOT_OWNER) row->conn[0] = '\0';
    return status;
}

static lk_status row_release(lk_lock *lock, int64_t deadline, struct lk_error *err)
{
    lk_status status =
        lock->undo_until != 0 ? undo_acquire(lock, err) : end_by(lock, lock->token, deadline, err);

    if (status != LK_NOT_OWNER) return status;
    return LKI_FAIL(err, LK_NOT_OWNER, "%s: the lease had ended before the release", lock->key);
}

static lk_status row_force(lk_lock *lock, int64_t deadline, struct lk_error *err)
{
    lk_status status = end_by(lock, NULL, deadline, err);

    if (status != LK_NOT_OWNER) return status;
    return LKI_FAIL(err, LK_NOT_OWNER, "%s: nobody held it", lock->key);
}

/* ---- the kinds ------------------------------------------------------------------------------------- */

static void row_free(lk_lock *lock)
{
    lki_lock_done(lock);
    free(lock);
}

const char *postgres_row_check(const lk_lock *lock)
{
    if (!postgres_is(lock->client)) return NULL;
    if (lock->ops->release == row_release) return words_of(lock)->check;
    return lock->wake_channel ? own.check : NULL; /* a permit has a row, too */
}

#define ROW_OPS                                                                                    \
    .try_acquire = row_try_acquire, .release = row_release, .force = row_force,                    \
    .renew = row_renew, .free = row_free

static const struct lki_lock_ops kinds[] = {
    {.kind = "mutex", ROW_OPS},
    {.kind = "non-reentrant", ROW_OPS},
    {.kind = "reentrant", ROW_OPS, .reenter = row_renew, .leave = row_leave},
    {.kind = "fenced", ROW_OPS, .reenter = row_renew, .leave = row_leave},
    {.kind = "shedlock", ROW_OPS},
};

lk_lock *postgres_row_new(lk_client *client, const char *kind, const char *key,
                          struct lk_error *err)
{
    const struct lki_lock_ops *ops = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].kind, kind) == 0) ops = &kinds[i];
    }
    if (strcmp(kind, "advisory") == 0) return postgres_advisory_new(client, key, err);
    if (!ops && lki_context_check_redis(client, kind, err) != LK_OK) return NULL;
    struct row *row = calloc(1, sizeof *row);
    if (!row) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "a lock");
        return NULL;
    }
    row->words = strcmp(kind, "shedlock") == 0 ? &postgres_shedlock : &own;
    if (key) row->base.wake_channel = strdup(key);
    if (lki_lock_init(&row->base, ops, client, key, err) == LK_OK) return &row->base;
    row_free(&row->base);
    return NULL;
}
