/*
 * The addresses of a host name, without blocking (getaddrinfo() has no deadline), and which of them did not
 * answer a moment ago.
 */
#ifndef LKI_DNS_H
#define LKI_DNS_H

#include <stdbool.h>

#include "lockkit/error.h"

enum { LKI_ADDRESS_SIZE = 64, LKI_ADDRESSES_MAX = 8 };

struct lki_dns;

/* Whether the host is a name rather than an address. */
bool lki_dns_is_needed(const char *host);

/*
 * Begin a look-up, or share one of the same name. One without an answer for a second is repeated beside the
 * first, as the name server may be back.
 *
 * Owns     the result is yours, for lki_dns_free().
 * Returns  NULL with *err: NO_MEMORY; UNREACHABLE: no thread or descriptor can be made, or 64 look-ups of other
 *          names are running.
 */
struct lki_dns *lki_dns_begin(const char *host, struct lk_error *err);
/* Readable when the look-up has ended. */
int lki_dns_fd(const struct lki_dns *lookup);
/* The result. OK: there are addresses; BUSY: it has not ended; UNREACHABLE: *err says why. */
LK_MUST_CHECK lk_status lki_dns_end(const struct lki_dns *lookup, struct lk_error *err);
/*
 * The next address of a look-up that ended as OK: in the order of RFC 6724, but those that did not answer a
 * moment ago last. tried: 0 at first; kept by lki_dns_next().
 *
 * Returns  the number of addresses that were not tried yet, including this one; 0: none is left
 */
unsigned lki_dns_next(const struct lki_dns *lookup, int port, unsigned *tried,
                      char out_address[LKI_ADDRESS_SIZE]);
/* Note whether an address answered. The process remembers dead ones for 30 seconds. */
void lki_dns_note(const struct lki_dns *lookup, int port, const char *address, bool is_dead);
/* At any time: a look-up that is still running ends by itself. NULL is fine. */
void lki_dns_free(struct lki_dns *lookup);

#endif
