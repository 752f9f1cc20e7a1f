/*
 * See resp.h. Any thread; keeps nothing.
 */
#include "resp.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Bytes of the first line with its CRLF; 0: not whole. */
static size_t line_length(const char *bytes, size_t len)
{
    const char *end = memchr(bytes, '\n', len);

    return end ? (size_t)(end - bytes) + 1 : 0;
}

static long length_at_depth(const char *bytes, size_t len, unsigned depth)
{
    size_t line = line_length(bytes, len);
    long count = 0;

    if (len == 0) return 0;
    if (bytes[0] == '\0' || !strchr("+-:$*", bytes[0]) || depth > RESP_DEPTH_MAX) return -1;
    if (line == 0) return 0;
    if (bytes[0] != '$' && bytes[0] != '*') return (long)line;
    count = strtol(bytes + 1, NULL, 10);
    if (count < 0) return (long)line;
    if (bytes[0] == '$') {
        size_t whole = line + (size_t)count + 2;

        return whole <= len ? (long)whole : 0;
    }
    size_t used = line;
    for (long i = 0; i < count; i++) {
        long part = length_at_depth(bytes + used, len - used, depth + 1);

        if (part <= 0) return part;
        used += (size_t)part;
    }
    return (long)used;
}

long resp_length(const char *bytes, size_t len)
{
    return length_at_depth(bytes, len, 0);
}

struct lk_bytes resp_line(const char *bytes, size_t len)
{
    size_t line = line_length(bytes, len);

    return line < 3 ? (struct lk_bytes){.data = bytes, .len = 0}
                    : (struct lk_bytes){.data = bytes + 1, .len = line - 3};
}

struct lk_bytes resp_string(const char *bytes, size_t len)
{
    size_t line = line_length(bytes, len);

    if (len > 0 && bytes[0] == '+') return resp_line(bytes, len);
    if (len == 0 || bytes[0] != '$' || bytes[1] == '-' || len < line + 2)
        return (struct lk_bytes){0};
    return (struct lk_bytes){.data = bytes + line, .len = len - line - 2};
}

void resp_read_words(const char *bytes, size_t len, struct resp_words *out)
{
    size_t used = line_length(bytes, len);

    out->count = 0;
    if (len == 0 || bytes[0] != '*') return;
    while (used < len && out->count < RESP_WORDS_MAX) {
        long part = resp_length(bytes + used, len - used);

        if (part <= 0) return;
        out->word[out->count++] = resp_string(bytes + used, (size_t)part);
        used += (size_t)part;
    }
}

bool resp_is(struct lk_bytes word, const char *name)
{
    return word.len == strlen(name) && strncasecmp(word.data, name, word.len) == 0;
}
