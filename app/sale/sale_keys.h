/*
 * The keys of one sale. All share a hash tag, so a sale is one slot in a cluster.
 */
#ifndef SECKILL_SALE_KEYS_H
#define SECKILL_SALE_KEYS_H

#include "lockkit/reply.h"

#include "sale.h"

enum { SALE_KEY_ROOM = SALE_ID_MAX + 26 };

enum sale_key {
    KEY_SALE,
    KEY_STOCK,
    KEY_ORDERS,
    KEY_LEDGER,
    KEY_VOID,
    KEY_DUE,   /* this one and those after KEY_LOCK: only of a sale that is paid for later */
    KEY_FENCE, /* the highest fencing token that a write has presented; guard "fenced" only */
    KEY_LOCK,
    KEY_EVENTS,
    KEY_REFUNDS,
    KEY_EXPIRER_FENCE,
    KEY_WAITING, /* of a sale with a waiting room, as the next */
    KEY_PLACES,
    KEY_SEGMENTS, /* of a sale in segments, which has no other (store_segments.h) */
    SALE_KEY_COUNT
};

struct sale_keys {
    char text[SALE_KEY_COUNT][SALE_KEY_ROOM];
    struct lk_bytes key[SALE_KEY_COUNT]; /* the same, for commands */
};

/* *out must not be moved or copied afterwards: its keys point into it. */
void sale_keys_make(const char *sale_id, struct sale_keys *out);

#endif
