/*
 * Which of the hub's connections each channel is asked for on. The hub thread's alone.
 */
#ifndef LKI_ROUTES_H
#define LKI_ROUTES_H

#include "hub_inner.h"

/* NULL: nowhere; then it is WANTED. */
void lki_routes_set(struct lki_channel *channel, struct lki_pubsub_conn *conn);

/* Find a server for every channel that has none; returns when to try again: INT64_MAX, all have one. */
int64_t lki_routes_find(struct lki_hub *hub);
/* The topology has changed: channels whose server is another one now have none. */
void lki_routes_recheck(struct lki_hub *hub);

/* lki_pubsub_conn_tick() all connections. */
void lki_routes_tick(struct lki_hub *hub);
void lki_routes_on_event(struct lki_hub *hub, struct lki_pubsub_conn *conn,
                         enum lki_pubsub_event event);
/* Close the connections of a cluster that nobody has needed for a while. */
void lki_routes_prune(struct lki_hub *hub);
/* When the next of these two has something to do. */
int64_t lki_routes_due(const struct lki_hub *hub);

#endif
