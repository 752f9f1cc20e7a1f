/*
 * See known.h.
 */
#include "known.h"

#include <stddef.h>
#include <string.h>

#include "common/fnv.h"

static size_t bucket_of(const char *sale_id)
{
    return fnv_of(sale_id) % KNOWN_BUCKETS;
}

static struct known_sale *first_of(const struct known *self, size_t bucket)
{
    return atomic_load_explicit(&self->buckets[bucket], memory_order_acquire);
}

void *known_find(const struct known *self, const char *sale_id)
{
    struct known_sale *sale = first_of(self, bucket_of(sale_id));

    while (sale && strcmp(sale->id, sale_id) != 0)
        sale = sale->next;
    return sale;
}

void known_add(struct known *self, void *sale)
{
    struct known_sale *base = sale;
    size_t bucket = bucket_of(base->id);

    base->next = first_of(self, bucket);
    atomic_store_explicit(&self->buckets[bucket], base, memory_order_release);
}

void *known_next(const struct known *self, const void *sale)
{
    const struct known_sale *base = sale;
    size_t bucket = base ? bucket_of(base->id) + 1 : 0;
    struct known_sale *next = base ? base->next : NULL;

    while (!next && bucket < KNOWN_BUCKETS)
        next = first_of(self, bucket++);
    return next;
}

void known_free(struct known *self, void (*free_one)(void *sale))
{
    for (void *sale = known_next(self, NULL), *next = NULL; sale; sale = next) {
        next = known_next(self, sale);
        free_one(sale);
    }
}
