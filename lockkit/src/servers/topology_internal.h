/*
 * Internals of a topology, for topology.c and topology_refresh.c.
 */
#ifndef LKI_TOPOLOGY_INTERNAL_H
#define LKI_TOPOLOGY_INTERNAL_H

#include "topology.h"
#include "view.h"

struct lki_topology {
    const struct lk_client_options *options; /* borrowed */
    const struct lki_url *url;               /* borrowed */
    void (*on_change)(void *arg);
    void *on_change_arg;
    int poke_fd;            /* eventfd: refresh now */
    bool is_open;           /* as the next five, of the refreshing thread: changes are reported */
    size_t first_candidate; /* the index of the server to ask first */
    struct lki_redis *listener; /* owned: subscribed to the Sentinel that answered */
    size_t listener_seed;       /* its index in the URL */
    int64_t confirmed_at;       /* when a Sentinel had our version, or a later one */
    atomic_ulong epoch;
    atomic_bool is_refresh_due;
    atomic_bool is_stopping;
    atomic_bool is_sharded;
    pthread_mutex_t mutex;   /* guards all below */
    struct lki_node **nodes; /* owned */
    size_t node_count;
    struct lki_node **retired; /* owned: removed, but still referenced */
    size_t retired_count;
    uint16_t *owners;  /* owned; per slot the index of its node; NULL: no slots */
    bool has_moved;    /* a redirection has moved a slot, which is not reported yet */
    long long version; /* of the Sentinels' configuration */
};

/* Apply a view, whose parts are taken; true: it has changed the topology. */
bool lki_topology_apply(struct lki_topology *topology, struct lki_view *view);
/* Report a change of servers or slots (arg: the topology). Without a mutex. */
void lki_topology_notify_change(void *arg);
/* Free retired nodes that are no longer referenced. */
void lki_topology_reap(struct lki_topology *topology);
/* Copy the n-th server to ask: known servers, then the seeds, each list from first_candidate on. False: there are no
   more. */
bool lki_topology_candidate(struct lki_topology *topology, size_t index, struct lki_endpoint *out);

#endif
