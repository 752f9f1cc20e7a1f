/*
 * Hostile cases out of a grammar of HTTP, JSON and JWT: most of each case is right, so that it gets
 * far, and something in it is wrong. A case follows from its seed alone.
 */
#ifndef SECKILL_HOSTILE_GRAMMAR_H
#define SECKILL_HOSTILE_GRAMMAR_H

#include <stdint.h>

#include "hostile_rows.h"

enum { HOSTILE_CASE_SIZE = 64 * 1024, HOSTILE_CUTS_MAX = 6 };

enum hostile_ending { ENDING_WAIT, ENDING_HALF_CLOSE, ENDING_RESET, ENDING_COUNT };

struct hostile_case {
    enum hostile_door door;
    enum hostile_ending ending;
    bool has_head;     /* an answer may have no body */
    bool is_mutated;   /* bytes were changed at random: nothing is known of it */
    unsigned cuts;     /* sent in so many pieces and one more */
    unsigned pause_ms; /* between them */
    size_t cut_at[HOSTILE_CUTS_MAX];
    size_t len;
    char bytes[HOSTILE_CASE_SIZE];
};

/* Each of its requests has an X-Request-Id that begins with "f-SEED-" (in hex), unless mutated. */
void hostile_make_case(uint64_t seed, struct hostile_case *out);

/* The next of a sequence of seeds. */
uint64_t hostile_seed_at(uint64_t seed, uint64_t index);

#endif
