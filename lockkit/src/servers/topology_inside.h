/*
 * The inside of a topology, for the file that keeps it (topology.c) and the one that looks (topology_refresh.c).
 */
#ifndef LKI_TOPOLOGY_INSIDE_H
#define LKI_TOPOLOGY_INSIDE_H

#include "topology.h"
#include "view.h"

struct lki_topology {
    const struct lk_client_options *options; /* borrowed */
    const struct lki_url *url;               /* borrowed */
    void (*on_change)(void *arg);
    void *on_change_arg;
    int poke_fd;                /* eventfd: look now */
    bool is_open;               /* the looking thread's, as the next five: what is told is news */
    size_t first_candidate;     /* whom to ask first */
    struct lki_redis *listener; /* owned: to the Sentinel that answered */
    size_t listener_seed;       /* its place in the URL */
    int64_t confirmed_at;       /* when a Sentinel told our version, or a later one */
    atomic_ulong epoch;
    atomic_bool is_refresh_due;
    atomic_bool is_stopping;
    atomic_bool is_sharded;
    pthread_mutex_t mutex;   /* guards all below */
    struct lki_node **nodes; /* owned */
    size_t node_count;
    struct lki_node **retired; /* owned: until their references are given back */
    size_t retired_count;
    uint16_t *owners;  /* owned; NULL: no slots */
    bool has_moved;    /* a slot did, and nobody has been told */
    long long version; /* of the Sentinels' configuration */
};

/* Take over what was told; true when it is news. Takes the view's parts. */
bool lki_topology_apply(struct lki_topology *topology, struct lki_view *view);
/* Other servers, or other slots (arg: the topology). No mutex held. */
void lki_topology_notify_change(void *arg);
/* Free what was retired and is not referred to any more. */
void lki_topology_reap(struct lki_topology *topology);
/* The n-th to ask: servers that are known, then the seeds; each in turn the first. A copy; false past
   the last. */
bool lki_topology_candidate(struct lki_topology *topology, size_t index, struct lki_endpoint *out);

#endif
