/*
 * See columns.h. Any thread.
 */
#include "columns.h"

#include <stdbool.h>

#include "common/utf8.h"

/* The character that begins here; *out_len bytes. Bytes that are no UTF-8 count as one each. */
static uint32_t character_at(const char *text, size_t *out_len)
{
    uint32_t code = (unsigned char)text[0];

    *out_len = utf8_read(text, &code);
    if (*out_len == 0) *out_len = 1;
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

/*
 * How many bytes of the text fit into a line of that many columns: up to a space, between Chinese
 * characters (not before a closing mark) or behind a late colon if there is such a place, else cut. At
 * least one character.
 */
static size_t fit(const char *text, size_t width)
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
        size_t fits = fit(text, width);

        (void)fprintf(out, "%s%.*s\n", margin, (int)fits, text);
        text += fits;
        while (*text == ' ' || *text == '\n')
            text++;
    }
}
