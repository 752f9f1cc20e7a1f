/*
 * Repeatable chance for the fault proxy and the order of rounds: the same seed and stream give the same numbers.
 */
#ifndef LOADTEST_RANDOM_H
#define LOADTEST_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state;
};

/* Streams of one seed are independent: one per link, one per line of a schedule. */
struct random random_stream(uint64_t seed, uint64_t stream);

/* Evenly from `least` to `most`, both included; least <= most. */
int64_t random_between(struct random *random, int64_t least, int64_t most);

#endif
