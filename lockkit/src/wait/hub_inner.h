/*
 * What the two sides of the hub share: the waiters' (hub.c) and its thread's (hub_thread.c).
 */
#ifndef LKI_HUB_INNER_H
#define LKI_HUB_INNER_H

#include "channel.h"
#include "pubsub_conn.h"

enum { LKI_LINGER_MS = 1000 }; /* an unused subscription is kept this long */

struct lki_hub {
    const struct lk_client_options *options; /* borrowed */
    struct lki_topology *topology;           /* borrowed; NULL: not of Redis */
    int poke_fd;                             /* eventfd: there is something to do */
    pthread_mutex_t mutex;    /* guards all from here on, the channels and the waiters */
    pthread_cond_t confirmed; /* some channel became LIVE, or a connection was lost */
    struct lki_channels channels;
    struct lki_channel silent; /* of those who wait without messages; in no list, always LIVE */
    bool is_stopping;
    bool is_changed;          /* some channel may have to be moved on */
    bool is_topology_current; /* the topology has not changed since the hub's thread looked */

    /* The ear: the hub's thread has it; or, in its stead, the only waiter there is, which then needs nobody to
       wake it; or nobody, for a moment. */
    bool is_thread_listening; /* by the hub's thread */
    struct lki_waiter *listener;
    struct lki_waiter *next_listener; /* would take it from the hub's thread */
    pthread_cond_t listener_gone;     /* the hub's thread may have to take it */
    int64_t no_listener_until;        /* ...but not before, without something to do */
    size_t sleepers;                  /* waiters in lki_hub_wait() */
    unsigned lone_wakes;              /* since there were two */

    /* Whose the ear is, without the mutex: */
    struct lki_pubsub_conn *conns; /* owned */
    struct pollfd *fds;            /* owned; one for poke_fd, one for each connection */
    size_t conn_count;
    bool is_sharded;    /* a connection for each server that is needed; else one in all */
    int64_t collect_at; /* some channel is due */
    uint64_t asked;     /* questions about channels so far */
};

/* Wake the hub's thread, or who listens in its stead. */
void lki_hub_poke(struct lki_hub *hub);
bool lki_hub_thread_has_work_locked(const struct lki_hub *hub);
/* With the ear: sleep until something comes, or is due, or until then. True: the hub's thread is to see to it. */
bool lki_hub_thread_listen(struct lki_hub *hub, int64_t until);

#endif
