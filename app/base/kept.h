/*
 * Something that takes a while to make, kept for a moment: however many ask for it, it is made as if
 * it was one.
 */
#ifndef SECKILL_KEPT_H
#define SECKILL_KEPT_H

#include <stddef.h>
#include <stdint.h>

struct kept; /* opaque */

/* First member of what is kept. */
struct kept_base {
    size_t users; /* kept.c's */
};

struct kept_options {
    void *(*make)(void *arg); /* one at a time: a kept_base; NULL: cannot be made, kept too */
    void (*free)(void *thing);
    void *arg;      /* borrowed */
    int64_t age_ms; /* in the long run it is made no more often than once in this time */
    int64_t spare;  /* so often more at once, when nobody asked for a while */
};

/* NULL when out of memory. */
struct kept *kept_new(const struct kept_options *options);
/* Nothing may be borrowed any more. NULL is fine. */
void kept_free(struct kept *self);

/*
 * What was made at most age_ms ago, or anew by the one who asks, while others wait for the same.
 *
 * Owns     it is there until kept_return(); NULL: it could not be made.
 * Threads  any.
 */
void *kept_borrow(struct kept *self);
void kept_return(struct kept *self, void *thing);

#endif
