/*
 * What all kinds of lock share, and what each kind provides.
 */
#ifndef LKI_LOCK_OPS_H
#define LKI_LOCK_OPS_H

#include <stdatomic.h>

#include "lockkit/lock.h"

#include "client.h"
#include "token.h"
#include "waithub.h"
#include "watchdog.h"

struct lki_lock_ops {
    const char *kind;
    const char *guard_script; /* name of the owner check that goes in front of a guarded script */
    /*
     * One try with lock->token. With out_ttl_ms, a BUSY answer tells how long the holder has left
     * (-1: for ever, -2: gone by now). OK, BUSY, UNKNOWN, UNREACHABLE, SERVER, NO_MEMORY.
     */
    lk_status (*try_acquire)(lk_lock *lock, int64_t *out_ttl_ms, int64_t deadline,
                             struct lk_error *err);
    /* OK, NOT_OWNER, UNKNOWN, UNREACHABLE, SERVER, NO_MEMORY */
    lk_status (*release)(lk_lock *lock, int64_t deadline, struct lk_error *err);
    /* The script and arguments that renew lock->lease_ms; its answer is 1 or 0. */
    const char *renew_script;
    void (*free)(lk_lock *lock);
};

enum lki_lock_state {
    LOCK_IDLE,      /* nothing held, no token to give back */
    LOCK_HELD,      /* held, until expires_at at the latest */
    LOCK_LOST,      /* was held; release tells the server to be sure */
    LOCK_UNCERTAIN, /* a release without confirmation; may be repeated */
};

struct lk_lock {
    const struct lki_lock_ops *ops;
    lk_client *client;  /* borrowed */
    char *key;          /* owned */
    char *wake_channel; /* owned */
    char token[LKI_TOKEN_LEN + 1];
    int64_t lease_ms;
    bool is_renewed;
    lk_lost_hook on_lost;
    void *on_lost_arg;
    _Atomic int state;          /* enum lki_lock_state */
    _Atomic int64_t expires_at; /* the hold is good before this moment */
    _Atomic int lost_fd;        /* -1 until asked for */
    struct lki_waiter waiter;
    struct lki_lease lease;
};

/* Fill the shared part; false when out of memory. Undone by lki_lock_done(), also half-way. */
bool lki_lock_init(lk_lock *lock, const struct lki_lock_ops *ops, lk_client *client,
                   const char *key);
void lki_lock_done(lk_lock *lock);

/*
 * Try, wait, try, until the deadline: the one loop of all kinds. try_once may be called any number
 * of times; its first call passes NULL for out_ttl_ms.
 */
LK_MUST_CHECK lk_status lki_lock_pursue(lk_lock *lock, int64_t deadline,
                                        lk_status (*try_once)(lk_lock *lock, int64_t *out_ttl_ms,
                                                              void *arg, struct lk_error *err),
                                        void *arg, unsigned *out_attempts, struct lk_error *err);

/* How long a lease that was asked for at sent_at is good by the local clock: less what clocks of two
   machines may drift apart, 1 % and 2 ms (redis.io, "Distributed locks"). */
int64_t lki_lease_end(int64_t sent_at, int64_t lease_ms);

/* The watchdog says: the hold has ended. Calls nothing; true if it was held until now. */
bool lki_lock_mark_lost(lk_lock *lock);

/* After a lost reply the server may have granted lock->token: take it back on another connection,
   within a small budget; what fails is left to the lease. */
void lki_lock_undo(lk_lock *lock);

/* Make the handle ready to acquire: check that it is free, draw a token, note the lease. INVALID
   when it holds or an option is out of range. */
LK_MUST_CHECK lk_status lki_lock_begin(lk_lock *lock, const struct lk_lock_options *options,
                                       struct lk_error *err);

/* INVALID unless every option is in range. */
LK_MUST_CHECK lk_status lki_lock_check_options(const struct lk_lock_options *options,
                                               struct lk_error *err);

enum { LKI_DEFAULT_LEASE_MS = 30000, LKI_KEY_MAX = 512 };

#endif
