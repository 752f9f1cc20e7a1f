/*
 * The number of this process in order ids, leased through lockkit: two live processes never share one.
 */
#ifndef SECKILL_ORDER_NODE_H
#define SECKILL_ORDER_NODE_H

#include "lockkit/lockkit.h"

#include "store/deployment.h"

struct order_node; /* opaque */

/* Asks for nothing yet. NULL when out of memory. Both are borrowed; deployment NULL: it never changes. */
struct order_node *order_node_new(lk_client *client, const struct deployment *deployment);
/* Gives the number back; NULL is fine. */
void order_node_free(struct order_node *node);

/*
 * The number, 0 to 1023; taken at first use, and anew after the lease was lost (a pause longer
 * than the lease, a failover to a server that had not got it). -1 when none can be had now: Redis is
 * out of reach, or all are taken.
 *
 * Shape    a mutex on seckill:node:N, renewed by the watchdog.
 * Threads  any.
 */
int order_node_number(struct order_node *node);

#endif
