/*
 * FNV-1a, 64 bits: a hash for hash tables and shares, not against an attacker.
 */
#ifndef COMMON_FNV_H
#define COMMON_FNV_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FNV_START UINT64_C(0xcbf29ce484222325)

/* Update `hash` with these bytes; the initial value is FNV_START. */
static inline uint64_t fnv_add(uint64_t hash, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static inline uint64_t fnv_of(const char *text)
{
    return fnv_add(FNV_START, text, strlen(text));
}

#endif
