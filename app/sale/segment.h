/*
 * A sale in segments: several sales in Redis, each in a slot of its own, with stock, orders, ledger and lock, that are
 * one to everybody outside. A buyer has a home, where his order is; units move.
 */
#ifndef SECKILL_SEGMENT_H
#define SECKILL_SEGMENT_H

#include "sale.h"

/* As much is behind the id of a sale in those of its segments: ".GENERATION.NN". */
enum { SEGMENT_GENERATION = 8, SEGMENTED_ID_MAX = SALE_ID_MAX - SEGMENT_GENERATION - 4 };

/* What a segment is called; no sale is, as its id has no dot. */
void segment_id(const char *sale_id, const char *generation, unsigned number, struct sale_id *out);

/* How many of the equal parts of a cluster's slots, as many as there are segments, have one: at best, each. */
unsigned segment_spread(const char *sale_id, const char *generation, unsigned count);

/* In which of so many segments a buyer's order is. */
unsigned segment_home(const char *buyer, unsigned count);

/* Of units that are put up in so many segments, the number that one gets: they differ by 1 at most. */
int64_t segment_share(int64_t units, unsigned count, unsigned number);

/* The sale that its segments make; *whole has id and segments.count and .generation before, parts are as many. */
void segment_join(const struct sale *parts, struct sale *whole);

#endif
