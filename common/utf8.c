/*
 * See utf8.h. Any thread.
 */
#include "utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ESCAPE_LEN = 6, NO_CHARACTER = 0xfffd };

/* The length of the sequence that this first byte begins; 0: no sequence begins with it. */
static size_t announced_by(unsigned char first)
{
    if (first < 0x80) return first > 0;
    if (first >= 0xc2 && first <= 0xdf) return 2;
    if (first >= 0xe0 && first <= 0xef) return 3;
    return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

size_t utf8_read(const char *text, uint32_t *out_code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = (unsigned char)text[0];
    size_t len = announced_by(first);
    uint32_t code = len > 1 ? first & (0x7fU >> len) : first;

    for (size_t i = 1; i < len; i++) {
        unsigned char byte = (unsigned char)text[i];

        if ((byte & 0xc0U) != 0x80) return 0; /* also the NUL at the end */
        code = code << 6 | (byte & 0x3fU);
    }
    if (len == 0 || code < least[len] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    *out_code = code;
    return len;
}

size_t utf8_cut(const char *text, size_t max)
{
    size_t len = strnlen(text, max);

    if (len < max || !text[len]) return len;
    while (len > 0 && ((unsigned char)text[len] & 0xc0U) == 0x80)
        len--;
    return max - len < 4 ? len : max; /* no character is longer: it was none */
}

bool utf8_is_obeyed(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

size_t utf8_printable(const char *text)
{
    uint32_t code = 0;
    size_t len = utf8_read(text, &code);

    return len > 0 && !utf8_is_obeyed(code) ? len : 0;
}

char *utf8_show(const char *text, const char *kept)
{
    char *shown = malloc(strlen(text) * ESCAPE_LEN + 1);
    char *to = shown;

    while (shown && *text) {
        uint32_t code = NO_CHARACTER;
        size_t len = utf8_read(text, &code);
        bool is_kept = len == 1 && strchr(kept, *text);

        if (len > 0 && (is_kept || !utf8_is_obeyed(code))) {
            to = mempcpy(to, text, len);
        } else {
            to += snprintf(to, ESCAPE_LEN + 1, "\\u%04x", (unsigned)code & 0xffffU);
        }
        text += len > 0 ? len : 1;
    }
    if (shown) *to = '\0';
    return shown;
}
