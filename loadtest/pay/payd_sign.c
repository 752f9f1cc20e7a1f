/*
 * Pure.
 */
#include "payd_sign.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

enum { SIGNED_MAX = 2048 };

void payd_sign_hex(const char *key, const char *bytes, size_t size, char out[PAYD_HEX_MAX])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;

    out[0] = '\0';
    if (!HMAC(EVP_sha256(), key, (int)strlen(key), (const unsigned char *)bytes, size, digest,
              &length))
        return;
    for (unsigned i = 0; 2 * i + 1 < PAYD_HEX_MAX - 1 && i < length; i++)
        (void)snprintf(out + (size_t)2 * i, 3, "%02x", digest[i]);
}

void payd_sign_webhook(const char *key, long long unix_s, const char *body,
                       char out[PAYD_SIGNATURE_MAX])
{
    char text[SIGNED_MAX], hex[PAYD_HEX_MAX];
    int length = snprintf(text, sizeof text, "%lld.%s", unix_s, body);

    payd_sign_hex(key, text, (size_t)length, hex);
    (void)snprintf(out, PAYD_SIGNATURE_MAX, "Payment-Signature: t=%lld,v1=%s", unix_s, hex);
}

bool payd_sign_is_ours(const char *key, const char *query)
{
    const char *sig = query ? strstr(query, "&sig=") : NULL;
    char hex[PAYD_HEX_MAX];

    if (!sig || strlen(sig) != strlen("&sig=") + PAYD_HEX_MAX - 1) return false;
    payd_sign_hex(key, query, (size_t)(sig - query), hex);
    return CRYPTO_memcmp(sig + strlen("&sig="), hex, PAYD_HEX_MAX - 1) == 0;
}
