/*
 * Locks in PostgreSQL, and functions that only they have (liblockkit-postgres, -llockkit-postgres).
 *
 * A client opened with a URL postgres://[user[:pass]@]host[:port],host.../database?parameter=value (whatever
 * libpq takes; PostgreSQL 14 or later) has lk_mutex_new(), lk_reentrant_new(), lk_non_reentrant_new(),
 * lk_fenced_new(), lk_permits_new() and lk_permit_lock_new(), and lk_advisory_new(); other kinds are INVALID there.
 *
 * All but the advisory lock are rows of the table lockkit.lock, made at the first opening, with owner, token, fence
 * and the end of the lease by the database's clock: one for a lock, one for each permit. The first four have a
 * fence. A hold survives a restart of the server; after a failover to an asynchronous standby without it, its loss is
 * reported. As long as the old primary still answers, it has a holder as well, and commits guarded statements: they
 * are OK there, and lost later, unless a synchronous standby had to confirm them; a store elsewhere distinguishes the
 * two holders by the fence. Which one to use: data in the same database needs no lock, but one conditional statement
 * or lk_postgres_exclusive(); work outside the database, a lease with its fence; exclusion of other programs that use
 * PostgreSQL's own locks, the advisory lock.
 *
 * Example
 *     lk_client *client = lk_client_open(LK_OPTIONS(client, .url = "postgres://app@db/shop"), &err);
 *     lk_lock *lock = lk_fenced_new(client, "report", &err);
 *     const char *params[] = {"42"};
 *     struct lk_postgres_work work = {"UPDATE public.report SET pages = $1", params, 1};
 *     if (lk_lock_wait(lock, 2000, &err) == LK_OK && lk_postgres_guarded(lock, &work, 0, NULL, &err) == LK_OK)
 *         puts("committed by the holder");
 *     lk_lock_close(lock, &err);
 */
#ifndef LOCKKIT_POSTGRES_H
#define LOCKKIT_POSTGRES_H

#include "lockkit/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pg_result; /* libpq's PGresult */

/*
 * A lock that excludes, and is excluded by, ShedLock (Java) where it has usingDbTime(): the row of that name in
 * its table public.shedlock (name, lock_until timestamp, locked_at timestamp, locked_by), which has to be there.
 * locked_by ends with a token of the hold, so that nobody is taken for another on the same host. lk_postgres_guarded()
 * takes it. Not reentrant; no fence (0); releases are not notified, so waiters poll every poll_ms.
 *
 * Units    the lease is ShedLock's lockAtMostFor; there is no lockAtLeastFor. is_renewed is INVALID: lk_lock_renew().
 * Owns     the lock is yours: lk_lock_free().
 * Returns  NULL with err filled: INVALID (another server, a key of a wrong length), NO_MEMORY.
 */
lk_lock *lk_shedlock_new(lk_client *client, const char *key, struct lk_error *err);

/* One statement of yours with its parameters as text ($1, $2...; NULL: NULL). Names in it with their schema. */
struct lk_postgres_work {
    const char *sql;
    const char *const *params;
    int count;
};

/*
 * Do it in a transaction that also checks, and keeps, that this handle still holds the lock: the only thing
 * that protects data from a holder that overslept. The row of the lock stays locked until it has
 * committed: no other client can acquire the lock before, not even when its lease ends meanwhile.
 *
 * Units    limit_ms for all of it; 0 means command_ms. That much more to end a session that did not answer, and
 *          to find out what came of its COMMIT.
 * Owns     on OK *out_result is yours (PQclear); out_result may be NULL.
 * Returns  OK         committed.
 *          NOT_OWNER  the lock is not ours any more; nothing was done.
 *          UNKNOWN    the answer to COMMIT was lost, and that server could not be asked what came of it.
 *          UNSYNCED   committed there, but no standby that synchronous_standby_names wants has confirmed it in time:
 *                     a failover may undo it.
 *          SERVER     the statement failed; err has its words; nothing was done.
 *          INVALID    this handle holds nothing, or is no lock in PostgreSQL; another thread is inside a verb of it.
 *          BUSY, EXHAUSTED, DEADLOCK, UNREACHABLE, NO_MEMORY: nothing was done.
 * Source   Kleppmann 2016, fencing by the resource itself; a lost COMMIT is resolved by pg_xact_status().
 */
LK_MUST_CHECK lk_status lk_postgres_guarded(lk_lock *lock, const struct lk_postgres_work *work,
                                            int64_t limit_ms, struct pg_result **out_result,
                                            struct lk_error *err);

/*
 * Do it in a transaction that holds this advisory lock, which need not be acquired before: it ends with the
 * transaction, so there is nothing to renew or to lose. It works through a pooler, too.
 *
 * Units    limit_ms for all of it, three quarters of it for the wait; 0 means command_ms.
 * Owns     lock is of lk_advisory_new(); else as lk_postgres_guarded().
 * Returns  as lk_postgres_guarded(), but no NOT_OWNER; BUSY: others hold it; INVALID also: this handle does.
 */
LK_MUST_CHECK lk_status lk_postgres_exclusive(lk_lock *lock, const struct lk_postgres_work *work,
                                              int64_t limit_ms, struct pg_result **out_result,
                                              struct lk_error *err);

/*
 * Ask one statement by itself, which commits, on any connection of the client's pool. It must leave nothing
 * in the session.
 *
 * Units    limit_ms for all of it; 0 means command_ms.
 * Owns     as lk_postgres_guarded().
 * Returns  OK; UNKNOWN: it was sent, and no answer came. Nothing was done: SERVER (err has its words),
 *          BUSY (a row is in use), EXHAUSTED (no connection became free), DEADLOCK, UNREACHABLE, INVALID.
 */
LK_MUST_CHECK lk_status lk_postgres_ask(lk_client *client, const struct lk_postgres_work *work,
                                        int64_t limit_ms, struct pg_result **out_result,
                                        struct lk_error *err);

/*
 * The same with several on one connection, which it has to itself: for transactions of your own.
 *
 * Owns     the session is yours; end it with lk_postgres_session_close(), soon, and before the client. That rolls
 *          back what is open and clears the session; NULL is fine.
 * Threads  one at a time.
 */
typedef struct lk_postgres_session lk_postgres_session;
lk_postgres_session *lk_postgres_session_open(lk_client *client, int64_t limit_ms,
                                              struct lk_error *err);
LK_MUST_CHECK lk_status lk_postgres_session_ask(lk_postgres_session *session,
                                                const struct lk_postgres_work *work,
                                                int64_t limit_ms, struct pg_result **out_result,
                                                struct lk_error *err);
void lk_postgres_session_close(lk_postgres_session *session);

#ifdef __cplusplus
}
#endif
#endif
