/*
 * A cache of one value with a time to live and single-flight: of all threads that ask while the value is too
 * old, one makes the new value, and the others wait for it.
 */
#ifndef SECKILL_CACHE_H
#define SECKILL_CACHE_H

#include <stddef.h>
#include <stdint.h>

struct cache; /* opaque */

/* The first member of a cached value. */
struct cache_entry {
    size_t users; /* cache.c's */
};

struct cache_options {
    void *(*make)(void *arg); /* one thread at a time; a cache_entry; NULL: failed; cached, too */
    void (*free)(void *entry);
    void *arg;      /* borrowed */
    int64_t age_ms; /* time to live; on average the value is made at most once in it */
    int64_t burst;  /* burst allowance: so many more at once, after an idle time */
};

/* NULL when out of memory. */
struct cache *cache_new(const struct cache_options *options);
/* All values must have been returned. NULL is allowed. */
void cache_free(struct cache *self);

/*
 * The cached value, if it is at most age_ms old; else the calling thread makes a new one, or waits for the
 * thread that is making it.
 *
 * Owns     the value stays valid until cache_return(); NULL: it could not be made.
 * Threads  any.
 */
void *cache_borrow(struct cache *self);
void cache_return(struct cache *self, void *entry);

#endif
