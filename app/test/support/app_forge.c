/*
 * Tokens that token.c would never make. Any thread.
 */
#include "app_forge.h"

#include <jwt.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64url.h"

char *app_forge(const struct forgery *forgery)
{
    jwt_t *jwt = NULL;
    jwt_alg_t alg = jwt_str_alg(forgery->alg ? forgery->alg : "HS256");
    const unsigned char *key = (const unsigned char *)forgery->key;
    char *text = NULL;

    if (jwt_new(&jwt) == 0 && jwt_add_grants_json(jwt, forgery->claims) == 0 &&
        (!forgery->header || jwt_add_headers_json(jwt, forgery->header) == 0) &&
        (!key || jwt_set_alg(jwt, alg, key, (int)strlen(forgery->key)) == 0))
        text = jwt_encode_str(jwt);
    jwt_free(jwt);
    if (!text) abort();
    return text;
}

char *app_forge_parts(const char *header, const char *claims, const char *signature_of)
{
    const char *signature = strrchr(signature_of, '.');
    char *text = calloc(1, 2 * strlen(header) + 2 * strlen(claims) + strlen(signature_of) + 16);
    size_t used = 0;

    if (!text || !signature) abort();
    used = base64url_encode((const unsigned char *)header, strlen(header), text);
    text[used++] = '.';
    used += base64url_encode((const unsigned char *)claims, strlen(claims), text + used);
    memcpy(text + used, signature, strlen(signature) + 1);
    return text;
}

char *app_forge_signed(const char *header, const char *claims, const char *key)
{
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned mac_len = 0;
    char *bare = app_forge_parts(header, claims, ".");
    char *text = calloc(1, strlen(bare) + sizeof mac * 2);
    size_t used = strlen(bare) - 1; /* without the last dot */

    if (!text || !HMAC(EVP_sha256(), key, (int)strlen(key), (const unsigned char *)bare, used, mac,
                       &mac_len))
        abort();
    memcpy(text, bare, used + 1);
    (void)base64url_encode(mac, mac_len, text + used + 1);
    free(bare);
    return text;
}

void app_forge_mac(const char *key, const char *text, char out[APP_MAC_SIZE])
{
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned len = 0;

    if (!HMAC(EVP_sha256(), key, (int)strlen(key), (const unsigned char *)text, strlen(text), mac,
              &len))
        abort();
    for (unsigned i = 0; i < len; i++)
        (void)snprintf(out + (size_t)2 * i, 3, "%02x", mac[i]);
}
