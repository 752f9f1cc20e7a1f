/*
 * Something that takes a while to make, kept for a moment: however many ask for it, it is made as if
 * it was one.
 */
#ifndef SECKILL_CACHE_H
#define SECKILL_CACHE_H

#include <stddef.h>
#include <stdint.h>

struct cache; /* opaque */

/* First member of what is kept. */
struct cache_entry {
    size_t users; /* cache.c's */
};

struct cache_options {
    void *(*make)(void *arg); /* one at a time: a cache_entry; NULL: cannot be made, kept too */
    void (*free)(void *entry);
    void *arg;      /* borrowed */
    int64_t age_ms; /* in the long run it is made no more often than once in this time */
    int64_t burst;  /* so often more at once, when nobody asked for a while */
};

/* NULL when out of memory. */
struct cache *cache_new(const struct cache_options *options);
/* Nothing may be borrowed any more. NULL is fine. */
void cache_free(struct cache *self);

/*
 * What was made at most age_ms ago, or anew by the one who asks, while others wait for the same.
 *
 * Owns     it is there until cache_return(); NULL: it could not be made.
 * Threads  any.
 */
void *cache_borrow(struct cache *self);
void cache_return(struct cache *self, void *entry);

#endif
