/*
 * The address of a server and its credentials, from a URL and separate secrets.
 */
#ifndef LKI_ENDPOINT_H
#define LKI_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lockkit/error.h"
#include "lockkit/reply.h"

struct lki_tls;

struct lki_endpoint {
    char *host;            /* owned; NULL for a unix socket */
    char *path;            /* owned; the unix socket */
    char *user;            /* owned; NULL: the default user */
    char *password;        /* owned; NULL: no log-in */
    char *loader;          /* owned; the user that loads scripts; NULL: none */
    char *loader_password; /* owned */
    bool is_tls;
    struct lki_tls *tls; /* a reference; of a client's endpoints where is_tls */
    int port;
    int db;
    int64_t spin_ns; /* limit of the busy-polling of a receive; 0: none */
    char label[128]; /* "127.0.0.1:6379" or the path: for messages, without secrets */
};

/*
 * Shape    redis://[[user]:password@]host[:port][/db] ([host] for IPv6; %XX in user and password),
 *          rediss:// for TLS,
 *          unix:///path[?db=N]
 *          password: NULL, or instead of one in the URL, where user@ alone may stand then
 * Owns     *out is initialised in any case; end it with lki_endpoint_done().
 * Returns  OK, INVALID (the text says what is wrong, without the password), NO_MEMORY
 */
LK_MUST_CHECK lk_status lki_endpoint_parse(const char *url, const char *password,
                                           struct lki_endpoint *out, struct lk_error *err);
/* Set the loader: "user:password". OK, INVALID (the text does not contain it), NO_MEMORY */
LK_MUST_CHECK lk_status lki_endpoint_set_loader(struct lki_endpoint *endpoint, const char *loader,
                                                struct lk_error *err);
/* Replace the credentials: "password" or "user:password". OK, INVALID, NO_MEMORY */
LK_MUST_CHECK lk_status lki_endpoint_set_login(struct lki_endpoint *endpoint, const char *login,
                                               struct lk_error *err);
void lki_endpoint_done(struct lki_endpoint *endpoint);
/* OK, NO_MEMORY; *out is initialised in any case. */
LK_MUST_CHECK lk_status lki_endpoint_copy(const struct lki_endpoint *from,
                                          struct lki_endpoint *out);

/*
 * Another server of the same deployment: at this address, with credentials, db and TLS of `like`.
 *
 * Shape    address: "host:port" as servers write it ("::1:7001"; an empty host means that of `asked`)
 * Owns     as lki_endpoint_parse()
 * Returns  OK, INVALID, NO_MEMORY
 */
LK_MUST_CHECK lk_status lki_endpoint_at(struct lk_bytes address, const struct lki_endpoint *like,
                                        const struct lki_endpoint *asked, struct lki_endpoint *out,
                                        struct lk_error *err);

#endif
