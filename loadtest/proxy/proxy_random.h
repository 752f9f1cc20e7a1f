/*
 * Repeatable chance for the fault proxy: the same seed and stream give the same numbers.
 */
#ifndef LOADTEST_PROXY_RANDOM_H
#define LOADTEST_PROXY_RANDOM_H

#include <stdint.h>

struct proxy_random {
    uint64_t state;
};

/* Streams of one seed are independent: one per link, one per line of a schedule. */
struct proxy_random proxy_random_stream(uint64_t seed, uint64_t stream);

/* Evenly from `least` to `most`, both included; least <= most. */
int64_t proxy_random_between(struct proxy_random *random, int64_t least, int64_t most);

#endif
