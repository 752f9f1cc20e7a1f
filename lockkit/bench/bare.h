/*
 * A connection to the server, opened as lockkit opens its own, and then driven by send() and recv()
 * alone: the least that a round trip can cost. Also what lockbench itself asks the server.
 */
#ifndef LOCKKIT_BENCH_BARE_H
#define LOCKKIT_BENCH_BARE_H

#include <stdbool.h>
#include <stddef.h>

#include "lockkit/error.h"

struct lki_redis;

struct bare {
    struct lki_redis *redis; /* owned */
    int fd;
};

LK_MUST_CHECK lk_status bare_open(struct bare *bare, const char *url, struct lk_error *err);
void bare_close(struct bare *bare);

/* A command as it goes over the wire. */
struct wire {
    char bytes[1024];
    size_t len;
};
/* words end with NULL. */
void bare_write(struct wire *out, const char *const *words);

/* One round trip; the answer must be these very bytes. */
bool bare_trip(const struct bare *bare, const struct wire *request, const char *answer);

/* Ask for an integer; -1 when it is none. */
long long bare_integer(const struct bare *bare, const char *const *words);
/* Remove every key that has this text in its name. */
void bare_remove(const struct bare *bare, const char *text);
/* "redis_version" of INFO; "?" when it cannot be had. */
void bare_info(const struct bare *bare, const char *name, char *out, size_t size);

#endif
