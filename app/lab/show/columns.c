/*
 * See columns.h. Any thread.
 */
#include "columns.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The character that begins here; *out_len bytes. Bytes that are no UTF-8 count as one each. */
static uint32_t character_at(const char *text, size_t *out_len)
{
    unsigned char first = (unsigned char)text[0];
    size_t len = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    uint32_t code = first < 0x80 ? first : first & (0x7FU >> len);

    for (size_t i = 1; i < len; i++) {
        if (((unsigned char)text[i] & 0xC0) != 0x80) {
            *out_len = 1;
            return first;
        }
        code = code << 6 | ((unsigned char)text[i] & 0x3FU);
    }
    *out_len = len;
    return code;
}

/* Hangul, CJK and their punctuation, full-width forms; quotes and dots stay narrow. */
static size_t width_of(uint32_t code)
{
    return (code >= 0x1100 && code <= 0x115F) || (code >= 0x2E80 && code <= 0xA4CF) ||
                   (code >= 0xAC00 && code <= 0xD7A3) || (code >= 0xF900 && code <= 0xFAFF) ||
                   (code >= 0xFE30 && code <= 0xFE6F) || (code >= 0xFF00 && code <= 0xFF60)
               ? 2
               : 1;
}

/* What does not begin a line: it belongs to the word before it. */
static bool is_closing(uint32_t code)
{
    static const uint32_t closing[] = {0x3001, 0x3002, 0x300B, 0x300D, 0x201D, 0xFF01,
                                       0xFF09, 0xFF0C, 0xFF1A, 0xFF1B, 0xFF1F};

    for (size_t i = 0; i < sizeof closing / sizeof closing[0]; i++) {
        if (closing[i] == code) return true;
    }
    return false;
}

size_t columns_of(const char *text, size_t len)
{
    size_t width = 0;
    size_t bytes = 0;

    for (size_t at = 0; at < len; at += bytes)
        width += width_of(character_at(text + at, &bytes));
    return width;
}

size_t columns_fit(const char *text, size_t width)
{
    size_t used = 0;
    size_t best = 0; /* the last good place */
    size_t bytes = 0;
    size_t next = 0;
    size_t at = 0;

    for (; text[at] && text[at] != '\n'; at += bytes) {
        size_t wide = width_of(character_at(text + at, &bytes));

        if (text[at] == ' ') best = at;
        if (used + wide > width) return best > 0 ? best : at > 0 ? at : bytes;
        used += wide;
        if (wide == 2 && !is_closing(character_at(text + at + bytes, &next))) best = at + bytes;
        if (text[at] == ':' && at > best + width / 2) best = at + 1; /* a long key */
    }
    return at;
}

void columns_print(FILE *out, const char *text, size_t len, size_t width)
{
    size_t used = columns_of(text, len);

    (void)fwrite(text, 1, len, out);
    if (used < width) (void)fprintf(out, "%*s", (int)(width - used), "");
}

void columns_wrap(FILE *out, const char *text, const char *margin, size_t width)
{
    while (*text) {
        size_t fits = columns_fit(text, width);

        (void)fprintf(out, "%s%.*s\n", margin, (int)fits, text);
        text += fits;
        while (*text == ' ' || *text == '\n')
            text++;
    }
}
