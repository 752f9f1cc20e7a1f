/*
 * The last stock report, kept for a moment: however many ask for /metrics, Redis is asked as if it
 * was one.
 */
#ifndef SECKILL_STOCK_REPORT_CACHE_H
#define SECKILL_STOCK_REPORT_CACHE_H

#include "stock_report.h"

enum { STOCK_REPORT_AGE_MS = 1000 };

struct stock_report_cache; /* opaque */

/* client: borrowed. NULL when out of memory. */
struct stock_report_cache *stock_report_cache_new(lk_client *client);
/* Nobody may be reading. */
void stock_report_cache_free(struct stock_report_cache *self);

/*
 * As stock_report_read(), or what that last told, no matter to whom; a failure is kept as well.
 *
 * Units    what is told was read at most STOCK_REPORT_AGE_MS ago.
 * Threads  any; those who come while Redis is asked wait for the same answer.
 */
bool stock_report_cache_read(struct stock_report_cache *self,
                             struct metrics_stock out[STOCK_REPORT_MAX], size_t *out_count);

#endif
