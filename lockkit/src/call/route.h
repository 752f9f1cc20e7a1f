/*
 * A pipeline to the servers that are to have it; through a cluster, each command to the one that has its key.
 */
#ifndef LKI_ROUTE_H
#define LKI_ROUTE_H

#include "exchange.h"
#include "servers/topology.h"

/* The slot of a command's first key; LKI_NO_SLOT: it has none. */
int lki_route_slot(const struct lk_command *command);

/*
 * To whom its keys are, and in a cluster perhaps to several.
 *
 * Returns  as lki_redis_exchange(); INVALID, EXHAUSTED
 */
LK_MUST_CHECK lk_status lki_route_send(lk_client *client, const struct lki_pipeline *pipeline,
                                       lk_reply **replies, struct lk_error *err);

/*
 * In a cluster.
 *
 * Shape    Commands without a key go along with the one before (those at the beginning, with the one
 *          behind); MULTI to EXEC where its first key is. Those of one server are one pipeline; the
 *          servers follow one another. What a server answers with MOVED or ASK is asked where it says;
 *          TRYAGAIN and CLUSTERDOWN are repeated until the deadline, and then they are the answer.
 * Returns  as lki_exchange_at(); UNKNOWN when some server had answered and another did not.
 * Source   Redis Cluster specification, "MOVED redirection", "ASK redirection"
 */
LK_MUST_CHECK lk_status lki_route(lk_client *client, const struct lki_pipeline *pipeline,
                                  lk_reply **replies, struct lk_error *err);

#endif
