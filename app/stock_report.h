/*
 * The stock of the first sales by id, read at once: for /metrics, which must not wait for Redis.
 */
#ifndef SECKILL_STOCK_REPORT_H
#define SECKILL_STOCK_REPORT_H

#include "lockkit/lockkit.h"

#include "metrics.h"

enum { STOCK_REPORT_MAX = 50, STOCK_REPORT_WAIT_MS = 250 /* each of two round trips */ };

/*
 * Shape    at most STOCK_REPORT_MAX sales; ids without a sale are skipped.
 * Returns  false when Redis did not answer in time: *out_count is not touched.
 * Threads  any.
 */
bool stock_report_read(lk_client *client, struct metrics_stock out[STOCK_REPORT_MAX],
                       size_t *out_count);

#endif
