/*
 * Growing arrays and one arena for the strings: 10 million asks are 10 million small strings, and
 * an arena keeps them at their own length. One thread.
 */
#include "facts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_BLOCK_BYTES = 1 << 20, FIRST_CAPACITY = 64 };

struct arena {
    struct arena *previous; /* owned */
    size_t used, size;
    char bytes[];
};

static struct arena *arena_block(struct arena *previous, size_t need)
{
    size_t size = need > ARENA_BLOCK_BYTES ? need : ARENA_BLOCK_BYTES;
    struct arena *block = malloc(sizeof *block + size);
    if (!block) return NULL;
    block->previous = previous;
    block->used = 0;
    block->size = size;
    return block;
}

static char *arena_take(struct facts *facts, size_t bytes)
{
    if (!facts->arena || facts->arena->size - facts->arena->used < bytes) {
        struct arena *block = arena_block(facts->arena, bytes);
        if (!block) return NULL;
        facts->arena = block;
    }
    char *place = facts->arena->bytes + facts->arena->used;
    facts->arena->used += bytes;
    return place;
}

/* Room for one more of `size` bytes behind `count` items; capacities are FIRST_CAPACITY * 2^n. */
static void *with_room(void *items, size_t count, size_t size)
{
    bool is_full = count == 0 || (count >= FIRST_CAPACITY && (count & (count - 1)) == 0);
    if (!is_full) return items;
    size_t capacity = count < FIRST_CAPACITY ? FIRST_CAPACITY : count * 2;
    return reallocarray(items, capacity, size);
}

void facts_init(struct facts *facts)
{
    *facts = (struct facts){.initial = -1, .epoch = -1, .starts_ms = -1, .ends_ms = -1};
}

void facts_done(struct facts *facts)
{
    while (facts->arena) {
        struct arena *previous = facts->arena->previous;
        free(facts->arena);
        facts->arena = previous;
    }
    free(facts->segments);
    free(facts->orders);
    free(facts->sold);
    free(facts->log);
    free(facts->asks);
    free(facts->resolutions);
    free(facts->samples);
    free(facts->steps);
    free(facts->pays);
    facts_init(facts);
}

const char *facts_text(struct facts *facts, const char *text, size_t length)
{
    char *copy = arena_take(facts, length + 1);
    if (!copy) return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

const char *facts_rid(struct facts *facts, const char *key, size_t key_len, const char *buyer)
{
    if (key_len > 0) return facts_text(facts, key, key_len);
    size_t length = strlen(buyer);
    char *copy = arena_take(facts, length + 2);
    if (!copy) return NULL;
    copy[0] = '~';
    memcpy(copy + 1, buyer, length + 1);
    return copy;
}

/* facts_add_NAME() puts one more behind the others. */
#define ADDER(name, type, items)                                                                   \
    bool facts_add_##name(struct facts *facts, struct type item)                                   \
    {                                                                                              \
        void *grown = with_room(facts->items, facts->name##_count, sizeof *facts->items);          \
        if (!grown) return false;                                                                  \
        facts->items = grown;                                                                      \
        facts->items[facts->name##_count++] = item;                                                \
        return true;                                                                               \
    }                                                                                              \
    _Static_assert(true, "")

ADDER(segment, piece, segments);
ADDER(order, row, orders);
ADDER(sold, row, sold);
ADDER(log, ledger_entry, log);
ADDER(ask, ask, asks);
ADDER(resolution, resolution, resolutions);
ADDER(sample, sample, samples);
ADDER(step, operator_step, steps);
ADDER(pay, pay_fact, pays);

static int by_buyer(const void *left, const void *right)
{
    const struct row *a = left;
    const struct row *b = right;
    return strcmp(a->buyer, b->buyer);
}

void facts_drop_repeated_orders(struct facts *facts, size_t from)
{
    size_t kept = from;

    if (facts->order_count < from + 2) return;
    qsort(facts->orders + from, facts->order_count - from, sizeof *facts->orders, by_buyer);
    for (size_t i = from + 1; i < facts->order_count; i++) {
        if (strcmp(facts->orders[i].buyer, facts->orders[kept].buyer) == 0) continue;
        facts->orders[++kept] = facts->orders[i];
    }
    facts->order_count = kept + 1;
}

static struct range rest(const struct range *last, size_t count)
{
    size_t from = last ? last->from + last->count : 0;

    return (struct range){from, count - from};
}

struct piece facts_piece(const struct facts *facts)
{
    const struct piece *last =
        facts->segment_count ? &facts->segments[facts->segment_count - 1] : NULL;

    return (struct piece){.orders = rest(last ? &last->orders : NULL, facts->order_count),
                          .sold = rest(last ? &last->sold : NULL, facts->sold_count),
                          .log = rest(last ? &last->log : NULL, facts->log_count),
                          .initial = facts->initial,
                          .restocked = facts->restocked,
                          .epoch = facts->epoch,
                          .left = facts->left,
                          .state = facts->state,
                          .has_stock = facts->has_stock};
}

void facts_join_segments(struct facts *facts)
{
    facts->initial = facts->restocked = facts->left = 0;
    facts->epoch = facts->has_stock = 1;
    facts->state = facts->segments[0].state;
    for (size_t i = 0; i < facts->segment_count; i++) {
        const struct piece *one = &facts->segments[i];

        facts->restocked += one->restocked;
        facts->left += one->left - one->moved;
        facts->epoch += one->epoch - 1;
        facts->has_stock = facts->has_stock && one->has_stock;
        facts->initial =
            one->initial < 0 || facts->initial < 0 ? -1 : facts->initial + one->initial;
    }
}

static const char *const answer_names[ANSWER_COUNT] = {
#define ANSWER_NAME(value, name) [value] = (name),
    ANSWER_LIST(ANSWER_NAME)
#undef ANSWER_NAME
};

const char *facts_answer_name(answer_kind kind)
{
    assert(kind < ANSWER_COUNT);
    return answer_names[kind];
}

answer_kind facts_answer_from_name(const char *name)
{
    for (answer_kind found = ANSWER_NONE; found < ANSWER_COUNT; found++)
        if (strcmp(answer_names[found], name) == 0) return found;
    return ANSWER_OTHER;
}
