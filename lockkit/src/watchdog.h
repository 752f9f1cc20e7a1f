/*
 * The one thread that renews leases and notices those that ended.
 */
#ifndef LKI_WATCHDOG_H
#define LKI_WATCHDOG_H

#include "lockkit/lock.h"

#include "client.h"
#include "heap.h"

struct lki_watchdog;

/* What the watchdog knows of one hold; embedded in its lock. */
struct lki_lease {
    struct lki_heap_item item; /* key: when it is next looked at */
    bool is_renewing;          /* the watchdog thread is at it right now, without the mutex */
    int64_t stop_at;           /* no renewal after this moment; INT64_MAX: no limit */
};

struct lki_watchdog_options {
    lk_client *client; /* borrowed */
    const struct lki_endpoint *endpoint;
    int64_t connect_ms;
    int64_t command_ms;
};

struct lki_watchdog *lki_watchdog_new(const struct lki_watchdog_options *options,
                                      struct lk_error *err);
/* All leases are removed; lki_watchdog_main() has returned. */
void lki_watchdog_free(struct lki_watchdog *watchdog);

/* Look after a lock that is held: renew it if it asks for that, notice its end in any case. */
LK_MUST_CHECK lk_status lki_watchdog_add(struct lki_watchdog *watchdog, lk_lock *lock,
                                         struct lk_error *err);
/* After this, no renewal of the lock is under way and none will be sent. No effect if not added. */
void lki_watchdog_remove(struct lki_watchdog *watchdog, lk_lock *lock);

/* The watchdog thread's body (arg: the watchdog): returns after lki_watchdog_stop(). */
void *lki_watchdog_main(void *arg);
void lki_watchdog_stop(struct lki_watchdog *watchdog);

#endif
