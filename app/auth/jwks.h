/*
 * An issuer's public keys: a JSON Web Key Set (RFC 7517), and the signatures that they verify (RFC 7515).
 * Only this room and token.c call OpenSSL.
 *
 * kty "RSA", 2048 to 8192 bits      RS256
 * kty "EC", crv "P-256"             ES256
 * kty "OKP", crv "Ed25519"          EdDSA (RFC 8037)
 *
 * A key has one algorithm; the token's header does not choose it (RFC 8725, 3.1). Keys of other kinds, or for another
 * use ("use", "key_ops", "alg"), are ignored.
 */
#ifndef SECKILL_JWKS_H
#define SECKILL_JWKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/start_error.h"

enum { JWKS_KEYS_MAX = 32, JWKS_TEXT_MAX = 256 * 1024 };

struct jwks; /* counted; never changes, so any thread may ask it */

/* NULL and one line in *why: no key set, or none of its keys can be used. */
struct jwks *jwks_new(const char *text, size_t len, struct start_error *why);
struct jwks *jwks_ref(struct jwks *self); /* NULL gives NULL */
void jwks_unref(struct jwks *self);

/* A text and its claimed signature. */
struct jwks_signed {
    const char *kid; /* NULL: not given; any key may match */
    const char *alg;
    const char *text;
    size_t text_len;
    const unsigned char *signature;
    size_t signature_len;
};

typedef enum jwks_status {
    JWKS_GOOD,
    JWKS_NO_KEY,          /* of that kid; or no kid, and none for that algorithm */
    JWKS_OTHER_ALGORITHM, /* the key has another one, or no key could have it */
    JWKS_BAD_SIGNATURE,   /* also out of memory */
} jwks_status;

/* self: NULL is a set without keys. */
jwks_status jwks_verify(const struct jwks *self, const struct jwks_signed *what);

#endif
