/*
 * The hub: waiters sleep here until a release is published. It has one subscriber connection for all
 * channels; with sharded pub/sub (a cluster of Redis 7 or later), one to each server that has channels.
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

/* Which waiters of this process a message wakes. */
enum lki_wake_rule {
    LKI_WAKE_ONE,   /* the one that has waited longest */
    LKI_WAKE_RW,    /* "1" (a writer left): all; else one */
    LKI_WAKE_COUNT, /* those whose units fit into the number in the message (permits) */
    LKI_WAKE_ALL,
};

/* One waiter; embedded in its lock. The lock sets the first three fields before it joins; the others are the
   hub's. */
struct lki_waiter {
    enum lki_wake_rule rule; /* the same for all waiters of a channel */
    size_t units;            /* number of permits that it waits for [1] */
    bool is_alone; /* no other waiter uses its channel, which is dropped at once when it leaves */
    pthread_cond_t wake;
    struct lki_channel *channel; /* NULL: it has not joined */
    struct lki_waiter *prev;
    struct lki_waiter *next;
    bool is_woken;
    bool is_cancelled;
    const _Atomic bool *cancelled_by; /* borrowed, or NULL; true: cancelled, also before it joins */
};

/* Borrows the client's options and its topology (NULL: not Redis), which outlive it. */
struct lki_hub *lki_hub_new(const struct lk_client_options *options, struct lki_topology *topology,
                            struct lk_error *err);
/* All waiters have left, and lki_hub_thread() has returned. */
void lki_hub_free(struct lki_hub *hub);

/* The body of the hub's thread (arg: the hub): returns after lki_hub_stop(). */
void *lki_hub_thread(void *arg);
/* The client is being closed: all waits end as INVALID, also later ones. */
void lki_hub_stop(struct lki_hub *hub);
/* The topology has changed: subscriptions move to the servers that have their channels now. Any thread, without
   a mutex; does not block. */
void lki_hub_recheck(struct lki_hub *hub);

void lki_waiter_init(struct lki_waiter *waiter, enum lki_wake_rule rule);
void lki_waiter_done(struct lki_waiter *waiter);

/*
 * Join a channel and wait until its subscription is confirmed, its server turns out to be unreachable, or
 * the deadline. Once it is confirmed no message is missed; without it the waiter depends on its timer.
 * channel: NULL: the waiter only sleeps, and can be cancelled.
 *
 * Returns  OK, NO_MEMORY
 */
LK_MUST_CHECK lk_status lki_hub_join(struct lki_hub *hub, struct lki_waiter *waiter,
                                     const char *channel, int64_t deadline, struct lk_error *err);

/* Sleep. OK: woken by a message; BUSY: the moment has come; CANCELLED: by lki_hub_cancel(); INVALID: by
   lki_hub_stop(). */
LK_MUST_CHECK lk_status lki_hub_wait(struct lki_hub *hub, struct lki_waiter *waiter, int64_t until);

/* Give back a wake-up that lki_hub_wait() returned and that was not used: the next waiter gets it when this one
   leaves. */
void lki_hub_unwake(struct lki_hub *hub, struct lki_waiter *waiter);

/* Leave the channel; an unused wake-up of this waiter goes to the next one. */
void lki_hub_leave(struct lki_hub *hub, struct lki_waiter *waiter);

/* End the wait of a waiter that has joined; no effect on another one. */
void lki_hub_cancel(struct lki_hub *hub, struct lki_waiter *waiter);

#endif
