/*
 * One constructor per kind of lock.
 */
#ifndef LOCKKIT_LOCKS_H
#define LOCKKIT_LOCKS_H

#include "lockkit/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A plain lock: one holder, not reentrant, no queue.
 *
 * Shape    key: string = token, taken by SET key token NX PX lease; a fresh 128-bit token (32 hex
 *          digits) per acquisition; released by compare-and-delete. Shares keys with redis-py,
 *          redsync, node-redlock and others of this layout. Waiters listen on channel
 *          "lockkit_wake:{key}" (no braces added when the key has some).
 * Owns     key is copied: 1 to 512 bytes. client must outlive the lock.
 * Returns  NULL with err filled: INVALID, NO_MEMORY.
 * Source   redis.io "Distributed locks"; scripts/mutex_release.lua.
 */
lk_lock *lk_mutex_new(lk_client *client, const char *key, struct lk_error *err);

/*
 * A reentrant lock: the handle that holds it may take it again, and gives it back as often.
 *
 * The owner is the handle: one handle per thread or task that competes, handed on together with the
 * hold. With is_renewed and the default lease it behaves as Redisson's watchdog (30 s, every 10 s).
 *
 * Shape    key: hash, one field "<uuid>:<n>" -> holds, TTL = lease; the number is new for every
 *          first acquire. Shares keys with Redisson's RLock, and wakes and is woken on its channel
 *          "redisson_lock__channel:{key}". Do not mix kinds on one key: exclusion holds among
 *          reentrant, spin and fenced, but not the waking.
 * Owns     as lk_mutex_new(), also below.
 * Returns  NULL with err filled: INVALID, NO_MEMORY; also below.
 * Source   Redisson RLock; scripts/reentrant_*.lua. Other than there, taking it again never shortens
 *          the lease.
 */
lk_lock *lk_reentrant_new(lk_client *client, const char *key, struct lk_error *err);

/* The same keys, but a handle that holds it and acquires again gets INVALID (Redisson 4.4). */
lk_lock *lk_non_reentrant_new(lk_client *client, const char *key, struct lk_error *err);

/*
 * A spin lock: reentrant, without messages. Waiters ask again after 1, 2, 4... 128 ms, with jitter.
 *
 * Source   Redisson RSpinLock: keys as RLock, nothing published.
 */
lk_lock *lk_spin_new(lk_client *client, const char *key, struct lk_error *err);

/*
 * A reentrant lock whose every holder has a greater number than the one before: lk_lock_fence().
 *
 * The number protects data elsewhere, if the resource refuses numbers below the highest it has
 * seen, in the same step as the write. Taking it again keeps the number (Redisson's client raises
 * it).
 *
 * Shape    as lk_reentrant_new(), and "redisson_lock_token:{key}": a counter without TTL.
 * Source   Redisson RFencedLock; Kleppmann, "How to do distributed locking" (2016).
 */
lk_lock *lk_fenced_new(lk_client *client, const char *key, struct lk_error *err);

/*
 * A read/write lock: any number of readers, or one writer. It is two lk_locks of one owner.
 *
 * Both sides are reentrant. Who holds the write side may take the read side besides; releasing
 * the write side first leaves a reader, and lets others in. The other way round, acquiring the
 * write side while holding the read side is DEADLOCK at once. Nobody is preferred: readers that
 * overlap without end keep writers out for ever. Several readers in a process are several
 * lk_rwlocks.
 *
 * Shape    key: hash, "mode" -> "read" or "write", "<uuid>:<n>" -> read holds,
 *          "<uuid>:<n>:write" -> write holds; and per read hold k a string
 *          "{key}:<uuid>:<n>:rwlock_timeout:<k>", whose TTL is the reader's lease: a reader without
 *          it is none, whoever keeps the hash alive. Shares keys with Redisson's RReadWriteLock,
 *          and its channel "redisson_rwlock:{key}".
 * Threads  both handles of one lk_rwlock together: one thread at a time.
 * Source   Redisson RReadWriteLock; scripts/rw_*.lua. Other than there, no release or re-entry cuts
 *          what another hold has left, and readers are woken when a writer becomes a reader.
 */
typedef struct lk_rwlock lk_rwlock;

lk_rwlock *lk_rwlock_new(lk_client *client, const char *key, struct lk_error *err);

/*
 * The sides. lk_lock_force_release() of one breaks the lock if it is held that way.
 *
 * Owns     borrowed: they end with the lk_rwlock, and lk_lock_free() leaves them alone.
 * Returns  NULL for NULL.
 */
lk_lock *lk_rwlock_read(lk_rwlock *rwlock);
lk_lock *lk_rwlock_write(lk_rwlock *rwlock);

/* Free it with both handles; holds are left to their leases. NULL is fine. */
void lk_rwlock_free(lk_rwlock *rwlock);

/* Zero means the default given in brackets. */
struct lk_fair_options {
    int64_t
        waiter_ms; /* a waiter that asks no more keeps its place this long [300000; least 100] */
};

