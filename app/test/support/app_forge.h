/*
 * Tokens as an attacker, or a careless issuer, would make them.
 */
#ifndef SECKILL_APP_FORGE_H
#define SECKILL_APP_FORGE_H

struct forgery {
    const char *key;    /* NULL: not signed (alg none) */
    const char *alg;    /* NULL: HS256 */
    const char *header; /* more members, JSON; NULL: none */
    const char *claims; /* JSON */
};

/* The result is yours (free). Aborts when libjwt will not make it. */
char *app_forge(const struct forgery *forgery);

/* "header.claims." with these JSON texts as they are, and the signature of another token. */
char *app_forge_parts(const char *header, const char *claims, const char *signature_of);

/* "header.claims." with these JSON texts as they are, and the signature that `key` gives them. */
char *app_forge_signed(const char *header, const char *claims, const char *key);

enum { APP_MAC_SIZE = 65 };
/* HMAC-SHA-256 of a text, in hex. */
void app_forge_mac(const char *key, const char *text, char out[APP_MAC_SIZE]);

#endif
