/*
 * The one thread that renews leases and notices those that ended.
 */
#ifndef LKI_WATCHDOG_H
#define LKI_WATCHDOG_H

#include "lockkit/lock.h"

#include "base/heap.h"

struct lki_renewal_conn;
struct lki_watchdog;

/* What the watchdog knows of one hold; embedded in its lock. */
struct lki_lease {
    struct lki_heap_item renewal;  /* key: when it is next asked for, INT64_MAX: not now */
    struct lki_heap_item end;      /* key: not after the hold's end */
    struct lki_renewal_conn *conn; /* it waits there for the next round; NULL: it does not */
    struct lki_lease *next, *previous;
    int slot;
    unsigned long epoch; /* of the servers, no later than what is known of the hold */
    bool is_taken;       /* the watchdog thread is at it right now, without the mutex */
    bool is_leaving;     /* ...and does not put it back afterwards */
    bool is_suspect;     /* its server may be another one, or empty: is it still ours? */
    bool is_unchecked;   /* not looked at yet: does the connection stand that would tell us? */
    bool is_asking;      /* its slot moves: the importing server is asked next */
    bool is_exact;       /* not to be renewed before its time along with others */
    int64_t asked_at;    /* the acquire, or what confirmed it last, was sent then */
    int64_t stop_at;     /* no renewal after this moment; INT64_MAX: no limit */
};

/* For a client that has its topology; or, of a backend, with its only connection, which is taken. */
struct lki_watchdog *lki_watchdog_new(lk_client *client, struct lki_renewal_conn *conn,
                                      struct lk_error *err);
/* All leases are removed; lki_watchdog_main() has returned. */
void lki_watchdog_free(struct lki_watchdog *watchdog);

/* The lock is about to ask its server for the hold: a change of servers from now on matters. */
void lki_watchdog_expect(struct lki_watchdog *watchdog, lk_lock *lock);
/* A renewed hold is about to be asked for: have what renews it at hand. UNREACHABLE, SERVER, NO_MEMORY: there
   is no connection for that, nor room for one. */
LK_MUST_CHECK lk_status lki_watchdog_make_ready(struct lki_watchdog *watchdog, const lk_lock *lock,
                                                int64_t deadline, struct lk_error *err);
/* Look after a lock that is held: renew it if it asks for that, notice its end in any case. */
LK_MUST_CHECK lk_status lki_watchdog_add(struct lki_watchdog *watchdog, lk_lock *lock,
                                         struct lk_error *err);
/* After this, no renewal of the lock is under way and none will be sent. No effect if not added. */
void lki_watchdog_remove(struct lki_watchdog *watchdog, lk_lock *lock);
/* The same, but wait for a renewal under way no longer than that. False: it goes on, and ends by
   itself; token, key and lease must stay until this has answered true. lki_watchdog_add() takes it
   back. */
bool lki_watchdog_remove_by(struct lki_watchdog *watchdog, lk_lock *lock, int64_t deadline);

/* The servers have changed, or some hold may have ended: see at once which they know of. Any thread. */
void lki_watchdog_recheck(struct lki_watchdog *watchdog);

/* The watchdog thread's body (arg: the watchdog): returns after lki_watchdog_stop(). */
void *lki_watchdog_main(void *arg);
void lki_watchdog_stop(struct lki_watchdog *watchdog);

#endif
