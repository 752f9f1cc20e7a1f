/*
 * The thread that renews leases and reports those that have ended.
 */
#ifndef LKI_WATCHDOG_H
#define LKI_WATCHDOG_H

#include "lockkit/lock.h"

#include "base/heap.h"

struct lki_renewal_conn;
struct lki_watchdog;

/* One hold in the watchdog; embedded in its lock. */
struct lki_lease {
    struct lki_heap_item renewal;  /* key: the moment of the next query; INT64_MAX: none */
    struct lki_heap_item end;      /* key: not after the end of the hold */
    struct lki_renewal_conn *conn; /* in whose queue it is; NULL: in none */
    struct lki_lease *next, *previous;
    int slot;
    unsigned long epoch; /* of the topology, when the hold was last confirmed, or earlier */
    bool is_taken;       /* the watchdog's thread uses it now, without the mutex */
    bool is_leaving;     /* ...and removes it afterwards */
    bool is_suspect;     /* its server may have changed or restarted empty: query it at once */
    bool is_unchecked;   /* the first check is due: is its connection still open? */
    bool is_asking;      /* its slot is migrating: the next query goes to the importing server */
    bool is_exact;       /* it is not renewed early, along with others */
    int64_t asked_at;    /* when the acquire was sent, or the last query that confirmed the hold */
    int64_t stop_at;     /* no renewal after this moment; INT64_MAX: no limit */
};

/* The client has its topology already. conn: NULL; or a backend's only connection, which is taken. */
struct lki_watchdog *lki_watchdog_new(lk_client *client, struct lki_renewal_conn *conn,
                                      struct lk_error *err);
/* All leases are removed; lki_watchdog_main() has returned. */
void lki_watchdog_free(struct lki_watchdog *watchdog);

/* Before an acquire is sent: changes of the topology from now on make its hold suspect. */
void lki_watchdog_expect(struct lki_watchdog *watchdog, lk_lock *lock);
/* Before a hold with renewal is acquired: have a connection ready for renewals. UNREACHABLE, SERVER, NO_MEMORY:
   there is none, and none can be made. */
LK_MUST_CHECK lk_status lki_watchdog_make_ready(struct lki_watchdog *watchdog, const lk_lock *lock,
                                                int64_t deadline, struct lk_error *err);
/* Add a held lock: its loss is reported, and it is renewed if it asks for that. */
LK_MUST_CHECK lk_status lki_watchdog_add(struct lki_watchdog *watchdog, lk_lock *lock,
                                         struct lk_error *err);
/* Remove a lock: no renewal is under way when this returns, and none will be sent. No effect if not added. */
void lki_watchdog_remove(struct lki_watchdog *watchdog, lk_lock *lock);
/* The same, waiting for a renewal under way until the deadline. False: it goes on, and the lock must keep token,
   key and lease until this returns true; lki_watchdog_add() undoes the removal. */
bool lki_watchdog_remove_by(struct lki_watchdog *watchdog, lk_lock *lock, int64_t deadline);

/* The topology has changed, or some hold may have ended: query all that this may concern. Any thread. */
void lki_watchdog_recheck(struct lki_watchdog *watchdog);

/* The body of the watchdog's thread (arg: the watchdog): returns after lki_watchdog_stop(). */
void *lki_watchdog_main(void *arg);
void lki_watchdog_stop(struct lki_watchdog *watchdog);

#endif
