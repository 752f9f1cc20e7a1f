/*
 * Repeatable chance for the fault proxy and the order of rounds: the same seed and stream give the same numbers.
 */
#ifndef LOADTEST_CHANCE_H
#define LOADTEST_CHANCE_H

#include <stdint.h>

struct chance {
    uint64_t state;
};

/* Streams of one seed are independent: one per link, one per line of a schedule. */
struct chance chance_stream(uint64_t seed, uint64_t stream);

/* Evenly from `least` to `most`, both included; least <= most. */
int64_t chance_between(struct chance *random, int64_t least, int64_t most);

#endif
