/*
 * The heap against a plain array that is searched: pushes, removals from anywhere, equal keys.
 */
#include "base/heap.h"
#include "test/support/testing.h"

enum { ITEMS = 64, STEPS = 20000, KEYS = 40, ROUNDS = 5 };

/* A small generator of our own: the same steps on every machine. */
static uint32_t next_random(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

static int64_t smallest_key(const struct lki_heap_item *items, size_t *out_count)
{
    int64_t smallest = INT64_MAX;

    *out_count = 0;
    for (size_t i = 0; i < ITEMS; i++) {
        if (items[i].place == 0) continue;
        ++*out_count;
        if (items[i].key < smallest) smallest = items[i].key;
    }
    return smallest;
}

static void check_against_model(const struct lki_heap *heap, const struct lki_heap_item *items)
{
    size_t count = 0;
    int64_t smallest = smallest_key(items, &count);

    assert_int_equal(heap->count, count);
    if (count == 0) {
        assert_null(lki_heap_first(heap));
    } else {
        assert_int_equal(lki_heap_first(heap)->key, smallest);
    }
    for (size_t i = 0; i < heap->count; i++)
        assert_int_equal(heap->items[i]->place, i + 1);
}

TEST(the_smallest_is_first_whatever_was_pushed_and_removed)
{
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        struct lki_heap_item items[ITEMS] = {0};
        struct lki_heap heap = {0};
        uint32_t seed = round * 2654435761U;

        for (int step = 0; step < STEPS / ROUNDS; step++) {
            struct lki_heap_item *item = &items[next_random(&seed) % ITEMS];

            if (item->place == 0) {
                item->key = (int64_t)(next_random(&seed) % KEYS) - KEYS / 2;
                assert_true(lki_heap_push(&heap, item));
            } else {
                lki_heap_remove(&heap, item);
                assert_int_equal(item->place, 0);
            }
            check_against_model(&heap, items);
        }
        lki_heap_done(&heap);
    }
}

TEST(taking_the_first_again_and_again_sorts)
{
    struct lki_heap_item items[ITEMS] = {0};
    struct lki_heap heap = {0};
    uint32_t seed = 99;
    int64_t last = INT64_MIN;

    for (size_t i = 0; i < ITEMS; i++) {
        items[i].key = next_random(&seed);
        assert_true(lki_heap_push(&heap, &items[i]));
    }
    while (lki_heap_first(&heap)) {
        struct lki_heap_item *first = lki_heap_first(&heap);

        assert_true(first->key >= last);
        last = first->key;
        lki_heap_remove(&heap, first);
    }
    assert_int_equal(heap.count, 0);
    lki_heap_done(&heap);
}

TEST(removing_what_is_in_no_heap_has_no_effect)
{
    struct lki_heap_item inside = {.key = 1};
    struct lki_heap_item outside = {.key = 0};
    struct lki_heap heap = {0};

    assert_true(lki_heap_push(&heap, &inside));
    lki_heap_remove(&heap, &outside);

    assert_ptr_equal(lki_heap_first(&heap), &inside);
    lki_heap_done(&heap);
}

TEST(an_item_that_left_makes_room_without_memory)
{
    struct lki_heap_item items[16] = {0};
    struct lki_heap heap = {0};

    for (size_t i = 0; i < 16; i++)
        assert_true(lki_heap_push(&heap, &items[i]));
    size_t room = heap.room;
    lki_heap_remove(&heap, &items[7]);
    assert_true(lki_heap_push(&heap, &items[7]));

    assert_int_equal(heap.room, room); /* the watchdog relies on it */
    lki_heap_done(&heap);
}
