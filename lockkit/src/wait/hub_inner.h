/*
 * What the two sides of the hub share: the waiters' (hub.c) and its thread's (hub_thread.c).
 */
#ifndef LKI_HUB_INNER_H
#define LKI_HUB_INNER_H

#include "channel.h"
#include "link.h"

struct lki_hub {
    struct lki_hub_options options;
    int poke_fd;              /* eventfd: there is something to do */
    pthread_mutex_t mutex;    /* guards all from here on, the channels and the waiters */
    pthread_cond_t confirmed; /* some channel became LIVE, or a link was lost */
    struct lki_channels channels;
    struct lki_channel silent; /* of those who wait without messages; in no list, always LIVE */
    bool is_stopping;
    bool is_changed;   /* some channel may have to be moved on */
    bool is_looked_at; /* the topology has not changed since the hub's thread looked */

    /* The hub thread's alone, without the mutex: */
    struct lki_link *links; /* owned */
    struct pollfd *fds;     /* owned; one for poke_fd, one for each link */
    size_t link_count;
    bool is_sharded;    /* a link for each server that is needed; else one in all */
    int64_t collect_at; /* some channel is due */
    uint64_t asked;     /* questions about channels so far */
};

/* Wake the hub's thread. */
void lki_hub_poke(struct lki_hub *hub);

#endif
