/*
 * One constructor per kind of lock.
 *
 * Example
 *     lk_lock *lock = lk_mutex_new(client, "report", &err);
 *     if (lk_lock_wait(lock, LK_FOREVER, &err) == LK_OK) puts("nobody else");
 *     lk_lock_close(lock, &err);
 */
#ifndef LOCKKIT_LOCKS_H
#define LOCKKIT_LOCKS_H

#include "lockkit/lock.h"

#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* a function may have the name of the struct it fills */
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
 * Shape    as lk_reentrant_new(), and "redisson_lock_token:{key}": a counter without TTL. A number is
 *          one more than the last, or the server's time in us if that is greater: so numbers go on
 *          rising, with gaps, on a server that comes back without the counter. They would not if its
 *          clock was set back besides, by more than it was away; if the counter is evicted (maxmemory:
 *          use noeviction); or if Redisson, which only counts, is the first to draw one after that.
 * Source   Redisson RFencedLock; Kleppmann, "How to do distributed locking" (2016).
 */
lk_lock *lk_fenced_new(lk_client *client, const char *key, struct lk_error *err);

/*
 * A lock that is built into the server: in PostgreSQL the session advisory lock, which excludes all programs
 * that acquire the same number there, with lockkit or without. Not reentrant, no fence.
 *
 * A hold ends with a session of the server: the client's pool (pool_size) lends it a connection of its own, and
 * a waiter as well, which is in the server's queue and is served in its order, except for a moment every half
 * second. The server releases it as soon as it notices the end of the holder's connection: at once when the
 * process dies; 25 s after the network was cut (on TCP). A loss is reported within moments after the session has
 * ended, also if the server went down; command_ms after the network was cut; and at the end of the lease if the
 * server hangs. Without is_renewed the server ends the hold with the lease. With it there is no lease: the hold of
 * a paused process stays, so it protects no longer than lk_held() is true. Standbys do not have the lock: after a
 * promotion another client may hold it there while the old primary still answers this holder.
 *
 * Shape    the number is the first 8 bytes, big-endian, of SHA-256 over "lockkit:" and key, as a signed
 *          64-bit integer ("sale-1": -4186301075354283077), in the client's database. lk_lock_token() is
 *          the application_name of the session: to break the lock, end that (pg_terminate_backend).
 * Owns     as lk_mutex_new().
 * Returns  NULL with err filled: INVALID (also of a client of Redis), NO_MEMORY. lk_lock_acquire(): INVALID
 *          also through a pooler such as PgBouncer, in whatever mode, which may lend the session to others.
 * Source   PostgreSQL manual, 13.3.5 and 9.28.10.
 */
lk_lock *lk_advisory_new(lk_client *client, const char *key, struct lk_error *err);

/*
 * A read/write lock: any number of readers, or one writer. It is two lk_locks of one owner.
 *
 * Both sides are reentrant. The holder of the write side may acquire the read side, too; releasing the write
 * side first leaves a reader, and admits others. The other way round, acquiring the write side while holding
 * the read side is DEADLOCK at once: lk_rwlock_upgrade() does that. Several readers in a process are several
 * lk_rwlocks. There is no order, so readers that overlap without end keep writers out for ever: see
 * lk_rwlock_new_with().
 *
 * Shape    key: hash, "mode" -> "read" or "write", "<uuid>:<n>" -> read holds,
 *          "<uuid>:<n>:write" -> write holds; and per read hold k a string
 *          "{key}:<uuid>:<n>:rwlock_timeout:<k>", whose TTL is the reader's lease: without it the read
 *          hold has ended, also if the hash exists. Shares keys with Redisson's RReadWriteLock,
 *          and its channel "redisson_rwlock:{key}".
 * Threads  both handles of one lk_rwlock together: one thread at a time; a second one gets INVALID.
 * Source   Redisson RReadWriteLock; scripts/rw_*.lua. Other than there, no release or re-entry cuts
 *          what another hold has left, and readers are woken when a writer becomes a reader.
 */
typedef struct lk_rwlock lk_rwlock;

lk_rwlock *lk_rwlock_new(lk_client *client, const char *key, struct lk_error *err);

/* The order of waiters. */
typedef enum lk_rwlock_order {
    LK_RWLOCK_UNORDERED,     /* the first try that succeeds, as in Redisson */
    LK_RWLOCK_WRITERS_FIRST, /* writers, in the order of arrival; no reader is admitted before one */
    LK_RWLOCK_FAIR,          /* all in the order of arrival; adjacent readers together */
} lk_rwlock_order;

