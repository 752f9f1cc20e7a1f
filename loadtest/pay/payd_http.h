/*
 * The provider's HTTP. GET PATH?QUERY, the link that the shop gave: a page with two buttons. POST there:
 * charge, and say so in JSON.
 */
#ifndef LOADTEST_PAYD_HTTP_H
#define LOADTEST_PAYD_HTTP_H

#include "payd_charge.h"

enum { PAYD_URL_MAX = 128 };

struct payd_http; /* opaque */

/* `listen` is HOST:PORT. Both strings and `charges` are borrowed. NULL: `failure` says why. */
struct payd_http *payd_http_open(const char *listen, const char *key, struct payd_charges *charges,
                                 struct failure *failure);
/* Where it listens, with the port that was found for port 0. */
void payd_http_url(const struct payd_http *http, const char *listen, char out[PAYD_URL_MAX]);
void payd_http_close(struct payd_http *http);

#endif
