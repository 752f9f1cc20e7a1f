/*
 * See heap.h. Knows nothing of locks; the caller guards it.
 */
#include "heap.h"

#include <assert.h>
#include <stdlib.h>

static void put(struct lki_heap *heap, struct lki_heap_item *item, size_t place)
{
    heap->items[place - 1] = item;
    item->place = place;
}

static void sift_up(struct lki_heap *heap, struct lki_heap_item *item)
{
    size_t place = item->place;

    while (place > 1 && heap->items[place / 2 - 1]->key > item->key) {
        put(heap, heap->items[place / 2 - 1], place);
        place /= 2;
    }
    put(heap, item, place);
}

static void sift_down(struct lki_heap *heap, struct lki_heap_item *item)
{
    size_t place = item->place;

    for (;;) {
        size_t child = place * 2;

        if (child > heap->count) break;
        if (child < heap->count && heap->items[child]->key < heap->items[child - 1]->key) child++;
        if (heap->items[child - 1]->key >= item->key) break;
        put(heap, heap->items[child - 1], place);
        place = child;
    }
    put(heap, item, place);
}

bool lki_heap_push(struct lki_heap *heap, struct lki_heap_item *item)
{
    assert(item->place == 0);
    if (heap->count == heap->room) {
        size_t room = heap->room ? heap->room * 2 : 16;
        struct lki_heap_item **items = realloc(heap->items, room * sizeof *items);

        if (!items) return false;
        heap->items = items;
        heap->room = room;
    }
    heap->count++;
    put(heap, item, heap->count);
    sift_up(heap, item);
    return true;
}

struct lki_heap_item *lki_heap_first(const struct lki_heap *heap)
{
    return heap->count ? heap->items[0] : NULL;
}

void lki_heap_remove(struct lki_heap *heap, struct lki_heap_item *item)
{
    size_t place = item->place;

    if (place == 0) return;
    struct lki_heap_item *last = heap->items[heap->count - 1];
    heap->count--;
    item->place = 0;
    if (last == item) return;
    put(heap, last, place);
    sift_up(heap, last);
    sift_down(heap, last);
}

void lki_heap_done(struct lki_heap *heap)
{
    free(heap->items);
    *heap = (struct lki_heap){0};
}
