/*
 * The protocol between a client and Redis (RESP 2), read as it passes by. Knows no sockets.
 */
#ifndef SECKILL_LAB_RESP_H
#define SECKILL_LAB_RESP_H

#include <stdbool.h>
#include <stddef.h>

#include "lockkit/reply.h"

enum { RESP_WORDS_MAX = 96, RESP_DEPTH_MAX = 8 };

struct resp_words {
    size_t count; /* the first RESP_WORDS_MAX of a command */
    struct lk_bytes word[RESP_WORDS_MAX];
};

/* How long the first value is: 0 when it is not whole yet, -1 when this is no RESP. */
long resp_length(const char *bytes, size_t len);

/* The words of a whole command; they point into it. No words: it is none. */
void resp_read_words(const char *bytes, size_t len, struct resp_words *out);

/* The rest of a value's first line, behind its sign: "OK", "42", an error's words. */
struct lk_bytes resp_line(const char *bytes, size_t len);

/* Whether a word is that name, in letters of either case. */
bool resp_is(struct lk_bytes word, const char *name);

/* What a bulk string holds, or a simple one; data is NULL when it is neither, or nil. */
struct lk_bytes resp_string(const char *bytes, size_t len);

#endif
