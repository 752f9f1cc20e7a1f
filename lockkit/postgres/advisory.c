/*
 * The session advisory lock of PostgreSQL, which other programs may acquire by the same number. A hold, and a
 * wait, has a session of the pool to itself: no other statement runs in it, the session's own count grants
 * nobody the lock twice, and the hold ends with the session, whose name is the token. A waiter is in the
 * server's queue for a short time at once, so that it can be cancelled.
 *
 * An error does not prove that the lock was not granted: the session releases everything before it is used again.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/error.h"
#include "locks/lock.h"
#include "postgres.h"

enum { PIECE_MS = 500 }; /* a wait consists of waits of this length */

struct advisory {
    lk_lock base;
    struct postgres_conn *conn; /* lent by the pool; NULL: none */
    atomic_int fd;              /* its socket, while it is held */
    int64_t wait_until;
};

/* name, its process, idle ms (0: any), ms to wait. Not through a pooler, which answers with another process. The
   server ends a hold that is not renewed. */
#define WHERE_DIRECT " WHERE pg_catalog.pg_backend_pid() = $2::int AND $4::text <> ''"
#define LEAVE_IDLE   "pg_catalog.set_config('idle_session_timeout', $3, false)"

static const char try_it[] =
    "SELECT CASE WHEN pg_catalog.pg_try_advisory_lock(" POSTGRES_ADVISORY_KEY ") THEN " LEAVE_IDLE
    " END" WHERE_DIRECT;
static const char wait_for_it[] =
    "SELECT " LEAVE_IDLE ", pg_catalog.set_config('lock_timeout', $4, true),"
    " pg_catalog.pg_advisory_lock(" POSTGRES_ADVISORY_KEY ")" WHERE_DIRECT;
static const char leave_it[] = "SELECT pg_catalog.pg_advisory_unlock_all(),"
                               " pg_catalog.set_config('idle_session_timeout', '0', false)";
static const char renew_it[] = "SELECT pg_catalog.set_config('idle_session_timeout', $1, false)";

/* ---- acquire --------------------------------------------------------------------------------------- */

/* Try once, or wait in the queue for this long. */
static lk_status ask_for(struct advisory *self, int64_t piece_ms, int64_t deadline,
                         struct lk_error *err)
{
    lk_lock *lock = &self->base;
    const struct postgres_statement take = POSTGRES_STATEMENT(
        piece_ms > 0 ? wait_for_it : try_it, lock->key,
        POSTGRES_NUMBER(PQbackendPID(self->conn->pg)),
        POSTGRES_NUMBER(lock->is_renewed ? 0 : lock->lease_ms), POSTGRES_NUMBER(piece_ms));
    PGresult *answer = NULL;
    lk_status status = postgres_conn_ask(self->conn, &take, deadline, &answer, err);

    if (status == LK_OK && PQntuples(answer) == 0)
        status = LKI_FAIL(err, LK_INVALID,
                          "%s: a pooler is in between, and lends sessions to others", lock->key);
    if (status == LK_BUSY || (status == LK_OK && PQgetisnull(answer, 0, 0)))
        status = LKI_FAIL(err, LK_BUSY, "%s: held by somebody else", lock->key);
    PQclear(answer);
    return status;
}

/* Wait until it is granted, the deadline, or a cancel. The hold counts from the piece of the wait that got it. */
static lk_status wait_for(struct advisory *self, struct lk_error *err)
{
    lk_lock *lock = &self->base;
    lk_status status = LK_BUSY;

    while (status == LK_BUSY && !atomic_load(&lock->is_cancelled)) {
        int64_t piece_ms = lki_clock_left_ms(self->wait_until);

        if (piece_ms > lock->lease_ms / 4) piece_ms = lock->lease_ms / 4;
        if (piece_ms > PIECE_MS) piece_ms = PIECE_MS;
        if (piece_ms <= 0) break;
        lki_watchdog_expect(lock->client->watchdog, lock);
        int64_t deadline = lki_context_deadline(lock->client, 0) + piece_ms * NS_PER_MS;
        status = ask_for(self, piece_ms, deadline, err);
    }
    return status;
}

/* Return the session to the pool, after it has released everything. */
static lk_status give_back(struct advisory *self, int64_t deadline, struct lk_error *err)
{
    const struct postgres_statement leave = {.sql = leave_it};
    struct postgres_conn *conn = self->conn;
    lk_status status = postgres_conn_ask(conn, &leave, deadline, NULL, err);

    if (status != LK_OK) postgres_conn_end(conn);
    self->conn = NULL;
    postgres_return(self->base.client, conn);
    return status;
}

