/*
 * splitmix64: a counter, well stirred. Small, fast, good enough for faults; not for secrets.
 *
 * Source   Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014.
 */
#include "random.h"

#include <assert.h>

static const uint64_t golden_gamma = 0x9e3779b97f4a7c15U;

static uint64_t stir(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
}

struct random random_stream(uint64_t seed, uint64_t stream)
{
    return (struct random){.state = stir(stir(seed + golden_gamma) + stream)};
}

int64_t random_between(struct random *random, int64_t least, int64_t most)
{
    assert(least <= most);
    uint64_t choices = (uint64_t)most - (uint64_t)least + 1;
    random->state += golden_gamma;
    uint64_t drawn = stir(random->state);
    /* The remainder favours small values by less than choices / 2^64: no fault run can tell. */
    return choices == 0 ? (int64_t)drawn : (int64_t)((uint64_t)least + drawn % choices);
}
