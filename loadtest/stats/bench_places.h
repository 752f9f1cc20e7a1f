/*
 * The places of the ladder: servers and how they store, on each of which guards are measured. Pure.
 */
#ifndef LOADTEST_BENCH_PLACES_H
#define LOADTEST_BENCH_PLACES_H

#include <stdbool.h>

enum { BENCH_PLACE_COUNT = 8 };

struct bench_place {
    const char *name;             /* for --only: "ladder-NAME-GUARD" */
    const char *servers, *stores; /* for people */
    const char *kind, *aof;       /* for lockkit/tools/redis_set */
    const char *durability;       /* what /version has to say there */
    const char *crash;            /* what one costs of the accepted orders */
    bool keeps_orders;            /* nothing */
    bool has_book, waits_for_book;
    long sync_replicas;
};

/* The first has every guard, the others those that need no server besides. */
extern const struct bench_place bench_places[BENCH_PLACE_COUNT];

#endif