/* Zero means the default given in brackets. */
struct lk_rwlock_options {
    size_t size;           /* LK_OPTIONS() [0: that of version 0.1] */
    lk_rwlock_order order; /* must be the same for all users of the key [UNORDERED] */
    int64_t waiter_ms;     /* a dead waiter keeps its place for this time [5000; least 100] */
};

/*
 * The same with an order. Waiters have a place in a queue then, and an acquire that does not wait is BUSY while
 * a waiter is before it. A reader may acquire the read side again, and a writer both sides, regardless of
 * waiters; but a reader by one lk_rwlock that acquires another one may wait for a writer that waits for it.
 *
 * Places end as those of lk_fair_new(): at once when the wait ends, for whatever reason; that of a dead waiter
 * when its window is over, which delays the others no longer than one window, however many died.
 * LK_EVENT_QUEUED reports each place of a fair one.
 *
 * Redisson's clients, and those without an order, do not queue: Redisson's are admitted as the lock allows,
 * lockkit's only when no waiter in the queue is before them. Exclusion holds among all of them. A release by
 * Redisson does not wake the waiters in our queue: they notice it at their next try, within 1.7 s (a third of
 * waiter_ms, if that is less).
 *
 * Shape    as lk_rwlock_new(), and the queue of lk_fair_new(), whose places are "<uuid>:<n>" of a reader,
 *          "<uuid>:<n>:write" of a writer, "<uuid>:<n>:<m>:write:upgrade"; a waiter listens on
 *          "redisson_rwlock:{key}:<place>".
 * Owns     options are read during the call; NULL: all defaults.
 * Returns  NULL with err filled: INVALID, NO_MEMORY.
 * Source   scripts/rw_queue.lua. Writers first: Courtois, Heymans, Parnas, "Concurrent control with
 *          readers and writers" (1971), the second problem.
 */
lk_rwlock *lk_rwlock_new_with(lk_client *client, const char *key,
                              const struct lk_rwlock_options *options, struct lk_error *err);

/*
 * Upgrade the holder of the read side to a writer, without a moment in which another client could write. It waits
 * for the other readers to leave, ahead of all other waiters, and admits no new one meanwhile (Redisson's are
 * admitted; it waits for them, too).
 *
 * Shape    the read hold stays beneath, with its own lease and renewal: releasing the write side leaves
 *          a reader again, and each acquire has its release. The write hold is "<uuid>:<n>:<m>:write",
 *          n the reader's and m new for each try.
 * Units    options are those of an acquire of the write side.
 * Returns  as lk_lock_acquire(), and
 *          DEADLOCK   another reader of the key is waiting to upgrade: it waits for this one to leave, so
 *                     the wait would never end. Release the read side, and acquire the write side.
 *          LOST       also: the read hold has ended.
 *          INVALID    also: the read side is not held.
 *          Whatever is not OK leaves the read side as it is.
 * Threads  as lk_rwlock_new().
 * Source   scripts/rw_write_acquire.lua; as Boost's upgrade_to_unique_lock it gives back what it took, and
 *          as Java's tryConvertToWriteLock it never makes two wait for each other.
 */
LK_MUST_CHECK lk_status lk_rwlock_upgrade(lk_rwlock *rwlock, const struct lk_lock_options *options,
                                          struct lk_error *err);

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
    size_t size;       /* LK_OPTIONS() [0: that of version 0.1] */
    int64_t waiter_ms; /* a dead waiter keeps its place for this time [5000; least 100] */
};

/*
 * A fair lock: reentrant, and waiters get it in the order of arrival. An acquire that does not wait is BUSY
 * while there are waiters in the queue, also when the lock is free.
 *
 * A waiter that ends its wait, for whatever reason, leaves the queue at once. One that cannot (it died, its
 * client was closed, the server is unreachable) keeps its place, and delays those behind it, until its window
 * is over: waiter_ms (its wait_ms, if less) after its last try, so any number of them delay the others no
 * longer than one. A live waiter tries about once a second, which renews its window; if it loses its place by
 * a Redisson client, or by a loss of the connection for longer than the window, it queues up again at the end.
 * LK_EVENT_QUEUED reports each place.
 *
 * Redisson's waiters do not renew: a dead one delays the others for its wait time (300 s, if it has none) from
 * when those before it must have gone; a dead waiter of lockkit behind it, for its window more.
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
    size_t size;               /* LK_OPTIONS() [0: that of version 0.1] */
    unsigned failures_allowed; /* locks it is held without; less than half of them [0: none] */
};

