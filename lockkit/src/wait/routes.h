/*
 * Which of the hub's links each channel is asked for on. The hub thread's alone.
 */
#ifndef LKI_ROUTES_H
#define LKI_ROUTES_H

#include "hub_inner.h"

/* NULL: nowhere; then it is WANTED. */
void lki_routes_set(struct lki_channel *channel, struct lki_link *link);

/* Find a server for every channel that has none; returns when to try again: INT64_MAX, all have one. */
int64_t lki_routes_find(struct lki_hub *hub);
/* The topology has changed: channels whose server is another one now have none. */
void lki_routes_look_again(struct lki_hub *hub);

/* lki_link_tend() all links. */
void lki_routes_tend(struct lki_hub *hub);
void lki_routes_take_news(struct lki_hub *hub, struct lki_link *link, enum lki_link_news news);
/* Close the links of a cluster that nobody has needed for a while. */
void lki_routes_prune(struct lki_hub *hub);
/* When the next of these two has something to do. */
int64_t lki_routes_due(const struct lki_hub *hub);

#endif
