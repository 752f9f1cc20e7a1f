/*
 * A binary min-heap of items that know their own place, so any item is removed in O(log n).
 */
#ifndef LKI_HEAP_H
#define LKI_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lki_heap_item {
    int64_t key;  /* smallest first */
    size_t place; /* 1-based; 0: in no heap */
};

struct lki_heap {
    struct lki_heap_item **items; /* owned array of borrowed items */
    size_t count;
    size_t room;
};

/* False when out of memory; the item must be in no heap. */
bool lki_heap_push(struct lki_heap *heap, struct lki_heap_item *item);
/* The smallest, or NULL. */
struct lki_heap_item *lki_heap_first(const struct lki_heap *heap);
/* No effect on an item that is in no heap. */
void lki_heap_remove(struct lki_heap *heap, struct lki_heap_item *item);
void lki_heap_done(struct lki_heap *heap);

#endif
