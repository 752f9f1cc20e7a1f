/*
 * See sim_text.h.
 */
#include "sim_text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_MAX = 32, PRINT_MAX = 1024 };

void sim_text_add(struct sim_text *text, const char *data, size_t len)
{
    if (text->len + len > text->room) {
        text->room = 2 * (text->len + len) + 64;
        text->data = realloc(text->data, text->room);
        if (!text->data) abort();
    }
    if (len > 0) memcpy(text->data + text->len, data, len);
    text->len += len;
}

void sim_text_print(struct sim_text *text, const char *format, ...)
{
    char printed[PRINT_MAX];
    va_list args;

    va_start(args, format);
    int len = vsnprintf(printed, sizeof printed, format, args);
    va_end(args);
    sim_text_add(text, printed, (size_t)(len < PRINT_MAX ? len : PRINT_MAX - 1));
}

void sim_text_drop(struct sim_text *text, size_t len)
{
    text->len -= len;
    if (text->len > 0) memmove(text->data, text->data + len, text->len);
}

void sim_text_done(struct sim_text *text)
{
    free(text->data);
    *text = (struct sim_text){0};
}

void sim_text_bulk(struct sim_text *text, struct sim_word word)
{
    sim_text_print(text, "$%zu\r\n", word.len);
    sim_text_add(text, word.data, word.len);
    sim_text_add(text, "\r\n", 2);
}

void sim_text_integer(struct sim_text *text, long long number)
{
    sim_text_print(text, ":%lld\r\n", number);
}

void sim_text_nil(struct sim_text *text)
{
    sim_text_add(text, "$-1\r\n", 5);
}

void sim_text_array(struct sim_text *text, size_t count)
{
    sim_text_print(text, "*%zu\r\n", count);
}

bool sim_word_is(struct sim_word word, const char *text)
{
    return word.len == strlen(text) && memcmp(word.data, text, word.len) == 0;
}

bool sim_word_means(struct sim_word word, const char *text)
{
    return word.len == strlen(text) && strncasecmp(word.data, text, word.len) == 0;
}

bool sim_word_equals(struct sim_word one, struct sim_word other)
{
    return one.len == other.len && (one.len == 0 || memcmp(one.data, other.data, one.len) == 0);
}

bool sim_word_integer(struct sim_word word, long long *out)
{
    char digits[NUMBER_MAX];
    char *end = NULL;

    if (word.len == 0 || word.len >= sizeof digits) return false;
    memcpy(digits, word.data, word.len);
    digits[word.len] = '\0';
    if (digits[0] == '+' || digits[0] == ' ') return false;
    errno = 0;
    *out = strtoll(digits, &end, 10);
    return *end == '\0' && errno == 0;
}
