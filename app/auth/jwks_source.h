/*
 * Where an issuer's keys are published, a file or a URL, and the last good set that was there. It is read at start,
 * every five minutes (every ten seconds while there is none), and when a token names a key that is not in it,
 * at most once a minute. What cannot be had, or is no key set, leaves the last good one.
 */
#ifndef SECKILL_JWKS_SOURCE_H
#define SECKILL_JWKS_SOURCE_H

#include <stdint.h>

#include "auth/jwks.h"
#include "base/start_error.h"

struct jwks_source; /* opaque; any thread may ask it */

/*
 * Shape    place: http:// or https:// (as libcurl trusts: the system's authorities), else a file's path; borrowed
 *          until it is freed.
 * Returns  NULL and one line in *why: a file without usable keys. A URL may answer later.
 */
struct jwks_source *jwks_source_new(const char *place, struct start_error *why);
void jwks_source_free(struct jwks_source *self);

/* The last good set, yours (jwks_unref); NULL: there was none yet, or self is NULL. */
struct jwks *jwks_source_get(struct jwks_source *self);

/* How often the keys were read: a token accepted before the last reading has to be checked again. NULL gives 0. */
uint64_t jwks_source_rounds(struct jwks_source *self);

/* Another set than `known`, yours, when a token names a key that is not in it; waits for two seconds at most. */
struct jwks *jwks_source_get_newer(struct jwks_source *self, const struct jwks *known);

#endif