/*
 * A fair lock: reentrant, and whoever waits gets it in the order of coming. An acquire that does not
 * wait is BUSY while anybody is in the queue, also when the lock is free.
 *
 * A waiter that ends its wait, for whatever reason, leaves the queue at once. One that cannot (it
 * died, its client was closed, the server is out of reach) keeps its place, and holds up those behind
 * it, until its window is over: the wait_ms it had, at most waiter_ms, counted from when those before
 * it must have gone. A waiter that lives asks about once
 * a second, which renews its window; if a Redisson client, or a break of the connection longer than
 * the window, has cost it its place, it queues up again at the end. LK_EVENT_QUEUED tells each place.
 *
 * Shape    as lk_reentrant_new(), and "redisson_lock_queue:{key}": list of owners, the next one
 *          first; "redisson_lock_timeout:{key}": zset, owner -> ms since 1970, by the server's clock.
 *          A waiter listens on "redisson_lock__channel:{key}:<owner>".
 * Owns     options are read during the call; NULL: all defaults.
 * Source   Redisson RFairLock; scripts/fair_*.lua. Other than there, the clock is the server's, a
 *          waiter renews its window, and a damaged queue heals.
 */
lk_lock *lk_fair_new(lk_client *client, const char *key, const struct lk_fair_options *options,
                     struct lk_error *err);

/* Zero means the default given in brackets. */
struct lk_multi_options {
    unsigned failures_allowed; /* locks it is held without; less than half of them [0: none] */
};

/*
 * A lock made of locks, of any kinds, clients and servers: held while all of them are; or while no
 * more than a stated number is missing. With n / 2 (n odd) allowed to be missing, and each lock on a
 * server of its own, it is Redlock, asking one server after the other.
 *
 * The locks are taken in the order of their servers and keys, whatever the order given. While one is
 * held by somebody else the others are given back within 10 ms, and it is waited for alone. A lease
 * that was taken before a wait, or is no longer fresh, is renewed before the acquire ends. When too
 * few locks are left, by the local clock or by what a server says, the whole is lost; that is
 * noticed also without is_renewed.
 *
 * Shape    no key of its own; 1 to 64 locks. The same one twice is INVALID, and a busy one if it goes
 *          by two names. It is not reentrant, cannot be broken by force, and guards no script:
 *          lk_guarded_eval() one of the locks.
 * Units    lease_ms is the lease of each lock; max_hold_ms likewise.
 * Owns     borrows the locks, copies the array. They must outlive it, be idle when it is acquired,
 *          and be left alone until it is released. Its events go to the client of the first one.
 * Returns  NULL with err filled: INVALID, NO_MEMORY. lk_lock_acquire(): as for any lock; LOST also
 *          when too few are left in the end; UNREACHABLE, UNKNOWN, SERVER, LOST, DEADLOCK when more
 *          than allowed cannot be had for such a reason. All that was taken is given back then.
 *          lk_lock_release(): releases every lock, and can be repeated. NOT_OWNER names the lost
 *          ones, if they are more than allowed.
 * Source   Redisson RedissonMultiLock and RedissonRedLock; redis.io "Distributed locks".
 */
lk_lock *lk_multi_new(lk_lock *const *locks, size_t count, const struct lk_multi_options *options,
                      struct lk_error *err);

/*
 * Tell how the last acquire or release went, lock by lock, in the order given to lk_multi_new().
 *
 * Shape    after an acquire: OK taken (by one that failed: and given back), CANCELLED not asked, else
 *          why not. After a release: how its release ended; of one that was not taken, why not.
 * Returns  how many were written: as many as there are locks; 0 if it is no multi lock, or NULL.
 * Threads  that of the lock.
 */
size_t lk_multi_report(const lk_lock *multi, lk_status *out_statuses);

/*
 * Take a mutex, run Lua under it and give it back, all in one round trip.
 *
 * The acquire, the owner-checked script and the release are sent as one pipeline. When the acquire
 * finds the lock taken, the other two do nothing; with wait_ms the whole is tried again.
 *
 * Shape    as lk_guarded_eval(). Of the options only wait_ms and lease_ms are used.
 * Owns     on OK *out_reply is yours.
 * Returns  OK         ran; the lock is released, had just ended, or (its release failed, as the
 *                     RELEASE event tells) ends with its lease.
 *          BUSY, CANCELLED, UNREACHABLE, INVALID, NO_MEMORY: not run.
 *          NOT_OWNER  the lease ended between the acquire and the script; not run.
 *          UNKNOWN    sent, no answer: it may have run.
 *          SERVER     the script failed with an error.
 */
LK_MUST_CHECK lk_status lk_mutex_run(lk_lock *mutex, const struct lk_lock_options *options,
                                     const struct lk_eval *eval, lk_reply **out_reply,
                                     struct lk_error *err);

#ifdef __cplusplus
}
#endif
#endif
