/*
 * Where a server is and how to log in, from a URL.
 */
#ifndef LKI_ENDPOINT_H
#define LKI_ENDPOINT_H

#include "lockkit/error.h"

struct lki_endpoint {
    char *host;     /* owned; NULL for a unix socket */
    char *path;     /* owned; the unix socket */
    char *user;     /* owned; NULL: the default user */
    char *password; /* owned; NULL: no log-in */
    int port;
    int db;
    char label[128]; /* "127.0.0.1:6379" or the path: for messages, without secrets */
};

/*
 * Shape    redis://[[user]:password@]host[:port][/db] ([host] for IPv6; %XX in user and password),
 *          unix:///path[?db=N]
 * Owns     *out is initialised in any case; end it with lki_endpoint_done().
 * Returns  OK, INVALID (the text says what is wrong, without the password), NO_MEMORY
 */
LK_MUST_CHECK lk_status lki_endpoint_parse(const char *url, struct lki_endpoint *out,
                                           struct lk_error *err);
void lki_endpoint_done(struct lki_endpoint *endpoint);

#endif
