/*
 * Text built into a buffer of fixed size. Runs on any thread; the buffer is the caller's.
 */
#include "text.h"

#include <stdint.h>
#include <string.h>

#include "common/utf8.h"

void text_add(struct text *text, const char *bytes, size_t len)
{
    if (len > text->size - text->len) {
        len = text->size - text->len;
        text->is_cut = true;
    }
    if (len > 0) memcpy(text->data + text->len, bytes, len);
    text->len += len;
}

void text_add_string(struct text *text, const char *string)
{
    text_add(text, string, strlen(string));
}

void text_add_number(struct text *text, long long number)
{
    char digits[24];
    size_t at = sizeof digits;
    unsigned long long rest = (unsigned long long)number;

    if (number < 0) {
        text_add(text, "-", 1);
        rest = 0 - rest;
    }
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    text_add(text, digits + at, sizeof digits - at);
}

static void add_escaped(struct text *text, uint32_t code)
{
    static const char hex[] = "0123456789abcdef";
    const char as_unicode[6] = {
        '\\', 'u', hex[code >> 12 & 15], hex[code >> 8 & 15], hex[code >> 4 & 15], hex[code & 15]};
    const char as_pair[2] = {'\\', (char)code};

    if (code == '"' || code == '\\') {
        text_add(text, as_pair, sizeof as_pair);
    } else {
        text_add(text, as_unicode, sizeof as_unicode);
    }
}

void text_add_json(struct text *text, const char *string)
{
    const char *plain = string;
    const char *at = string;

    text_add(text, "\"", 1);
    while (*at) {
        uint32_t code = 0xfffd;
        size_t len = utf8_read(at, &code);

        if (len > 0 && code != '"' && code != '\\' && !utf8_is_obeyed(code)) {
            at += len;
            continue;
        }
        text_add(text, plain, (size_t)(at - plain));
        add_escaped(text, code);
        at += len > 0 ? len : 1;
        plain = at;
    }
    text_add(text, plain, (size_t)(at - plain));
    text_add(text, "\"", 1);
}

void text_add_name(struct text *text, const char *name)
{
    if (text->len > 0 && text->data[text->len - 1] != '{') TEXT_ADD(text, ",");
    TEXT_ADD(text, "\"");
    text_add_string(text, name);
    TEXT_ADD(text, "\":");
}

void text_add_member(struct text *text, const char *name, const char *value)
{
    text_add_name(text, name);
    text_add_json(text, value);
}

void text_add_count(struct text *text, const char *name, long long value)
{
    text_add_name(text, name);
    text_add_number(text, value);
}
