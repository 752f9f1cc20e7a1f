/*
 * HMAC-SHA256, as the payment provider and the service prove themselves to each other.
 */
#ifndef LOADTEST_PAYD_SIGN_H
#define LOADTEST_PAYD_SIGN_H

#include <stdbool.h>
#include <stddef.h>

enum { PAYD_HEX_MAX = 65, PAYD_SIGNATURE_MAX = 128 };

/* Of so many bytes, as hex; "" when OpenSSL fails. */
void payd_sign_hex(const char *key, const char *bytes, size_t size, char out[PAYD_HEX_MAX]);

/* The header line of a webhook: "Payment-Signature: t=UNIX,v1=HEX". */
void payd_sign_webhook(const char *key, long long unix_s, const char *body,
                       char out[PAYD_SIGNATURE_MAX]);

/* Does a query end with "&sig=HEX", made with that key of what stands before it? */
bool payd_sign_is_ours(const char *key, const char *query);

#endif
