/*
 * Where waiters sleep until a release is published: one subscriber connection for all channels, or,
 * where messages go by slot (a cluster of Redis 7 or later), one to each server that has some of them.
 */
#ifndef LKI_HUB_H
#define LKI_HUB_H

#include <pthread.h>
#include <stdatomic.h>

#include "lockkit/client.h"

#include "wire/redis.h"

struct lki_hub;
struct lki_channel;
struct lki_topology;

/* How many waiters of a process a message wakes. */
enum lki_wake_rule {
    LKI_WAKE_ONE,   /* the longest waiting one */
    LKI_WAKE_RW,    /* "1" (a writer left): all; else one */
    LKI_WAKE_COUNT, /* as many as need no more, together, than the number says (permits) */
    LKI_WAKE_ALL,
};

/* One sleeper; embedded in its lock. All fields belong to the hub, the first three to the lock,
   which sets them before it joins. */
struct lki_waiter {
    enum lki_wake_rule rule; /* the same for all waiters of a channel */
    size_t units;            /* how much it waits for [1] */
    bool is_alone;           /* nobody else ever joins its channel: it need not be kept */
    pthread_cond_t wake;
    struct lki_channel *channel; /* NULL: not joined */
    struct lki_waiter *prev;
    struct lki_waiter *next;
    bool is_woken;
    bool is_cancelled;
    const _Atomic bool
        *cancelled_by; /* borrowed; true: cancelled, also before it joins; may be NULL */
};

/* Borrows both, which outlive it: the client's options, and its topology (NULL: not of Redis). */
struct lki_hub *lki_hub_new(const struct lk_client_options *options, struct lki_topology *topology,
                            struct lk_error *err);
/* No waiter is joined any more; lki_hub_thread() has returned. */
void lki_hub_free(struct lki_hub *hub);

/* The hub thread's body (arg: the hub): returns after lki_hub_stop(). */
void *lki_hub_thread(void *arg);
/* Also ends all waits, those to come as well, as INVALID: the client is being closed. */
void lki_hub_stop(struct lki_hub *hub);
/* The topology has changed: subscriptions go where their channels are now. Any thread, no mutex held;
   it does not wait. */
void lki_hub_recheck(struct lki_hub *hub);

void lki_waiter_init(struct lki_waiter *waiter, enum lki_wake_rule rule);
void lki_waiter_done(struct lki_waiter *waiter);

/*
 * Join a channel and wait until the subscription is confirmed, but not past the deadline, nor past a
 * failure to reach its server: without it the waiter only has its timer. A message that comes after that
 * is not missed. Without a channel (NULL) the waiter only sleeps, and can be cancelled.
 *
 * Returns  OK, NO_MEMORY
 */
LK_MUST_CHECK lk_status lki_hub_join(struct lki_hub *hub, struct lki_waiter *waiter,
                                     const char *channel, int64_t deadline, struct lk_error *err);

/* Sleep until woken (OK), the moment comes (BUSY), lki_hub_cancel() (CANCELLED), or lki_hub_stop()
   (INVALID). */
LK_MUST_CHECK lk_status lki_hub_wait(struct lki_hub *hub, struct lki_waiter *waiter, int64_t until);

/* Undo a wake-up that lki_hub_wait() answered and that led to no try: leaving hands it on. */
void lki_hub_unwake(struct lki_hub *hub, struct lki_waiter *waiter);

/* Leave; a wake-up that was meant for this waiter goes to the next one. */
void lki_hub_leave(struct lki_hub *hub, struct lki_waiter *waiter);

/* Wake a joined waiter for good; no effect on one that has not joined. */
void lki_hub_cancel(struct lki_hub *hub, struct lki_waiter *waiter);

#endif