/*
 * A lock that consists of locks of any kinds, clients and servers: held while all of them are; or while no
 * more than a stated number is missing. With n / 2 (n odd) allowed to be missing, and each lock on a server of
 * its own, it is Redlock, asking one server after the other.
 *
 * The locks are acquired in the order of their servers and keys, whatever the order given. While another owner
 * holds one, the others are released within 10 ms, and this one is waited for alone. Leases from before a wait,
 * or that are no longer fresh, are renewed before the acquire ends. When too few locks are left, by the local
 * clock or by a server's answer, the whole is lost; this is noticed also without is_renewed.
 *
 * Shape    no key of its own; 1 to 64 locks. The same one twice is INVALID, and a busy one if it goes
 *          by two names. It is not reentrant, cannot be broken by force, and guards no script:
 *          lk_guarded_eval() one of the locks.
 * Units    lease_ms is the lease of each lock; max_hold_ms likewise.
 * Owns     borrows the locks, copies the array. They must outlive it, be idle when it is acquired,
 *          and be left alone until it is released. Its events go to the client of the first one.
 * Returns  NULL with err filled: INVALID, NO_MEMORY. lk_lock_acquire(): as for any lock; LOST also
 *          when too few are left in the end; SERVER, LOST, DEADLOCK when more than allowed cannot be
 *          had for such a reason; UNREACHABLE, UNKNOWN when that is so after wait_ms. All that was
 *          taken is given back then.
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

/* Zero means the default given in brackets. */
struct lk_redlock_options {
    size_t size;              /* LK_OPTIONS() [0: that of version 0.1] */
    int64_t node_ms;          /* a try waits for a server at most this long; never more than a
                                 third of the lease [1 % of the lease, at least 50] */
    int64_t retry_ms;         /* pause between tries, at random half of it to one and a half; less
                                 after a published release, or when the votes were split [200] */
    bool allow_even;          /* accept an even number of servers, which gains nothing [false] */
    bool is_bound_to_members; /* see below [false] */
};

/*
 * A lock over several independent servers (Redlock): held while more than half of them say so. Any
 * minority may be down or slow. All are asked at once, and a try ends when enough have answered: slow
 * and dead ones cost nothing.
 *
 * With is_renewed it survives when its servers are restarted empty, one after the other: when a server has lost
 * the vote, and a majority of votes that never lapsed was confirmed after that, it is asked for the vote again,
 * unless another owner has it; the vote counts when the majority was confirmed once more. This takes a few ms,
 * unless other servers are slow. Not with is_bound_to_members. Renewed or not, a server that is back is asked
 * whether it still has the vote; the loss of a majority is reported then.
 *
 * Two clients may hold it when the holder has no votes to spare and a server that gave one (to it, or to a try of
 * the other) comes back empty (keep it down for longer than the longest lease, or use appendfsync always) or its
 * clock jumps ahead; or when clients count different servers. The loss of a renewed hold is reported then, as it is
 * no longer confirmed. And, as with any lease, when the holder is paused: there is no fencing token.
 *
 * Shape    on every server: key as lk_mutex_new(), the same token on all, a new one for every try.
 *          Shares keys with node-redlock, redsync and others of this layout. 1 to 15 servers, each a
 *          client with the URL of one server, opened with may_be_down. The majority is count / 2 + 1,
 *          whatever the options.
 *          is_bound_to_members: beside the key a server keeps which servers the last holder counted,
 *          for one lease: "lockkit_members:{key}", a hash of all hosts, ports and databases in the
 *          order of their names (not of run ids, which a restart changes). A client that counts others
 *          gets INVALID as soon as one server answers so, and a try then waits for all servers within
 *          node_ms. Both may hold it only while the second reaches no server that both count.
 *          After a change of the list, wait for one lease. Other libraries do not read it.
 * Units    the hold is valid for lease_ms, less the time of the successful try, less 1 % and 2 ms.
 * Owns     borrows the clients, copies key and array. They must outlive the lock. Its events go to the
 *          first one's hook, with kind "redlock". Their sync_replicas has no effect here.
 * Returns  NULL with err filled: INVALID (also: two clients that are one server, a replica, a client of
 *          Sentinel or Cluster), NO_MEMORY. It checks the identity of all servers, for 0.2 s at most: one
 *          that is unreachable is checked when it is back, and has no vote before. One whose ACL forbids
 *          INFO has a vote all the same; the report says so.
 *          lk_lock_acquire(): as for any lock, but
 *          BUSY         others hold so many servers that no majority is left; tried until wait_ms.
 *          UNREACHABLE  too few servers answered until wait_ms: err says how many, and why the first
 *                       did not.
 *          SERVER       likewise, at once, and the first that failed answered with an error.
 *          LOST         won, but the lease had ended by then.
 *          INVALID      also: servers whose holders count other servers than this lock.
 *          All votes that were granted, or may have been, are undone then, also those of late answers.
 *          lk_lock_release(): asks all servers, and is OK once a majority has confirmed; the others are
 *          pending undos. UNKNOWN, UNREACHABLE: call it again, or the lease ends
 *          it. lk_lock_renew(): needs a majority of its own; LOST is final. lk_lock_force_release():
 *          OK when it was held on any server, and a majority is free now. It guards no script.
 * Threads  as any lock. Renewal with is_renewed is by each client's own watchdog, so that a server
 *          that hangs delays none of the others.
 * Source   redis.io "Distributed locks"; scripts/redlock_*.lua.
 */
