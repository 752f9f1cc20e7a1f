/*
 * See signature.h. Keeps nothing.
 */
#include "signature.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "http/http.h"

enum { TIME_DIGITS_MAX = 12, MACS_MAX = 4 };

static bool read_mac(const char *hex, size_t len, unsigned char out[TOKEN_MAC_SIZE])
{
    return len == 2 * (size_t)TOKEN_MAC_SIZE && hex_read(hex, out, TOKEN_MAC_SIZE);
}

/* t=UNIX and then v1=HEX, once or more: all of it, or false. */
static bool read_header(const char *header, int64_t *out_time_s,
                        unsigned char macs[MACS_MAX][TOKEN_MAC_SIZE], size_t *out_count)
{
    size_t digits = strncmp(header, "t=", 2) == 0 ? strspn(header + 2, "0123456789") : 0;
    const char *rest = header + 2 + digits;

    *out_count = 0;
    if (digits == 0 || digits > TIME_DIGITS_MAX) return false;
    *out_time_s = strtoll(header + 2, NULL, 10);
    while (*out_count < MACS_MAX && strncmp(rest, ",v1=", 4) == 0) {
        size_t len = strcspn(rest + 4, ",");

        if (!read_mac(rest + 4, len, macs[(*out_count)++])) return false;
        rest += 4 + len;
    }
    return *rest == '\0' && *out_count > 0;
}

signature_status signature_check(const struct token_keys *keys, const char *header,
                                 const char *body, size_t len, int64_t now_s)
{
    unsigned char macs[MACS_MAX][TOKEN_MAC_SIZE];
    unsigned char mac[TOKEN_MAC_SIZE];
    char signed_bytes[TIME_DIGITS_MAX + 2 + HTTP_BODY_MAX];
    size_t count = 0;
    int64_t time_s = 0;
    bool is_good = false;

    if (!header || len > HTTP_BODY_MAX || !read_header(header, &time_s, macs, &count))
        return SIGNATURE_BAD;
    int head = snprintf(signed_bytes, TIME_DIGITS_MAX + 2, "%.*s.", (int)strcspn(header + 2, ","),
                        header + 2); /* as it came */
    memcpy(signed_bytes + head, body, len);
    for (size_t i = 0; i < keys->count; i++) {
        if (!token_mac(&keys->key[i], signed_bytes, (size_t)head + len, mac)) return SIGNATURE_BAD;
        for (size_t k = 0; k < count; k++)
            is_good |= token_mac_is(mac, macs[k]);
    }
    if (!is_good) return SIGNATURE_BAD;
    return llabs(now_s - time_s) <= SIGNATURE_LEEWAY_S ? SIGNATURE_GOOD : SIGNATURE_STALE;
}

bool signature_make(const struct token_keys *keys, const char *bytes, size_t len,
                    char out[SIGNATURE_HEX_SIZE])
{
    unsigned char mac[TOKEN_MAC_SIZE];

    if (keys->count == 0 || !token_mac(&keys->key[0], bytes, len, mac)) return false;
    hex_write(mac, sizeof mac, out);
    return true;
}
