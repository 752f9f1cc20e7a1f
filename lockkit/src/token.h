/*
 * Owner ids and all other chance.
 */
#ifndef LKI_TOKEN_H
#define LKI_TOKEN_H

#include <stdint.h>

#include "lockkit/error.h"

enum { LKI_TOKEN_LEN = 32 }; /* hex digits of 128 bits */

/* A fresh token, NUL-terminated. SERVER never; INVALID when the system has no randomness. */
LK_MUST_CHECK lk_status lki_token_make(char out_token[LKI_TOKEN_LEN + 1], struct lk_error *err);

/* A number in [0, bound), for jitter; 0 when bound <= 0. */
int64_t lki_random_below(int64_t bound);

#endif
