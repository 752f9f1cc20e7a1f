/*
 * See base64url.h. Any thread.
 */
#include "base64url.h"

#include <stdint.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

ssize_t base64url_decode(const char *text, size_t len, unsigned char *out)
{
    uint32_t bits = 0;
    unsigned held = 0; /* of these, by no byte yet */
    ssize_t count = 0;

    for (size_t i = 0; i < len; i++) {
        const char *digit = memchr(digits, text[i], sizeof digits - 1);

        if (!digit) return -1;
        bits = bits << 6 | (uint32_t)(digit - digits);
        held += 6;
        if (held < 8) continue;
        held -= 8;
        out[count++] = (unsigned char)(bits >> held);
        bits &= (1U << held) - 1;
    }
    return held < 6 && bits == 0 ? count : -1;
}

size_t base64url_encode(const unsigned char *bytes, size_t len, char *out)
{
    size_t used = 0;
    uint32_t bits = 0;
    unsigned held = 0;

    for (size_t i = 0; i < len; i++) {
        bits = bits << 8 | bytes[i];
        for (held += 8; held >= 6; held -= 6)
            out[used++] = digits[bits >> (held - 6) & 63];
    }
    if (held > 0) out[used++] = digits[bits << (6 - held) & 63];
    out[used] = '\0';
    return used;
}