lk_lock *lk_redlock_new(lk_client *const *clients, size_t count, const char *key,
                        const struct lk_redlock_options *options, struct lk_error *err);

/* How one server voted. */
struct lk_redlock_vote {
    const char *server; /* "127.0.0.1:7001"; borrowed, lives as long as the client */
    lk_status status;   /* of the last acquire, renewal or release: OK; BUSY another owner's; LOST,
                           NOT_OWNER; UNKNOWN no answer by its end; CANCELLED not asked; UNREACHABLE,
                           SERVER; INVALID a replica, a server under two names, other members */
    int sys_errno;      /* 0 when no system call was involved */
    int64_t round_trip_us; /* of its last answer; -1: none */
    int64_t remaining_ms;  /* of its own lease, by the local clock; 0: it does not count */
    bool is_checked;       /* its run id and role were read; false: not yet, or INFO is forbidden */
};

struct lk_redlock_report {
    size_t servers;
    size_t quorum;       /* so many must agree */
    size_t agreed;       /* ...and so many did, in the last acquire, renewal or release */
    unsigned attempts;   /* tries of the last acquire */
    int64_t validity_ms; /* how long the hold was good when it was acquired; 0: it was not */
};

/*
 * Tell how the last acquire, renewal or release went, server by server, in the order given to
 * lk_redlock_new(). Allocates nothing, asks no server.
 *
 * Owns     out and out_votes are the caller's; either may be NULL. At most room votes are written.
 * Returns  how many servers there are; 0 if it is no redlock, or NULL.
 * Threads  that of the lock.
 */
size_t lk_redlock_report(const lk_lock *lock, struct lk_redlock_report *out,
                         struct lk_redlock_vote *out_votes, size_t room);

/*
 * Take a mutex, run Lua under it and give it back, all in one round trip.
 *
 * The acquire, the owner-checked script and the release are sent as one pipeline. When the acquire
 * finds the lock taken, the other two do nothing; with wait_ms the whole is tried again.
 *
 * Shape    as lk_guarded_eval(). Of the options only wait_ms and lease_ms are used.
 * Owns     on OK *out_reply is yours.
 * Returns  OK         ran; the lock is released, had just ended, or (its release failed, as the
 *                     RELEASE event says) ends with its lease.
 *          BUSY, CANCELLED, UNREACHABLE, INVALID, NO_MEMORY: not run.
 *          NOT_OWNER  the lease ended between the acquire and the script; not run.
 *          UNKNOWN    sent, no answer: it may have run.
 *          UNSYNCED   it ran, but too few replicas confirmed it (lk_client_options).
 *          SERVER     the script failed with an error.
 */
LK_MUST_CHECK lk_status lk_mutex_run(lk_lock *mutex, const struct lk_lock_options *options,
                                     const struct lk_eval *eval, lk_reply **out_reply,
                                     struct lk_error *err);

#ifdef __cplusplus
}
#pragma GCC diagnostic pop
#endif
#endif
