/*
 * A lock as those see it who look after its lease, and the end of its hold.
 */
#ifndef LKI_HOLD_H
#define LKI_HOLD_H

#include <stdatomic.h>

#include "lockkit/lock.h"

#include "base/random.h"
#include "wait/hub.h"
#include "watchdog.h"

/*
 * A kind. Those that are made of other locks (multi, and whatever speaks to several servers) fill
 * the last group, which takes the place of what lock.c does otherwise.
 */
struct lki_lock_ops {
    const char *kind;
    const char *guard_script; /* name of the owner check that goes in front of a guarded script */
    const char *renew_script; /* KEYS: key, renew_key if any. ARGV: token, lease. Answers 1 or 0. */
    /* Instead of both, where there are no scripts. OK, LOST, UNKNOWN, UNREACHABLE, SERVER, NO_MEMORY. */
    lk_status (*renew)(lk_lock *lock, int64_t lease_ms, int64_t deadline, struct lk_error *err);
    enum lki_wake_rule wake_rule;
    bool is_silent; /* a release publishes nothing: waiters back off instead */
    /* Before the first try of an acquire: draw lock->token, derive names from it. NULL: a random
       token, the channel as it is. OK, DEADLOCK, INVALID, NO_MEMORY. */
    lk_status (*prepare)(lk_lock *lock, struct lk_error *err);
    /*
     * One try with lock->token. With out_ttl_ms, a BUSY answer tells how long the holder has left
     * (-1: for ever, -2: gone by now). OK, BUSY, DEADLOCK, UNKNOWN, UNREACHABLE, SERVER, NO_MEMORY.
     */
    lk_status (*try_acquire)(lk_lock *lock, int64_t *out_ttl_ms, int64_t deadline,
                             struct lk_error *err);
    /* The wait ended without the lock: leave the queue. NULL: there is none. */
    void (*abandon)(lk_lock *lock, int64_t deadline);
    /* Take it once more, so that the server counts lock->depth + 1; doing it twice changes nothing.
       OK, LOST, UNKNOWN, UNREACHABLE, SERVER, NO_MEMORY. NULL: not reentrant. */
    lk_status (*reenter)(lk_lock *lock, int64_t lease_ms, int64_t deadline, struct lk_error *err);
    /* The server shall count this many (> 0), and the lease be lock->lease_ms at least; doing it
       twice changes nothing. OK, NOT_OWNER, UNKNOWN... */
    lk_status (*leave)(lk_lock *lock, unsigned depth, int64_t deadline, struct lk_error *err);
    /* The last release. OK, NOT_OWNER, UNKNOWN, UNREACHABLE, SERVER, NO_MEMORY */
    lk_status (*release)(lk_lock *lock, int64_t deadline, struct lk_error *err);
    /* The hold has ended for certain, as is seen without asking anybody. Any thread, while it is held. NULL: never. */
    bool (*is_over)(const lk_lock *lock);
    /* Whoever holds it. OK, NOT_OWNER (nobody), UNKNOWN... NULL: cannot be broken */
    lk_status (*force)(lk_lock *lock, int64_t deadline, struct lk_error *err);
    void (*free)(lk_lock *lock);

    /* Locks made of locks: each is watched, and not the whole. */
    lk_status (*acquire_all)(lk_lock *lock, const struct lk_lock_options *options,
                             unsigned *out_attempts, struct lk_error *err);
    lk_status (*release_all)(lk_lock *lock, struct lk_error *err);
    lk_status (*renew_all)(lk_lock *lock, int64_t lease_ms, struct lk_error *err);
    int64_t (*remaining_ms)(const lk_lock *lock);
    void (*cancel)(lk_lock *lock);
    /* Part of a lock: the hook is not told of its renewals and its loss, but this is called, on the
       watchdog's thread. ends: until when it is held, if status is OK; 0: that it is was checked. NULL:
       the hook is. */
    void (*renewed)(lk_lock *lock, lk_status status, int64_t begin, int64_t ends);
};

enum lki_lock_state {
    LOCK_IDLE,      /* nothing held, no token to give back */
    LOCK_HELD,      /* held, until expires_at at the latest */
    LOCK_LOST,      /* was held; release tells the server to be sure */
    LOCK_UNCERTAIN, /* a release without confirmation; may be repeated */
};

struct lk_lock {
    const struct lki_lock_ops *ops;
    lk_client *client;     /* borrowed, and kept from being freed */
    atomic_bool is_in_use; /* by a thread that is inside a verb */
    atomic_bool *in_use;   /* borrowed: that, or of the other side of a read/write lock */
    lk_lock *other; /* borrowed: of a side of a read/write lock, with which it ends; else NULL */
    char *key;      /* owned */
    char *wake_channel; /* owned */
    char *renew_key;    /* owned; NULL: renewals touch the key alone */
    char token[LKI_OWNER_MAX];
    int64_t lease_ms;       /* of the renewals, and the least that leave() restores */
    unsigned depth;         /* acquires without their release yet */
    unsigned renewed_depth; /* holds up to this one do not ask for renewal */
    bool is_renewed;
    int64_t wait_ms; /* of this acquire; > 0: a queue is joined */
    int64_t
        undo_until; /* a release or an undo is under way, and is owed so long if it fails; else 0 */
    bool may_be_released; /* a release had no answer, or is owed */
    bool is_synced;       /* what the last try took, enough replicas have (lki_pipeline) */
    uint64_t fence;
    lk_lost_hook on_lost;
    void *on_lost_arg;
    _Atomic bool is_cancelled;  /* the acquire under way, or the next that waits */
    _Atomic int state;          /* enum lki_lock_state */
    _Atomic int64_t expires_at; /* the hold is good before this moment */
    _Atomic int lost_fd;        /* -1 until asked for */
    struct lki_waiter waiter;
    struct lki_lease lease;
};

/* How long a lease that was asked for at sent_at is good by the local clock: less what clocks of two
   machines may drift apart, 1 % and 2 ms (redis.io, "Distributed locks"). */
int64_t lki_hold_ends_at(int64_t sent_at, int64_t lease_ms);

/* The watchdog says: the hold has ended. Calls nothing; true if it was held until now. */
bool lki_hold_lose(lk_lock *lock);

/* Whether its server can be asked if it is still ours. */
static inline bool lki_hold_can_be_checked(const lk_lock *lock)
{
    return lock->ops->guard_script || lock->ops->renew;
}

/* Make the descriptor of lk_lock_lost_fd() readable; -1: there is none. */
void lki_hold_signal_fd(int fd);

#endif
