/*
 * What is known of sales, each found by its id: by any thread, without a lock. They only become more.
 */
#ifndef SECKILL_KNOWN_H
#define SECKILL_KNOWN_H

#include <stdatomic.h>

#include "sale.h"

enum { KNOWN_BUCKETS = 256 };

/* First member of what is known of one. */
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
/* One that has its id and is not known yet, as the caller's mutex for that sees to; it is owned from now on. */
void known_add(struct known *self, void *sale);
/* In no order; of NULL the first, of the last NULL. */
void *known_next(const struct known *self, const void *sale);
#define KNOWN_EACH(type, sale, known)                                                              \
    for (struct type * (sale) = known_next(known, NULL); sale; (sale) = known_next(known, sale))
/* When nobody looks any more. */
void known_free(struct known *self, void (*free_one)(void *sale));

#endif
