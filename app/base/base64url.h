/*
 * base64url without padding (RFC 4648, 5), as JWTs have it (RFC 7515, 2).
 */
#ifndef SECKILL_BASE64URL_H
#define SECKILL_BASE64URL_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Shape    out: 3/4 of len, rounded down.
 * Returns  the number of bytes; -1: another text. Each sequence of bytes has one text.
 */
ssize_t base64url_decode(const char *text, size_t len, unsigned char *out);

/*
 * Shape    out: 4/3 of len, rounded up, and a NUL.
 * Returns  the number of characters.
 */
size_t base64url_encode(const unsigned char *bytes, size_t len, char *out);

#endif
