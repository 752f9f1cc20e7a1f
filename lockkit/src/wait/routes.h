/*
 * Routes channels to the hub's connections. The hub's thread only.
 */
#ifndef LKI_ROUTES_H
#define LKI_ROUTES_H

#include "hub_internal.h"

/* NULL: to none; the channel is WANTED then. */
void lki_routes_set(struct lki_channel *channel, struct lki_pubsub_conn *conn);

/* Find a connection for every channel that has none; returns when to try again. INT64_MAX: all have one. */
int64_t lki_routes_find(struct lki_hub *hub);
/* The topology has changed: channels leave connections to servers that do not have them any more. */
void lki_routes_recheck(struct lki_hub *hub);

/* lki_pubsub_conn_tick() all connections. */
void lki_routes_tick(struct lki_hub *hub);
void lki_routes_on_event(struct lki_hub *hub, struct lki_pubsub_conn *conn,
                         enum lki_pubsub_event event);
/* Close connections of a cluster that no channel has used for a while. */
void lki_routes_prune(struct lki_hub *hub);
/* The next timeout of the two above. */
int64_t lki_routes_due(const struct lki_hub *hub);

#endif
