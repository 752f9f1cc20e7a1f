/*
 * The number of this process in order ids, leased through lockkit: two live processes never share one.
 */
#ifndef SECKILL_ORDER_NODE_H
#define SECKILL_ORDER_NODE_H

#include "lockkit/lockkit.h"

#include "store/deployment.h"

struct order_node; /* opaque */

struct order_ids;

/* Asks for nothing yet. NULL when out of memory. All are borrowed; deployment NULL: it never changes. ids: those that
   are made by the number. */
struct order_node *order_node_new(lk_client *client, const struct deployment *deployment,
                                  struct order_ids *ids);
/* Gives the number back; NULL is fine. */
void order_node_free(struct order_node *node);

/*
 * The number, 0 to 1023; taken at first use, and anew after the lease was lost (a pause longer
 * than the lease, a failover to a server that had not got it). -1 when none can be had now: Redis is
 * out of reach, or all are taken.
 *
 * Shape    a mutex on seckill:node:N, renewed by the watchdog; in the sorted set seckill:nodes a moment for N,
 *          ahead of all ids it was used for by some seconds: whoever takes N next begins there, if its own
 *          clock is behind.
 * Threads  any.
 */
int order_node_number(struct order_node *node);

#endif
