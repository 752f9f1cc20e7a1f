/*
 * The checksum bit by bit: a key is short beside the round trip that it is computed for. Threads: any.
 */
#include "slot.h"

#include <stdint.h>
#include <string.h>

enum { POLYNOMIAL = 0x1021, TOP_BIT = 0x8000 };

static uint16_t crc16(const char *bytes, size_t len)
{
    unsigned crc = 0;

    for (size_t i = 0; i < len; i++) {
        crc ^= (unsigned)(uint8_t)bytes[i] << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc & TOP_BIT) != 0 ? crc << 1 ^ POLYNOMIAL : crc << 1;
    }
    return (uint16_t)crc;
}

int lki_slot_of(const char *key, size_t len)
{
    const char *open = memchr(key, '{', len);
    const char *close = open ? memchr(open, '}', len - (size_t)(open - key)) : NULL;

    if (close && close > open + 1) {
        key = open + 1;
        len = (size_t)(close - key);
    }
    return crc16(key, len) % LKI_SLOTS;
}
