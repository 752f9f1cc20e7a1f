/*
 * The draw: who came before the start gets a place by lot, and nobody's list is kept for it. The lots are a
 * keyed permutation of the numbers 1..count: a Feistel network (Luby and Rackoff, "How to construct
 * pseudorandom permutations from pseudorandom functions", 1988) over the next even number of bits, walked on
 * until it falls into the range (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002); its
 * rounds are HMAC-SHA-256 under the seed.
 *
 * The seed can be published after the draw, its commitment before: whoever kept that can draw again.
 */
#ifndef SECKILL_DRAW_H
#define SECKILL_DRAW_H

#include "auth/token.h"

enum { DRAW_SEED_SIZE = 32 };

/*
 * Shape    1 <= number <= count < 2^40.
 * Returns  the place of that number, 1 to count, each once; 0: out of memory.
 * Threads  any.
 */
int64_t draw_place(const struct token_key *seed, int64_t number, int64_t count);

/* What is known of the seed before: HMAC-SHA-256 under it of "draw". False: out of memory. */
bool draw_commit(const struct token_key *seed, unsigned char out[TOKEN_MAC_SIZE]);

#endif
