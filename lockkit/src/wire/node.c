/*
 * See node.h. Threads: any.
 */
#include "node.h"

#include <stdlib.h>

#include "base/thread.h"

struct lki_node *lki_node_new(struct lki_endpoint endpoint, const struct lk_client_options *options,
                              struct lki_pool_hooks hooks)
{
    struct lki_node *node = calloc(1, sizeof *node);

    if (!node) {
        lki_endpoint_done(&endpoint);
        return NULL;
    }
    node->endpoint = endpoint;
    node->references = 1; /* the topology's */
    node->pool = lki_pool_new(options, &node->endpoint, hooks, NULL);
    if (node->pool) node->is_started = lki_thread_start(&node->thread, lki_pool_main, node->pool);
    if (node->is_started) return node;
    lki_node_free(node);
    return NULL;
}

void lki_node_stop(struct lki_node *node)
{
    lki_pool_stop(node->pool);
    if (node->is_started) (void)pthread_join(node->thread, NULL);
    node->is_started = false;
}

void lki_node_free(struct lki_node *node)
{
    if (!node) return;
    lki_pool_free(node->pool);
    lki_endpoint_done(&node->endpoint);
    free(node);
}

struct lki_node *lki_node_ref(struct lki_node *node)
{
    atomic_fetch_add(&node->references, 1);
    return node;
}

void lki_node_unref(struct lki_node *node)
{
    if (node) atomic_fetch_sub(&node->references, 1);
}
