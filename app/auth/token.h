/*
 * Buyers' tokens: signed JWTs (RFC 7519), ours or an issuer's. Only this room calls libjwt, which makes our
 * tokens; this room and jwks.c call OpenSSL, which checks signatures.
 *
 * Header   alg  "HS256", signed with a key of ours; or that of an issuer's key (jwks.h)
 *          kid  which of the issuer's keys; if not there any may be meant
 *          typ  if there: JWT, at+jwt (RFC 9068) or application/at+jwt, in any case
 *          crit not there
 * Claims   none comes twice; moments are numbers of seconds since 1970, fractions are cut off
 *          sub  the buyer (subject.h); nothing else ever names the buyer
 *          exp  must be there; from then on, and the leeway, the token is void
 *          nbf  if there: void before it, less the leeway
 *          iat  if there: a moment, otherwise not looked at
 *          iss  of an issuer's token: the one that the rules name, if they name one
 *          aud  if there, or if the rules name one and the token is an issuer's: our audience, or a list with it
 */
#ifndef SECKILL_TOKEN_H
#define SECKILL_TOKEN_H

#include "auth/jwks.h"
#include "base/list.h"
#include "base/start_error.h"
#include "sale/sale.h"

enum {
    TOKEN_TEXT_MAX = 8192, /* characters; a longer one is not looked at */
    TOKEN_KEY_MIN = 32,    /* bytes: what HMAC-SHA-256 can make use of */
    TOKEN_KEY_MAX = 1024,
    TOKEN_KEYS_MAX = 2, /* the one in use, and the one before or after it */
};

struct token_key {
    size_t len;
    unsigned char bytes[TOKEN_KEY_MAX];
};

/* The first signs; any verifies. */
struct token_keys {
    size_t count;
    struct token_key key[TOKEN_KEYS_MAX];
};

/* What a token has to be. All zero: none is good. */
struct token_rules {
    struct token_keys keys; /* ours */
    const char *issuer;     /* iss of an issuer's; NULL: not looked at */
    const char
        *audience;    /* aud, which an issuer's has to have; NULL: "seckill" where it is there */
    int64_t leeway_s; /* by which others' clocks may be wrong */
};

/* What a token says. Moments are seconds since 1970. */
struct token {
    char buyer[BUYER_ID_MAX + 1]; /* the canonical form of sub */
    int64_t issued_at_s;          /* 0: not said */
    int64_t not_before_at_s;      /* 0: not said */
    int64_t expires_at_s;
};

/* X(value, what a client is told) */
#define TOKEN_STATUS_LIST(X)                                                                       \
    X(TOKEN_GOOD, "")                                                                              \
    X(TOKEN_TOO_LONG, "The token is longer than 8192 characters.")                                 \
    X(TOKEN_NO_JWT, "This is no signed JWT: HEADER.PAYLOAD.SIGNATURE, each in base64url.")         \
    X(TOKEN_FOREIGN, "signature: it is none of a key that is known here.")                         \
    X(TOKEN_OF_UNKNOWN_KEY, "kid: the key that has signed it is not known here.")                  \
    X(TOKEN_OF_OTHER_ALGORITHM, "alg: it is not the algorithm of a key that is known here.")       \
    X(TOKEN_CRITICAL, "crit: there is an extension that is not understood here.")                  \
    X(TOKEN_OF_OTHER_TYPE, "typ: the token is of another type: it has to be JWT or at+jwt.")       \
    X(TOKEN_UNREADABLE, "The token's claims are no JSON object, or one comes twice.")              \
    X(TOKEN_BAD_SUB, "sub: it has to be 1 to 255 bytes of printable UTF-8.")                       \
    X(TOKEN_BAD_EXP, "exp: it has to be there, as a number of seconds since 1970.")                \
    X(TOKEN_BAD_NBF, "nbf: it has to be a number of seconds since 1970.")                          \
    X(TOKEN_BAD_IAT, "iat: it has to be a number of seconds since 1970.")                          \
    X(TOKEN_OF_OTHER_ISSUER, "iss: the token is of another issuer.")                               \
    X(TOKEN_FOR_OTHERS, "aud: the token is not for this service.")                                 \
    X(TOKEN_EARLY, "nbf: the token is not valid yet.")                                             \
    X(TOKEN_EXPIRED, "exp: the token has expired.")

typedef enum token_status { TOKEN_STATUS_LIST(LIST_VALUE) TOKEN_STATUS_COUNT } token_status;

enum { TOKEN_MAC_SIZE = 32 };

/* HMAC-SHA-256 of any bytes. False: out of memory. */
bool token_mac(const struct token_key *key, const char *bytes, size_t len,
               unsigned char out[TOKEN_MAC_SIZE]);
/* Whether two are equal; takes as long for any two. */
bool token_mac_is(const unsigned char a[TOKEN_MAC_SIZE], const unsigned char b[TOKEN_MAC_SIZE]);

const char *token_status_text(token_status status);

/* Read a key: all bytes of the file but one newline at its end. */
bool token_key_read(const char *path, struct token_key *out, struct start_error *why);

/*
 * Check a token from untrusted input.
 *
 * Shape    text: any bytes up to a NUL. issuer: NULL is nobody's. *out is written when it is GOOD.
 * Threads  any.
 */
token_status token_check(const struct token_rules *rules, const struct jwks *issuer,
                         const char *text, int64_t now_s, struct token *out);

/* Whether one that was GOOD is in its time, still. */
bool token_is_in_time(const struct token *token, int64_t leeway_s, int64_t now_s);

/*
 * Make a token for a subject, any text; claims: its moments. The same of all three give the same text.
 *
 * Owns     the result is yours (free); NULL when out of memory.
 */
char *token_make(const struct token_key *key, const char *subject, const struct token *claims);

#endif
