/*
 * See order_id.h. When the clock steps back, or 4,096 ids are not enough for a millisecond, the
 * sequence simply runs on into the next millisecond: ids stay unique and growing. A clock outside
 * of 2024 to 2093 is ignored, because it would move all later ids there. Any thread.
 * Source: Twitter Snowflake (2010), with a later epoch.
 */
#include "order_id.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"

enum { SEQUENCE_BITS = 12, NODE_BITS = 10 };
static const int64_t epoch_ms = 1704067200000;   /* 2024-01-01T00:00:00Z */
static const int64_t span_ms = (int64_t)1 << 41; /* what an id has room for */

/* The first id of a millisecond; of 0 when the clock is out of range (a machine without a set clock). */
static uint64_t first_of(int64_t unix_ms)
{
    bool is_sane = unix_ms >= epoch_ms && unix_ms - epoch_ms < span_ms;

    return is_sane ? (uint64_t)(unix_ms - epoch_ms) << SEQUENCE_BITS : 0;
}

static void print_decimal(uint64_t value, char out[ORDER_ID_MAX])
{
    char digits[ORDER_ID_MAX];
    size_t at = sizeof digits;

    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    memcpy(out, digits + at, sizeof digits - at);
    out[sizeof digits - at] = '\0'; /* 63 bits are at most 19 digits */
}

void order_id_next(struct order_ids *ids, unsigned node, char out_id[ORDER_ID_MAX])
{
    uint64_t now = first_of(clock_unix_ms());
    uint64_t last = atomic_load(&ids->last);
    uint64_t next = 0;

    assert(node < ORDER_NODES);
    do {
        next = now > last ? now : last + 1;
    } while (!atomic_compare_exchange_weak(&ids->last, &last, next));
    uint64_t ms = next >> SEQUENCE_BITS;
    uint64_t sequence = next & ((1U << SEQUENCE_BITS) - 1);
    print_decimal(
        (ms << (SEQUENCE_BITS + NODE_BITS)) | ((uint64_t)node << SEQUENCE_BITS) | sequence, out_id);
}

int64_t order_ids_next_ms(const struct order_ids *ids)
{
    uint64_t now = first_of(clock_unix_ms());
    uint64_t last = atomic_load(&ids->last);

    return epoch_ms + (int64_t)((now > last ? now : last + 1) >> SEQUENCE_BITS);
}

void order_ids_raise(struct order_ids *ids, int64_t unix_ms)
{
    uint64_t floor = first_of(unix_ms);
    uint64_t last = atomic_load(&ids->last);

    while (last < floor && !atomic_compare_exchange_weak(&ids->last, &last, floor))
        ;
}

int64_t order_id_ms(const char *id)
{
    uint64_t value = 0;
    size_t len = strlen(id);

    if (len == 0 || len >= ORDER_ID_MAX || strspn(id, "0123456789") != len) return -1;
    for (size_t i = 0; i < len; i++)
        value = value * 10 + (uint64_t)(id[i] - '0');
    if (value > INT64_MAX) return -1;
    return (int64_t)(value >> (SEQUENCE_BITS + NODE_BITS)) + epoch_ms;
}
