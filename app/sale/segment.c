/*
 * See segment.h. Pure; any thread.
 */
#include "segment.h"

#include <stdio.h>
#include <string.h>

enum { SLOTS = 16384 };

void segment_id(const char *sale_id, const char *generation, unsigned number, struct sale_id *out)
{
    (void)snprintf(out->text, sizeof out->text, "%.*s.%.*s.%u", SEGMENTED_ID_MAX, sale_id,
                   SEGMENT_GENERATION, generation, number % SALE_SEGMENTS_MAX);
}

/* CRC-16/XMODEM, as Redis Cluster takes it of what is between the braces of a key. */
static unsigned slot_of(const char *text)
{
    unsigned crc = 0;

    for (const char *c = text; *c; c++) {
        crc ^= (unsigned)(uint8_t)*c << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc << 1 ^ (crc & 0x8000U ? 0x1021U : 0)) & 0xffffU;
    }
    return crc % SLOTS;
}

unsigned segment_spread(const char *sale_id, const char *generation, unsigned count)
{
    uint32_t parts = 0; /* a bit each */
    unsigned spread = 0;

    for (unsigned i = 0; i < count; i++) {
        struct sale_id id;

        segment_id(sale_id, generation, i, &id);
        uint32_t bit = UINT32_C(1) << slot_of(id.text) * count / SLOTS;
        spread += !(parts & bit);
        parts |= bit;
    }
    return spread;
}

/* FNV-1a, and the finalizer of MurmurHash3: without it, ids that differ only at their end would cluster. */
unsigned segment_home(const char *buyer, unsigned count)
{
    uint32_t hash = 2166136261U;

    for (const char *c = buyer; *c; c++)
        hash = (hash ^ (uint8_t)*c) * 16777619U;
    hash = (hash ^ hash >> 16) * 0x85ebca6bU;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35U;
    return (hash ^ hash >> 16) % count;
}

int64_t segment_share(int64_t units, unsigned count, unsigned number)
{
    return units / count + (number < units % count);
}

void segment_join(const struct sale *parts, struct sale *whole)
{
    struct sale joined = parts[0];

    (void)snprintf(joined.id, sizeof joined.id, "%s", whole->id);
    joined.segments = whole->segments;
    joined.initial = joined.restocked = joined.left = joined.cooling = joined.orders = 0;
    joined.epoch = 1;
    memset(joined.lots, 0, sizeof joined.lots);
    for (unsigned i = 0; i < whole->segments.count; i++) {
        const struct sale *part = &parts[i];

        joined.segments.each[i] = (struct sale_segment){part->left, part->orders, part->moving};
        joined.initial += part->initial;
        joined.restocked += part->restocked;
        joined.cooling += part->cooling;
        joined.orders += part->orders;
        joined.epoch += part->epoch - 1;
        if (part->sellable_ms > joined.sellable_ms) joined.sellable_ms = part->sellable_ms;
    }
    /* The segments were read at different moments, so moving units could be counted twice or not at all; but
       the numbers of each segment are consistent. */
    int64_t left = joined.initial + joined.restocked - joined.orders - joined.cooling;
    if (left > 0) joined.left = left;
    *whole = joined;
}
