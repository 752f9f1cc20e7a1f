/*
 * Send a pipeline to the server that has its keys; in a cluster, each command to the one that has its key.
 */
#ifndef LKI_ROUTE_H
#define LKI_ROUTE_H

#include "exchange.h"
#include "servers/topology.h"

/* The slot of a command's first key; LKI_NO_SLOT: it has none. */
int lki_route_slot(const struct lk_command *command);

/*
 * Send a pipeline; in a cluster to several servers if need be.
 *
 * Returns  as lki_redis_exchange(); INVALID, EXHAUSTED
 */
LK_MUST_CHECK lk_status lki_route_send(lk_client *client, const struct lki_pipeline *pipeline,
                                       lk_reply **replies, struct lk_error *err);

/*
 * Send a pipeline in a cluster.
 *
 * Shape    A command without a key goes along with the one before (at the beginning, with the next one);
 *          MULTI to EXEC go to the server of the first key. The commands of one server are one pipeline;
 *          the servers are asked one after the other. MOVED and ASK are followed; TRYAGAIN and
 *          CLUSTERDOWN are repeated until the deadline, and then they are the answer.
 * Returns  as lki_exchange_at(); UNKNOWN when some server had answered and another did not.
 * Source   Redis Cluster specification, "MOVED redirection", "ASK redirection"
 */
LK_MUST_CHECK lk_status lki_route(lk_client *client, const struct lki_pipeline *pipeline,
                                  lk_reply **replies, struct lk_error *err);

#endif
