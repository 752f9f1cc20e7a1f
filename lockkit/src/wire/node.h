/*
 * One server of a topology, with its pool and the thread that reconnects it.
 */
#ifndef LKI_NODE_H
#define LKI_NODE_H

#include <pthread.h>
#include <stdatomic.h>

#include "pool.h"

/* It lives until its last reference is given back, also when it was removed from the topology; then its pool lends
   no connections. */
struct lki_node {
    struct lki_endpoint endpoint; /* owned; never changes */
    struct lki_pool *pool;        /* owned */
    atomic_ulong references;
    pthread_t thread; /* lki_pool_main() */
    bool is_started;
    bool is_listed;   /* the topology's: it was in a list of servers... */
    int64_t named_at; /* ...or when a redirection last named it */
};

/* Takes the endpoint. NULL: no memory, or no thread. */
struct lki_node *lki_node_new(struct lki_endpoint endpoint, const struct lk_client_options *options,
                              struct lki_pool_hooks hooks);
/* Stop and join its thread. */
void lki_node_stop(struct lki_node *node);
void lki_node_free(struct lki_node *node); /* NULL is fine */

struct lki_node *lki_node_ref(struct lki_node *node);
/* NULL is fine. The topology frees nodes without other references. */
void lki_node_unref(struct lki_node *node);

#endif
