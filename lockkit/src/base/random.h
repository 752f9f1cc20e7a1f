/*
 * Owner ids and other random numbers.
 */
#ifndef LKI_RANDOM_H
#define LKI_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#include "lockkit/error.h"

enum {
    LKI_TOKEN_LEN = 32, /* hex digits of 128 bits */
    LKI_UUID_LEN = 36,
    LKI_OWNER_MAX = 80, /* UUID, a colon and a number, twice, ":write", NUL; and any token */
};

/* A fresh token, NUL-terminated. SERVER never; INVALID when the system has no randomness. */
LK_MUST_CHECK lk_status lki_random_token(char out_token[LKI_TOKEN_LEN + 1], struct lk_error *err);

/* A random UUID (RFC 9562, version 4) in lower case; statuses as above. */
LK_MUST_CHECK lk_status lki_random_uuid(char out_uuid[LKI_UUID_LEN + 1], struct lk_error *err);

/* len random bytes, at most 256; statuses as above. */
LK_MUST_CHECK lk_status lki_random_bytes(void *out, size_t len, struct lk_error *err);

/* A number in [0, bound), for jitter; 0 when bound <= 0. */
int64_t lki_random_below(int64_t bound);

#endif
