/*
 * The address of a host's name, without waiting: getaddrinfo() cannot be given a deadline.
 */
#ifndef LKI_LOOKUP_H
#define LKI_LOOKUP_H

#include <stdbool.h>

#include "lockkit/error.h"

enum { LKI_ADDRESS_SIZE = 64 };

struct lki_lookup;

/* Whether host is a name, and no address. */
bool lki_lookup_is_needed(const char *host);

/*
 * NULL: *err says NO_MEMORY, or UNREACHABLE: as many names as may be are being looked up, without answer.
 * Owns  the result is yours, for lki_lookup_free().
 */
struct lki_lookup *lki_lookup_begin(const char *host, struct lk_error *err);
/* To be polled: readable once it is over. */
int lki_lookup_fd(const struct lki_lookup *lookup);
/* BUSY: not yet. OK: an IPv4 address, or an IPv6 one when there is no other. UNREACHABLE: *err says why. */
LK_MUST_CHECK lk_status lki_lookup_end(const struct lki_lookup *lookup,
                                       char out_address[LKI_ADDRESS_SIZE], struct lk_error *err);
/* At any time: one that is not over ends by itself, and nobody hears of it. NULL is fine. */
void lki_lookup_free(struct lki_lookup *lookup);

#endif
