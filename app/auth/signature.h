/*
 * Signatures between us and a payment provider: HMAC-SHA-256 with keys that both have. A provider signs
 * its events, over the moment and the body's bytes as they came; we sign the address where a buyer
 * pays.
 *
 * Header   Payment-Signature: t=UNIX,v1=HEX[,v1=HEX]; v1 is the MAC of t, a dot, and the body
 */
#ifndef SECKILL_SIGNATURE_H
#define SECKILL_SIGNATURE_H

#include "token.h"

enum {
    SIGNATURE_LEEWAY_S =
        300, /* between the two clocks, both ways: it only bounds what is remembered */
    SIGNATURE_HEX_SIZE = 2 * TOKEN_MAC_SIZE + 1,
};

typedef enum signature_status {
    SIGNATURE_GOOD,
    SIGNATURE_BAD,   /* none, no such form, another key, another body */
    SIGNATURE_STALE, /* good, but of another time */
} signature_status;

/* Of a body, by any of the keys. header NULL: BAD. now_s: Unix time. Any thread. */
signature_status signature_check(const struct token_keys *keys, const char *header,
                                 const char *body, size_t len, int64_t now_s);

/* By the first key, in hex. False: there is no key, or no memory. */
bool signature_make(const struct token_keys *keys, const char *bytes, size_t len,
                    char out[SIGNATURE_HEX_SIZE]);

#endif
