/*
 * See draw.h. Keeps nothing.
 */
#include "draw.h"

#include <inttypes.h>
#include <stdio.h>

enum { ROUNDS = 10 }; /* few bits need many: NIST SP 800-38G has as many */

/* One round's function: the first eight bytes of the HMAC of "ROUND:IN", as a number. */
static bool mix(const struct token_key *seed, unsigned round, uint64_t in, uint64_t *out)
{
    unsigned char mac[TOKEN_MAC_SIZE];
    char text[32];
    int len = snprintf(text, sizeof text, "%u:%" PRIu64, round, in);

    if (!token_mac(seed, text, (size_t)len, mac)) return false;
    *out = 0;
    for (size_t i = 0; i < sizeof *out; i++)
        *out = *out << 8 | mac[i];
    return true;
}

static bool permute(const struct token_key *seed, unsigned half_bits, uint64_t *at)
{
    uint64_t mask = (UINT64_C(1) << half_bits) - 1;
    uint64_t left = *at >> half_bits;
    uint64_t right = *at & mask;

    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t mixed = 0;

        if (!mix(seed, round, right, &mixed)) return false;
        mixed = left ^ (mixed & mask);
        left = right;
        right = mixed;
    }
    *at = left << half_bits | right;
    return true;
}

int64_t draw_place(const struct token_key *seed, int64_t number, int64_t count)
{
    uint64_t at = (uint64_t)number - 1;
    unsigned half_bits = 1;

    while (UINT64_C(1) << (2 * half_bits) < (uint64_t)count)
        half_bits++;
    do {
        if (!permute(seed, half_bits, &at)) return 0;
    } while (at >= (uint64_t)count);
    return (int64_t)at + 1;
}

bool draw_commit(const struct token_key *seed, unsigned char out[TOKEN_MAC_SIZE])
{
    return token_mac(seed, "draw", 4, out);
}
