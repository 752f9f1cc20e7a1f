/*
 * The URL of a client: one server, or several that act as one.
 */
#ifndef LKI_URL_H
#define LKI_URL_H

#include <stddef.h>

#include "endpoint.h"

enum { LKI_SEEDS_MAX = 16 };

enum lki_url_kind { LKI_URL_SINGLE, LKI_URL_SENTINEL, LKI_URL_CLUSTER };

struct lki_url {
    enum lki_url_kind kind;
    struct lki_endpoint seeds[LKI_SEEDS_MAX]; /* the server; the Sentinels; some of the cluster */
    size_t seed_count;
    char *name;               /* owned; Sentinel: what it calls the primary */
    struct lki_endpoint like; /* users, passwords and db of every server that will be found */
};

/* Secrets beside a URL. */
struct lki_secrets {
    const char *password; /* NULL: none, or in the URL */
    const char *loader;   /* "user:password"; NULL: none */
    const char *sentinel; /* "[user:]password" of Sentinels; NULL: none. Else not used */
};

/*
 * Shape    as lki_endpoint_parse(), and
 *          redis+sentinel://[[user]:password@]host[:26379],host...[/NAME[/DB]]   [NAME: mymaster]
 *          redis+cluster://[[user]:password@]host[:6379],host...
 *          rediss for redis in each: over TLS, the Sentinels too
 *          With secrets.password the user alone may stand before the "@", or nothing.
 *          The credentials are the servers'; Sentinels have secrets.sentinel.
 * Owns     *out is initialised in any case; end it with lki_url_done().
 * Returns  OK, INVALID (the text says what is wrong, without the password), NO_MEMORY
 */
LK_MUST_CHECK lk_status lki_url_parse(const char *text, struct lki_secrets secrets,
                                      struct lki_url *out, struct lk_error *err);
/* Whether its servers use TLS; then a client sets their TLS settings. */
bool lki_url_is_tls(const struct lki_url *url);
void lki_url_set_tls(struct lki_url *url, struct lki_tls *tls);
/* Of every connection to them: lki_endpoint.spin_ns. */
void lki_url_set_spin(struct lki_url *url, int64_t spin_ns);
void lki_url_done(struct lki_url *url);

#endif
