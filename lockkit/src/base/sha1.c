/*
 * FIPS 180-4, section 6.1, for texts of some kilobytes: plain rather than fast. Threads: any.
 */
#include "sha1.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { WORDS = 5, ROUNDS = 80, BLOCK = 64, LENGTH_AT = 56 };

static uint32_t rotate(uint32_t word, unsigned by)
{
    return word << by | word >> (32 - by);
}

static uint32_t mix(size_t round, uint32_t b, uint32_t c, uint32_t d)
{
    if (round < 20) return ((b & c) | (~b & d)) + 0x5a827999U;
    if (round < 40) return (b ^ c ^ d) + 0x6ed9eba1U;
    if (round < 60) return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcU;
    return (b ^ c ^ d) + 0xca62c1d6U;
}

static void add_block(uint32_t hash[WORDS], const uint8_t block[BLOCK])
{
    uint32_t w[ROUNDS];
    uint32_t a = hash[0], b = hash[1], c = hash[2], d = hash[3], e = hash[4];

    for (size_t i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (size_t i = 16; i < ROUNDS; i++)
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (size_t i = 0; i < ROUNDS; i++) {
        uint32_t next = rotate(a, 5) + mix(i, b, c, d) + e + w[i];

        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    hash[0] += a;
    hash[1] += b;
    hash[2] += c;
    hash[3] += d;
    hash[4] += e;
}

void lki_sha1(const char *data, size_t len, char out_hex[LKI_SHA1_LEN + 1])
{
    uint32_t hash[WORDS] = {0x67452301U, 0xefcdab89U, 0x98badcfeU, 0x10325476U, 0xc3d2e1f0U};
    uint8_t block[BLOCK];
    size_t left = len;

    for (; left >= BLOCK; left -= BLOCK, data += BLOCK) {
        memcpy(block, data, BLOCK);
        add_block(hash, block);
    }
    memset(block, 0, BLOCK);
    if (left > 0) memcpy(block, data, left);
    block[left] = 0x80;
    if (left >= LENGTH_AT) { /* no room for the length behind it */
        add_block(hash, block);
        memset(block, 0, BLOCK);
    }
    for (size_t i = 0; i < 8; i++)
        block[LENGTH_AT + i] = (uint8_t)((uint64_t)len * 8 >> (56 - 8 * i));
    add_block(hash, block);
    for (size_t i = 0; i < WORDS; i++)
        (void)snprintf(out_hex + 8 * i, 9, "%08x", (unsigned)hash[i]);
}
