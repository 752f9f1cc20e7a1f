/*
 * UTF-8 as RFC 3629 has it: shortest forms, no surrogates, nothing above U+10FFFF. One thread.
 */
#include "utf8.h"

#include <stdint.h>

/* Bytes that the first one announces; 0: it cannot be first. */
static size_t length_of(unsigned char first)
{
    if (first < 0x80) return 1;
    if (first >= 0xc2 && first <= 0xdf) return 2;
    if (first >= 0xe0 && first <= 0xef) return 3;
    return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

uint32_t utf8_decode(const char *text, size_t *out_len)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = (unsigned char)text[0];
    size_t len = length_of(first);
    uint32_t code = len > 1 ? first & (0x7fU >> len) : first;

    *out_len = 0;
    if (len == 0) return 0;
    for (size_t i = 1; i < len; i++) {
        unsigned char byte = (unsigned char)text[i];

        if ((byte & 0xc0U) != 0x80) return 0; /* also the NUL at the end */
        code = code << 6 | (byte & 0x3fU);
    }
    if (code < least[len] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return 0;
    *out_len = len;
    return code;
}

/* Besides controls, what turns the direction of a line: a name must not rewrite what is around it. */
size_t utf8_printable(const char *text)
{
    size_t len = 0;
    uint32_t code = utf8_decode(text, &len);

    if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return 0;
    if (code == 0x2028 || code == 0x2029) return 0;
    return (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ? 0 : len;
}
