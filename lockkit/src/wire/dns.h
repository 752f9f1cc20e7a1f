/*
 * The addresses of a host's name, without waiting: getaddrinfo() cannot be given a deadline. And which of
 * them did not answer a moment ago.
 */
#ifndef LKI_DNS_H
#define LKI_DNS_H

#include <stdbool.h>

#include "lockkit/error.h"

enum { LKI_ADDRESS_SIZE = 64, LKI_ADDRESSES_MAX = 8 };

struct lki_dns;

/* Whether host is a name, and no address. */
bool lki_dns_is_needed(const char *host);

/*
 * Who else wants to know the same name at the same time shares it. One that has had no answer for a second
 * is asked again beside the first time, as the name server may have come back meanwhile.
 *
 * Owns     the result is yours, for lki_dns_free().
 * Returns  NULL with *err: NO_MEMORY; UNREACHABLE: no thread or descriptor to be had, or 64 other names
 *          are being looked up without answer.
 */
struct lki_dns *lki_dns_begin(const char *host, struct lk_error *err);
/* To be polled: readable once it is over. */
int lki_dns_fd(const struct lki_dns *lookup);
/* BUSY: not yet. OK: it has addresses. UNREACHABLE: *err says why. */
LK_MUST_CHECK lk_status lki_dns_end(const struct lki_dns *lookup, struct lk_error *err);
/*
 * The next address to be tried, of a look-up that ended as OK: in the order of RFC 6724, but those that were
 * dead a moment ago behind the others. tried: 0 at first, and for lki_dns_next() alone.
 *
 * Returns  how many were not tried yet, with this one; 0: none is left
 */
unsigned lki_dns_next(const struct lki_dns *lookup, int port, unsigned *tried,
                      char out_address[LKI_ADDRESS_SIZE]);
/* How it went there. The whole process knows it for 30 seconds. */
void lki_dns_note(const struct lki_dns *lookup, int port, const char *address, bool is_dead);
/* At any time: one that is not over ends by itself, and nobody hears of it. NULL is fine. */
void lki_dns_free(struct lki_dns *lookup);

#endif
