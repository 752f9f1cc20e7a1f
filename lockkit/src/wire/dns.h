/*
 * The address of a host's name, without waiting: getaddrinfo() cannot be given a deadline.
 */
#ifndef LKI_DNS_H
#define LKI_DNS_H

#include <stdbool.h>

#include "lockkit/error.h"

enum { LKI_ADDRESS_SIZE = 64 };

struct lki_dns;

/* Whether host is a name, and no address. */
bool lki_dns_is_needed(const char *host);

/*
 * Who else wants to know the same name at the same time shares it.
 *
 * Owns     the result is yours, for lki_dns_free().
 * Returns  NULL with *err: NO_MEMORY; UNREACHABLE: no thread or descriptor to be had, or 64 other names
 *          are being looked up without answer.
 */
struct lki_dns *lki_dns_begin(const char *host, struct lk_error *err);
/* To be polled: readable once it is over. */
int lki_dns_fd(const struct lki_dns *lookup);
/* BUSY: not yet. OK: an IPv4 address, or an IPv6 one when there is no other. UNREACHABLE: *err says why. */
LK_MUST_CHECK lk_status lki_dns_end(const struct lki_dns *lookup,
                                    char out_address[LKI_ADDRESS_SIZE], struct lk_error *err);
/* At any time: one that is not over ends by itself, and nobody hears of it. NULL is fine. */
void lki_dns_free(struct lki_dns *lookup);

#endif
