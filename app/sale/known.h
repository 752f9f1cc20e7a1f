/*
 * A table of sales by id that any thread can search without a lock. Sales are only ever added.
 */
#ifndef SECKILL_KNOWN_H
#define SECKILL_KNOWN_H

#include <stdatomic.h>

#include "sale.h"

enum { KNOWN_BUCKETS = 256 };

/* The first member of an entry. */
struct known_sale {
    char id[SALE_ID_MAX + 1];
    struct known_sale *next; /* known.c's; set once */
};

/* All zero: none. */
struct known {
    _Atomic(struct known_sale *) buckets[KNOWN_BUCKETS];
};

/* NULL: not known. */
void *known_find(const struct known *self, const char *sale_id);
/* Add an entry whose id is set and is not in the table yet; the caller's mutex ensures that. Takes the entry. */
void known_add(struct known *self, void *sale);
/* Iterate in no order: NULL gives the first entry, the last entry gives NULL. */
void *known_next(const struct known *self, const void *sale);
#define KNOWN_EACH(type, sale, known)                                                              \
    for (struct type * (sale) = known_next(known, NULL); sale; (sale) = known_next(known, sale))
/* No thread may search any more. */
void known_free(struct known *self, void (*free_one)(void *sale));

#endif
