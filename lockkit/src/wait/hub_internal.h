/*
 * Internals of the hub: hub.c is the waiters' side, hub_thread.c the thread's.
 */
#ifndef LKI_HUB_INTERNAL_H
#define LKI_HUB_INTERNAL_H

#include "channel.h"
#include "pubsub_conn.h"

enum { LKI_LINGER_MS = 1000 }; /* a subscription without waiters is kept for this time */

struct lki_hub {
    const struct lk_client_options *options; /* borrowed */
    struct lki_topology *topology;           /* borrowed; NULL: not of Redis */
    int poke_fd;                             /* eventfd: there is something to do */
    pthread_mutex_t mutex;    /* guards all from here on, the channels and the waiters */
    pthread_cond_t confirmed; /* some channel became LIVE, or a connection was lost */
    struct lki_channels channels;
    struct lki_channel silent; /* of waiters without a channel; in no list, always LIVE */
    bool is_stopping;
    bool is_changed;          /* the state of some channel may have to be advanced */
    bool is_topology_current; /* the topology has not changed since the hub's thread looked at it */

    /* One thread polls the subscriber sockets: the hub's; or the only waiter, which then need not be woken by
       another thread; or none, for a moment. */
    bool is_thread_listening;         /* it is the hub's thread */
    struct lki_waiter *listener;      /* it is this waiter's; NULL: none */
    struct lki_waiter *next_listener; /* wants to replace the hub's thread; NULL: none */
    pthread_cond_t listener_gone;     /* the hub's thread may have to poll again... */
    int64_t no_listener_until;        /* ...but not before this, unless there is work */
    size_t sleepers;                  /* waiters in lki_hub_wait() */
    unsigned lone_wakes;              /* wake-ups of a lone waiter, since there were two */

    /* Used without the mutex, by the thread that polls: */
    struct lki_pubsub_conn *conns; /* owned */
    struct pollfd *fds;            /* owned; one for poke_fd, one for each connection */
    size_t conn_count;
    bool
        is_sharded; /* sharded pub/sub: a connection to each server with channels; else one in all */
    int64_t collect_at; /* when the state of some channel must be advanced */
    uint64_t asked;     /* number of (un)subscribe commands so far */
};

/* Wake the thread that polls. */
void lki_hub_poke(struct lki_hub *hub);
bool lki_hub_thread_has_work_locked(const struct lki_hub *hub);
/* Poll and handle messages in place of the hub's thread, until that moment at most. True: there is work for the
   hub's thread. */
bool lki_hub_thread_listen(struct lki_hub *hub, int64_t until);

#endif
