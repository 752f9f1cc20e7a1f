/*
 * SHA-1, by which servers name scripts. Not for secrets.
 */
#ifndef LKI_SHA1_H
#define LKI_SHA1_H

#include <stddef.h>

enum { LKI_SHA1_LEN = 40 };

/* The digest of these bytes as hex digits and a NUL. */
void lki_sha1(const char *data, size_t len, char out_hex[LKI_SHA1_LEN + 1]);

#endif
