/*
 * Buyers with tokens: a key and a file of tokens made by seckillctl, for services that trust no
 * X-User-Id. wrk reads the file by itself; the runner looks single buyers up.
 */
#ifndef LOADTEST_TOKENS_H
#define LOADTEST_TOKENS_H

#include <stddef.h>

#include "common/failure.h"

enum { TOKENS_MAX = 1000000, TOKENS_PATH_MAX = 1100 };

struct tokens; /* opaque; one thread */

/*
 * Make a key and tokens for so many buyers in a folder, with the seckillctl at `program`. With
 * `key_path` the tokens are signed by that key, and none is made.
 *
 * Returns  NULL   not made; `failure` says why.
 */
struct tokens *tokens_make(const char *program, const char *dir, const char *key_path, long buyers,
                           struct failure *failure);
void tokens_free(struct tokens *tokens);

/* The files: seckilld's --token-key; lines "BUYER TOKEN". */
const char *tokens_key_path(const struct tokens *tokens);
const char *tokens_path(const struct tokens *tokens);

/*
 * The token of a buyer; NULL when it has none, or the file cannot be read. The first call reads the
 * file.
 *
 * Owns     borrowed; until tokens_free().
 */
const char *tokens_find(struct tokens *tokens, const char *buyer);

#endif
