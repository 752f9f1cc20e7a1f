/*
 * GET /metrics: a flood of scrapes costs Redis and the processors what a few do.
 */
#ifndef SECKILL_METRICS_PAGE_H
#define SECKILL_METRICS_PAGE_H

#include "lockkit/lockkit.h"

struct metrics_page; /* opaque */
struct service;      /* routes.h */

/* service: borrowed; whole by the first request; client: its own. NULL when out of memory. */
struct metrics_page *metrics_page_new(struct service *service, lk_client *client);
/* Nobody may be asking. */
void metrics_page_free(struct metrics_page *self);

#endif