static lk_status advisory_try_acquire(lk_lock *lock, int64_t *out_ttl_ms, int64_t deadline,
                                      struct lk_error *err)
{
    struct advisory *self = (struct advisory *)(void *)lock;
    struct postgres *postgres = lock->client->backend_state;
    lk_status status = postgres_borrow(lock->client, deadline, &self->conn, err);

    if (out_ttl_ms) *out_ttl_ms = -2;
    if (status != LK_OK) return status;
    (void)snprintf(lock->token, sizeof lock->token, "%s", self->conn->name);
    if (out_ttl_ms) {
        status = wait_for(self, err);
    } else {
        self->wait_until = lki_clock_after_ms(lock->wait_ms);
        status = ask_for(self, 0, deadline, err);
    }
    if (status == LK_OK) {
        struct epoll_event until_end = {.events = EPOLLRDHUP | EPOLLET};

        atomic_store(&self->fd, PQsocket(self->conn->pg));
        (void)epoll_ctl(postgres->ends_fd, EPOLL_CTL_ADD, atomic_load(&self->fd), &until_end);
    } else if (status == LK_INVALID || (status == LK_BUSY && !out_ttl_ms)) {
        postgres_return(lock->client, self->conn); /* nothing was acquired */
        self->conn = NULL;
    } else {
        (void)give_back(self, lki_context_deadline(lock->client, 0), NULL);
    }
    return status;
}

/* ---- what is held ---------------------------------------------------------------------------------- */

static lk_status advisory_renew(lk_lock *lock, int64_t lease_ms, int64_t deadline,
                                struct lk_error *err)
{
    const struct postgres_statement prolong =
        POSTGRES_STATEMENT(renew_it, POSTGRES_NUMBER(lock->is_renewed ? 0 : lease_ms));
    PGresult *answer = NULL;
    lk_status status = postgres_conn_ask(((struct advisory *)(void *)lock)->conn, &prolong,
                                         deadline, &answer, err);

    PQclear(answer);
    return status == LK_UNREACHABLE ? LK_LOST : status;
}

/* When a session ends, the server or its host closes the socket. */
static bool advisory_is_over(const lk_lock *lock)
{
    const struct advisory *self = (const struct advisory *)(const void *)lock;
    struct pollfd socket = {.fd = atomic_load(&self->fd), .events = POLLRDHUP};

    return poll(&socket, 1, 0) == 1;
}

/* If its connection is broken, the session has ended, or is ended now. */
static lk_status advisory_release(lk_lock *lock, int64_t deadline, struct lk_error *err)
{
    struct advisory *self = (struct advisory *)(void *)lock;
    struct postgres *postgres = lock->client->backend_state;
    lk_status status = LK_UNREACHABLE;

    if (self->conn) {
        (void)epoll_ctl(postgres->ends_fd, EPOLL_CTL_DEL, atomic_exchange(&self->fd, -1), NULL);
        status = give_back(self, deadline, NULL);
    }
    if (status == LK_OK) return status;
    lk_status ended = postgres_end_session(lock->client, lock->token, NULL, deadline, err);
    if (ended != LK_OK) return ended;
    if (status == LK_UNKNOWN && lki_clock_now() < atomic_load(&lock->expires_at)) return LK_OK;
    return LKI_FAIL(err, LK_NOT_OWNER, "%s: its session had ended before the release", lock->key);
}

static void advisory_free(lk_lock *lock)
{
    struct advisory *self = (struct advisory *)(void *)lock;

    if (self->conn && !lki_context_is_foreign(lock->client)) { /* a hold ends with its session */
        postgres_conn_end(self->conn);
        postgres_return(lock->client, self->conn);
    }
    lki_lock_done(lock);
    free(lock);
}

static const struct lki_lock_ops advisory_ops = {
    .kind = "advisory",
    .is_silent = true,
    .try_acquire = advisory_try_acquire,
    .release = advisory_release,
    .renew = advisory_renew,
    .is_over = advisory_is_over,
    .free = advisory_free,
};

lk_lock *postgres_advisory_new(lk_client *client, const char *key, struct lk_error *err)
{
    struct advisory *self = calloc(1, sizeof *self);

    if (!self) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "a lock");
        return NULL;
    }
    if (lki_lock_init(&self->base, &advisory_ops, client, key, err) == LK_OK) return &self->base;
    advisory_free(&self->base);
    return NULL;
}
