/*
 * The number of this process in order ids, leased through lockkit: two live processes never share one.
 */
#ifndef SECKILL_ORDER_NODE_H
#define SECKILL_ORDER_NODE_H

#include "lockkit/lockkit.h"

#include "store/deployment.h"

struct order_node; /* opaque */

struct order_ids;

/* Redis is not asked yet. NULL when out of memory. All are borrowed; deployment NULL: it never changes. ids: the
   generator that uses the number. */
struct order_node *order_node_new(lk_client *client, const struct deployment *deployment,
                                  struct order_ids *ids);
/* Release the number; NULL is allowed. */
void order_node_free(struct order_node *node);

/*
 * The number, 0 to 1023. It is leased at the first use, and again after the lease was lost (by a pause longer
 * than the lease, or a failover to a server that does not have it). -1 when there is none now: Redis is
 * out of reach, or all numbers are leased.
 *
 * Shape    a mutex on seckill:node:N, renewed by the watchdog; the sorted set seckill:nodes has for N a moment
 *          some seconds after all ids that were made with it: the next holder of N begins there, if its own
 *          clock is behind.
 * Threads  any.
 */
int order_node_number(struct order_node *node);

#endif
