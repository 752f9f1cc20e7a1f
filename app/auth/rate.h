/*
 * How many requests a buyer, or an address, may make: a token bucket for each, in memory of a fixed
 * size.
 */
#ifndef SECKILL_RATE_H
#define SECKILL_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RATE_PER_S_MAX = 1000000, RATE_BURST_MAX = 1000000, RATE_TEXT_MAX = 32 };

struct rate_limit {
    int64_t per_s; /* refill; 0: no limit */
    int64_t burst; /* size of the bucket */
};

struct rate; /* opaque; safe for any number of threads */

struct rate_options {
    struct rate_limit limit; /* both above 0 */
    size_t buyers;           /* buckets that are not full at the same time; 0: 131,072 (2 MiB) */
};

struct rate_verdict {
    bool is_over;    /* nothing was taken */
    int64_t retry_s; /* then: whole seconds; the bucket has a token by then */
};

/* "5", "5/s", "5/s:20", "5:20"; without a burst it is one second's worth. "0": no limit. */
bool rate_limit_read(const char *text, struct rate_limit *out);

/* NULL when out of memory. */
struct rate *rate_new(const struct rate_options *options);
void rate_free(struct rate *self);

/* Take a token out of this buyer's bucket. */
struct rate_verdict rate_take(struct rate *self, const char *buyer);

#endif
