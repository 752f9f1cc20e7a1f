/*
 * What a buyer is called inside: the canonical form of the subject that a token, or X-User-Id, names.
 *
 * A subject is any printable UTF-8 of 1 to 255 bytes (RFC 7519's StringOrURI: "auth0|5f7c", an e-mail
 * address, a name). One of [A-Za-z0-9_-]{1,64} that does not begin with "sha256-" is its own canonical form;
 * any other one becomes "sha256-" and the base64url of its SHA-256. So no two subjects have one form, and
 * ledger, keys, logs, rate limits and audit only ever meet [A-Za-z0-9_-]{1,64}. Subjects are compared byte
 * by byte: capitals and Unicode's compositions count.
 */
#ifndef SECKILL_SUBJECT_H
#define SECKILL_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>

#include "sale/sale.h"

enum { SUBJECT_MAX = 255 }; /* bytes */

/* False, and out as it was: no subject; or out of memory. Any thread. */
bool subject_read(const char *subject, char out[BUYER_ID_MAX + 1]);

#endif
