/*
 * A sharded sale: its segments are sales in Redis, each in a slot of its own, with stock, orders, ledger and lock; API
 * clients see one sale. A hash of the buyer's id chooses the home segment, which has his order; units can move.
 */
#ifndef SECKILL_SEGMENT_H
#define SECKILL_SEGMENT_H

#include "sale.h"

/* The length of the suffix that a segment's id adds to the sale's: ".GENERATION.NN". */
enum { SEGMENT_GENERATION = 8, SEGMENTED_ID_MAX = SALE_ID_MAX - SEGMENT_GENERATION - 4 };

/* A segment's id; it has a dot, so it never equals the id of a sale. */
void segment_id(const char *sale_id, const char *generation, unsigned number, struct sale_id *out);

/* Divide a cluster's slots into as many equal ranges as there are segments: how many of the ranges have a segment. */
unsigned segment_spread(const char *sale_id, const char *generation, unsigned count);

/* The number of a buyer's home segment. */
unsigned segment_home(const char *buyer, unsigned count);

/* A segment's share of the units that are added to the sale: shares differ by 1 at most. */
int64_t segment_share(int64_t units, unsigned count, unsigned number);

/* Sum up the segments (parts) into *whole, whose id, segments.count and .generation are set by the caller. */
void segment_join(const struct sale *parts, struct sale *whole);

#endif
