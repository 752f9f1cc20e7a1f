/*
 * Order ids: 63-bit snowflakes. 41 bits of milliseconds since 2024-01-01T00:00:00Z, 10 bits of node,
 * 12 bits of sequence. They grow with time and never repeat while the node number is ours alone.
 */
#ifndef SECKILL_ORDER_ID_H
#define SECKILL_ORDER_ID_H

#include <stdatomic.h>

#include "sale.h"

enum { ORDER_NODES = 1024 };

/* One per process; zero-initialised. Threads: any number. */
struct order_ids {
    _Atomic uint64_t last; /* milliseconds << 12 | sequence of the last id */
};

/* The next id of this node, as decimal digits. */
void order_id_next(struct order_ids *ids, unsigned node, char out_id[ORDER_ID_MAX]);

/* The earliest Unix millisecond that the next id can have. */
int64_t order_ids_next_ms(const struct order_ids *ids);

/* Make no id of before that moment any more; a moment that does not fit into an id is ignored. */
void order_ids_raise(struct order_ids *ids, int64_t unix_ms);

/* Unix milliseconds at which an order was made; -1 when the text is no order id. */
int64_t order_id_ms(const char *id);

#endif
