/*
 * Semaphores: a limited number of permits. Two kinds, which cannot share a key:
 *
 *   lk_semaphore  a number. Its permits have no owner and no lease: those of a crashed process are
 *                 gone until they are added again. Cheap, and good for counting things.
 *   lk_permits    every permit has an id and a lease: those of a crashed process come back.
 *
 * In Redis there is no queue: the first request after a release is served, and one for many permits may wait
 * long beside requests for few. A handle is for one thread at a time, and a second one gets INVALID; any thread
 * may cancel.
 *
 * Example
 *     lk_semaphore *places = lk_semaphore_new(client, "printer", &err);
 *     if (lk_semaphore_acquire(places, 1, 2000, &err) == LK_OK) lk_semaphore_release(places, 1, &err);
 *     lk_semaphore_free(places);
 */
#ifndef LOCKKIT_SEMAPHORE_H
#define LOCKKIT_SEMAPHORE_H

#include "lockkit/lock.h"

#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* a function may have the name of the struct it fills */
extern "C" {
#endif

/* ---- lk_semaphore ---------------------------------------------------------------------------- */

typedef struct lk_semaphore lk_semaphore;

/*
 * A semaphore without owners.
 *
 * A lost answer is asked for again, and within a minute a permit is neither counted twice nor
 * forgotten; after that it is not counted twice: a handle's changes are numbered, and the script that makes one notes the number in
 * a key of the handle.
 *
 * Shape    key: string, the permits that are free; absent: none. Shares keys with Redisson's
 *          RSemaphore, and wakes and is woken on its channel "redisson_sc:{key}". Besides, a minute
 *          long after a change, "{key}:lockkit_claim:<uuid>:<n>" (as for all names: no braces added
 *          when the key has some).
 * Owns     key is copied: 1 to 512 bytes. client must outlive the handle.
 * Returns  NULL with err filled: INVALID, NO_MEMORY.
 * Source   Redisson RSemaphore; scripts/semaphore_*.lua.
 */
lk_semaphore *lk_semaphore_new(lk_client *client, const char *key, struct lk_error *err);

/*
 * Set the permits of a semaphore that has none yet; every process may do so at its start.
 *
 * Shape    permits: 0 to 2147483647, as everywhere here.
 * Returns  OK; BUSY: it is set already, and was left alone (after UNKNOWN: perhaps by this handle).
 *          INVALID, UNKNOWN, UNREACHABLE, SERVER, NO_MEMORY: also of all below.
 */
LK_MUST_CHECK lk_status lk_semaphore_try_set(lk_semaphore *semaphore, int64_t permits,
                                             struct lk_error *err);

/*
 * Take permits, all at once or none, waiting for others to release as long as wait_ms.
 *
 * Units    wait_ms: milliseconds (LK_FOREVER: no limit); 0: try once. A waiter looks at least every poll_ms.
 * Returns  OK         taken; 0 permits always are.
 *          BUSY       too few were free in time.
 *          EXHAUSTED  no connection of the pool became free.
 *          CANCELLED  lk_semaphore_cancel() ended the wait.
 *          UNKNOWN    no answer came; nothing is held. What was taken has been given back, or will
 *                     be by the next acquire, drain, add or release of this handle.
 *          LOST       no answer came, and this process was suspended for a minute before it could
 *                     repeat it: nothing is held, but permits may be gone until they are added again.
 *          SERVER     an error; also when the key is something else than a number.
 */
LK_MUST_CHECK lk_status lk_semaphore_acquire(lk_semaphore *semaphore, int64_t permits,
                                             int64_t wait_ms, struct lk_error *err);

/*
 * Release permits. It is not checked who acquired them, if anybody did, so count well.
 *
 * Returns  OK       released; waiters are woken.
 *          UNKNOWN  no answer came: call it again, with the same number. It counts once, and so it
 *                   does when the handle's next acquire, drain or add finishes it instead.
 *          LOST     no answer came, and it was called again after more than a minute: it counts once,
 *                   or not at all, and it cannot be known which.
 *          INVALID  a negative number; more permits than can be counted; another release of this
 *                   handle is unfinished.
 */
lk_status lk_semaphore_release(lk_semaphore *semaphore, int64_t permits, struct lk_error *err);

/*
 * Change how many there are, free or taken: by a negative number for less, of the free ones.
 *
 * Returns  OK; BUSY: fewer are free than shall go; INVALID: more than can be counted; UNKNOWN and
 *          LOST: as for release.
 */
lk_status lk_semaphore_add(lk_semaphore *semaphore, int64_t permits, struct lk_error *err);

/* Take all that are free, at once, perhaps 0; *out_permits says how many. As acquire. */
LK_MUST_CHECK lk_status lk_semaphore_drain(lk_semaphore *semaphore, int64_t *out_permits,
                                           struct lk_error *err);

/* How many are free right now. */
LK_MUST_CHECK lk_status lk_semaphore_available(lk_semaphore *semaphore, int64_t *out_permits,
                                               struct lk_error *err);

/* Delete it: acquires wait until it is set anew. NOT_OWNER: there was none. */
lk_status lk_semaphore_delete(lk_semaphore *semaphore, struct lk_error *err);

/* End a wait in lk_semaphore_acquire() of another thread, or the next one, as lk_lock_cancel(). NULL is fine. */
void lk_semaphore_cancel(lk_semaphore *semaphore);

/*
 * Free the handle. What it took stays taken.
 *
 * Owns     takes the semaphore; NULL is fine.
 */
void lk_semaphore_free(lk_semaphore *semaphore);

/* ---- lk_permits ------------------------------------------------------------------------------ */

typedef struct lk_permits lk_permits;

enum {
    LK_PERMIT_ID_MAX = 33,   /* 32 lower-case hex digits and NUL */
    LK_PERMIT_NO_LEASE = -1, /* for lease_ms: until it is released */
    LK_PERMITS_AT_ONCE = 1024,
};

/* One permit. To use one that another process took, fill in its id. */
struct lk_permit {
    char id[LK_PERMIT_ID_MAX];
    int64_t ends_ns; /* at the earliest, by the local clock; see lk_permit_remaining_ms() */
};

/* Zero means the default given in brackets. */
struct lk_permit_options {
    size_t size;      /* LK_OPTIONS() [0: that of version 0.1] */
    int64_t wait_ms;  /* how long to wait for permits [0: try once] */
    int64_t lease_ms; /* after this long they come back by themselves; LK_PERMIT_NO_LEASE [30000; in
                         ZooKeeper none] */
};

/*
 * A semaphore whose permits have ids and leases.
 *
 * Leases are explicit: nothing renews a permit that is known by its id alone, for it may be given
 * back by another process. lk_permits_renew() does by hand; lk_permit_lock_new() is a permit as a
 * lock, with the watchdog and the notice of loss that locks have.
 *
 * Shape    key: string, the permits available; "{key}:timeout": zset, id (16 bytes; in this header
 *          32 hex digits) -> its end in epoch ms by the server's clock, or 922337203685477 without
 *          lease. Shares keys with Redisson's RPermitExpirableSemaphore, whose ids are as good here
 *          as ours there, and its channel "redisson_sc:{key}". In PostgreSQL each is a row of
 *          lockkit.lock, so there 1 to 10000 of them can be set. In ZooKeeper they are the leases of
 *          Curator's InterProcessSemaphoreV2 at the path key, the number a SharedCount at key/count;
 *          a permit's id is the UUID in its node's name, without hyphens. It has no lease there, so
 *          lease_ms is 0 or LK_PERMIT_NO_LEASE: it ends with the session of the client that took it.
 *          A request has a place in a queue; the permits of the first one count as acquired while it waits.
 * Owns     as lk_semaphore_new().
 * Returns  NULL with err filled: INVALID, NO_MEMORY.
 * Source   Redisson RPermitExpirableSemaphore; scripts/permits_*.lua. Other than there, the
 *          server's clock decides what has expired.
 */
lk_permits *lk_permits_new(lk_client *client, const char *key, struct lk_error *err);

/* Set the permits of a semaphore that has none yet: OK; BUSY: it is set already. */
LK_MUST_CHECK lk_status lk_permits_try_set(lk_permits *permits, int64_t count,
                                           struct lk_error *err);

/* Make it so many, available and acquired together. If more are out: as they come back, none is
   available until the number is right. Doing it twice changes nothing. */
LK_MUST_CHECK lk_status lk_permits_set(lk_permits *permits, int64_t count, struct lk_error *err);

/*
 * Take a permit for each element of out, all or none.
 *
 * Units    the lease counts from before the request was sent. A waiter sleeps until the next permit
 *          expires, is woken when one is released, and looks at least every poll_ms.
 * Owns     out: written on OK only; count is 1 to LK_PERMITS_AT_ONCE.
 * Returns  OK         taken; release them.
 *          BUSY       too few were available in time.
 *          EXHAUSTED  no connection of the pool became free.
 *          CANCELLED  lk_permits_cancel() ended the wait.
 *          LOST       the answer came after the leases had ended; already given back.
 *          UNKNOWN    no answer came, though asked for twice; treat as not taken. It was tried to
 *                     undo; else the lease clears it (one without lease may stay out for ever).
 *          INVALID, UNREACHABLE, SERVER, NO_MEMORY: also of all below.
 */
LK_MUST_CHECK lk_status lk_permits_acquire(lk_permits *permits,
                                           const struct lk_permit_options *options,
                                           struct lk_permit *out, size_t count,
                                           struct lk_error *err);

/*
 * Give back permits, all or none. Only the ids matter, so any process may do it.
 *
 * Returns  OK         released; waiters are woken.
 *          NOT_OWNER  one had ended before (it has come back already); the others, if any, are
 *                     still out.
 *          INVALID    also: an id that is none.
 *          UNKNOWN    no answer came, though asked for twice: ask again, or leave it to the lease.
 *          UNKNOWN, UNREACHABLE, EXHAUSTED  also: in Redis the client repeats it until the lease is over
 *                     (lk_client_has_pending_undo()); a call that repeats it may get NOT_OWNER then.
 */
lk_status lk_permits_release(lk_permits *permits, const struct lk_permit *list, size_t count,
                             struct lk_error *err);

/*
 * Begin a permit's lease anew, shorter or longer; permit->ends_ns is set.
 *
 * Returns  OK; LOST: it has ended; UNKNOWN: its end is the nearer one of both.
 */
LK_MUST_CHECK lk_status lk_permits_renew(lk_permits *permits, struct lk_permit *permit,
                                         int64_t lease_ms, struct lk_error *err);

/* Ask the server how long a permit is good; permit->ends_ns is set. NOT_OWNER: it has ended. */
LK_MUST_CHECK lk_status lk_permits_ask(lk_permits *permits, struct lk_permit *permit,
                                       struct lk_error *err);

/* Milliseconds left of a permit by the local clock, at least; INT64_MAX without lease; 0 when it
   has ended, or nothing is known. No I/O. As with locks: checking and acting are two steps. */
int64_t lk_permit_remaining_ms(const struct lk_permit *permit);

struct lk_permits_usage {
    int64_t available; /* may be less than 0 after lk_permits_set() */
    int64_t acquired;
};

/* Count them. */
LK_MUST_CHECK lk_status lk_permits_usage(lk_permits *permits, struct lk_permits_usage *out,
                                         struct lk_error *err);

/* Delete it, with all its permits. NOT_OWNER: there was none. */
lk_status lk_permits_delete(lk_permits *permits, struct lk_error *err);

/* End a wait in lk_permits_acquire() of another thread, or the next one, as lk_lock_cancel(). NULL is fine. */
void lk_permits_cancel(lk_permits *permits);

/*
 * Free the handle. Permits stay as they are.
 *
 * Owns     takes the handle; NULL is fine.
 */
void lk_permits_free(lk_permits *permits);

/*
 * One permit as a lock (lock.h), of which as many can be held at once as there are permits: with
 * lease or watchdog, lk_held(), notice of its loss, lk_guarded_eval(). Not reentrant; cannot be
 * broken. lk_lock_token() is the permit's id.
 *
 * Shape    as lk_permits_new(), which sets the number.
 * Owns     as lk_semaphore_new().
 * Returns  NULL with err filled: INVALID, NO_MEMORY.
 */
lk_lock *lk_permit_lock_new(lk_client *client, const char *key, struct lk_error *err);

#ifdef __cplusplus
}
#pragma GCC diagnostic pop
#endif
#endif
