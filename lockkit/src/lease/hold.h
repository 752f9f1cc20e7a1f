/*
 * struct lk_lock, the operations of its kind, and the end of a hold.
 */
#ifndef LKI_HOLD_H
#define LKI_HOLD_H

#include <stdatomic.h>

#include "lockkit/lock.h"

#include "base/random.h"
#include "wait/hub.h"
#include "watchdog.h"

/*
 * A kind of lock. A kind that consists of other locks (multi, redlock) fills the last group, which replaces
 * the steps of lock.c.
 */
struct lki_lock_ops {
    const char *kind;
    const char *guard_script; /* name of the owner check that goes in front of a guarded script */
    const char *renew_script; /* KEYS: key, renew_key if any. ARGV: token, lease. Answers 1 or 0. */
    /* Instead of both, without scripts. OK, LOST, UNKNOWN, UNREACHABLE, SERVER, NO_MEMORY. */
    lk_status (*renew)(lk_lock *lock, int64_t lease_ms, int64_t deadline, struct lk_error *err);
    enum lki_wake_rule wake_rule;
    bool is_silent; /* a release publishes nothing: waiters poll with backoff */
    /* Before the first try of an acquire: set lock->token, and names that depend on it. NULL: the token is
       random. OK, DEADLOCK, INVALID, NO_MEMORY. */
    lk_status (*prepare)(lk_lock *lock, struct lk_error *err);
    /*
     * One try with lock->token. After BUSY, *out_ttl_ms (unless NULL) is the rest of the holder's lease
     * (-1: no expiry, -2: gone by now). OK, BUSY, DEADLOCK, UNKNOWN, UNREACHABLE, SERVER, NO_MEMORY.
     */
    lk_status (*try_acquire)(lk_lock *lock, int64_t *out_ttl_ms, int64_t deadline,
                             struct lk_error *err);
    /* The wait ended without the lock: leave the queue. NULL: the kind has no queue. */
    void (*abandon)(lk_lock *lock, int64_t deadline);
    /* Acquire once more: the server then counts lock->depth + 1. Idempotent. OK, LOST, UNKNOWN, UNREACHABLE,
       SERVER, NO_MEMORY. NULL: not reentrant. */
    lk_status (*reenter)(lk_lock *lock, int64_t lease_ms, int64_t deadline, struct lk_error *err);
    /* Set the server's count to depth (> 0), and the lease to lock->lease_ms at least. Idempotent. OK,
       NOT_OWNER, UNKNOWN... */
    lk_status (*leave)(lk_lock *lock, unsigned depth, int64_t deadline, struct lk_error *err);
    /* The last release. OK, NOT_OWNER, UNKNOWN, UNREACHABLE, SERVER, NO_MEMORY */
    lk_status (*release)(lk_lock *lock, int64_t deadline, struct lk_error *err);
    /* Whether the hold has certainly ended, as far as is known without asking a server. Any thread, while it
       is held. NULL: never. */
    bool (*is_over)(const lk_lock *lock);
    /* Release it whoever the owner is. OK, NOT_OWNER (not held), UNKNOWN... NULL: not possible. */
    lk_status (*force)(lk_lock *lock, int64_t deadline, struct lk_error *err);
    void (*free)(lk_lock *lock);

    /* Kinds that consist of other locks: the watchdog has the parts, not the whole. */
    lk_status (*acquire_all)(lk_lock *lock, const struct lk_lock_options *options,
                             unsigned *out_attempts, struct lk_error *err);
    lk_status (*release_all)(lk_lock *lock, struct lk_error *err);
    lk_status (*renew_all)(lk_lock *lock, int64_t lease_ms, struct lk_error *err);
    int64_t (*remaining_ms)(const lk_lock *lock);
    void (*cancel)(lk_lock *lock);
    /* Parts of a lock: called on the watchdog's thread after a renewal, in place of the event hook, which gets
       no event of loss either. ends: the new end of the hold if status is OK; 0: after a check. */
    void (*renewed)(lk_lock *lock, lk_status status, int64_t begin, int64_t ends);
};

enum lki_lock_state {
    LOCK_IDLE,      /* not held */
    LOCK_HELD,      /* held, until expires_at at the latest */
    LOCK_LOST,      /* was held, and has ended; a release is still sent, to be sure */
    LOCK_UNCERTAIN, /* a release was not confirmed, and may be repeated */
};

struct lk_lock {
    const struct lki_lock_ops *ops;
    lk_client *client;     /* a reference */
    atomic_bool is_in_use; /* by a thread that is inside a verb */
    atomic_bool *in_use;   /* borrowed: that, or of the other side of a read/write lock */
    lk_lock *
        other; /* borrowed: the other side of a read/write lock; both are freed together. Else NULL */
    char *key;          /* owned */
    char *wake_channel; /* owned */
    char *renew_key;    /* owned: a second key of renewals; NULL: none */
    char token[LKI_OWNER_MAX];
    int64_t lease_ms;       /* of renewals, and the least that leave() restores */
    unsigned depth;         /* nested acquires that are not released yet */
    unsigned renewed_depth; /* acquires up to this depth did not ask for renewal */
    bool is_renewed;
    int64_t wait_ms; /* of this acquire; > 0: it joins the queue */
    int64_t
        undo_until; /* while a release or an undo is under way: it is repeated until then; else 0 */
    bool may_be_released; /* a release had no answer, or is pending */
    bool is_synced;       /* enough replicas have confirmed the last acquire (lki_pipeline) */
    uint64_t fence;
    lk_lost_hook on_lost;
    void *on_lost_arg;
    _Atomic bool is_cancelled;  /* the acquire under way, or the next one that waits, is to end */
    _Atomic int state;          /* enum lki_lock_state */
    _Atomic int64_t expires_at; /* the hold is valid before this moment */
    _Atomic int lost_fd;        /* -1 until asked for */
    struct lki_waiter waiter;
    struct lki_lease lease;
};

/* The end, by the local clock, of a lease whose request was sent at sent_at: shorter than lease_ms by the clock
   drift between two machines, 1 % and 2 ms (redis.io, "Distributed locks"). */
int64_t lki_hold_ends_at(int64_t sent_at, int64_t lease_ms);

/* Mark the hold as lost; calls no hook. True: it was held until now. */
bool lki_hold_lose(lk_lock *lock);

/* Whether its server can be asked if the lock is still ours. */
static inline bool lki_hold_can_be_checked(const lk_lock *lock)
{
    return lock->ops->guard_script || lock->ops->renew;
}

/* Make the descriptor of lk_lock_lost_fd() readable; -1: there is none. */
void lki_hold_signal_fd(int fd);

#endif
