/*
 * Buyers' tokens: JWTs (RFC 7519) signed with HMAC-SHA-256. The only door to libjwt, which makes them,
 * and to OpenSSL, which checks the signature.
 *
 * Header   alg  "HS256"
 *          typ  if there: JWT, at+jwt (RFC 9068) or application/at+jwt, in any case
 *          crit not there
 * Claims   none comes twice
 *          sub  the buyer, [A-Za-z0-9_-]{1,64}; nothing else ever names the buyer
 *          exp  seconds since 1970; must be there; from then on the token is void, no leeway
 *          nbf  if there: void before it
 *          iat  if there: a whole number, otherwise not looked at
 *          aud  if there: "seckill"
 */
#ifndef SECKILL_TOKEN_H
#define SECKILL_TOKEN_H

#include "base/list.h"
#include "base/start_error.h"
#include "sale/sale.h"

enum {
    TOKEN_TEXT_MAX = 1024, /* characters; a longer one is not looked at */
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

/* What a token says. Moments are seconds since 1970. */
struct token {
    char buyer[BUYER_ID_MAX + 1];
    int64_t issued_at_s;     /* 0: not said */
    int64_t not_before_at_s; /* 0: not said */
    int64_t expires_at_s;
};

/* X(value, what a client is told) */
#define TOKEN_STATUS_LIST(X)                                                                       \
    X(TOKEN_GOOD, "")                                                                              \
    X(TOKEN_FOREIGN, "This is no token of ours.") /* no JWT, another algorithm, another key */     \
    X(TOKEN_OF_OTHER_TYPE, "The token is of another type: typ has to be JWT or at+jwt.")           \
    X(TOKEN_UNFIT, "The token's claims are not what they have to be.")                             \
    X(TOKEN_EARLY, "The token is not valid yet.")                                                  \
    X(TOKEN_EXPIRED, "The token has expired.")

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
 * Check a token, whoever sent it.
 *
 * Shape    text: any bytes up to a NUL. *out is written when it is GOOD.
 * Threads  any.
 */
token_status token_check(const struct token_keys *keys, const char *text, int64_t now_s,
                         struct token *out);

/*
 * Make a token. The same claims and key give the same text.
 *
 * Owns     the result is yours (free); NULL when out of memory.
 */
char *token_make(const struct token_key *key, const struct token *claims);

#endif
