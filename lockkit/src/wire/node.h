/*
 * One server of a topology, with its pool and the thread that reconnects it.
 */
#ifndef LKI_NODE_H
#define LKI_NODE_H

#include <pthread.h>
#include <stdatomic.h>

#include "pool.h"

/* It lives until the last reference is given back, also when it is no part of the topology any more;
   then its pool refuses, and its connections are cut. */
struct lki_node {
    struct lki_endpoint endpoint; /* owned; never changes */
    struct lki_pool *pool;        /* owned */
    atomic_ulong references;
    pthread_t thread; /* lki_pool_main() */
    bool is_started;
    bool is_listed;   /* below: the topology's. It was among the servers that were told */
    int64_t named_at; /* ...or a redirection names it, at this moment for the last time */
};

/* Takes the endpoint. NULL: no memory, or no thread. */
struct lki_node *lki_node_new(struct lki_endpoint endpoint, const struct lk_client_options *options,
                              struct lki_pool_hooks hooks);
/* Stop and join its thread. */
void lki_node_stop(struct lki_node *node);
void lki_node_free(struct lki_node *node); /* NULL is fine */

struct lki_node *lki_node_ref(struct lki_node *node);
/* NULL is fine. The topology frees what nobody else refers to. */
void lki_node_unref(struct lki_node *node);

#endif
