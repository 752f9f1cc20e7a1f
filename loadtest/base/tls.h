/*
 * The load test's one door to OpenSSL: TLS over a socket that is connected already.
 */
#ifndef LOADTEST_TLS_H
#define LOADTEST_TLS_H

#include <stddef.h>

#include "failure.h"

struct ssl_st; /* OpenSSL's SSL */

/* What --redis-ca and its like say; zero: the system's store, no certificate of ours, verified. */
struct tls_options {
    const char *ca_file;
    const char *cert_file;
    const char *key_file; /* NULL: it is in cert_file */
    const char *server_name;
    bool is_unverified;
};

/* The first flag that was given, for one who has no use for it; NULL: none. */
const char *tls_flag_given(const struct tls_options *tls);

/*
 * Shake hands over `fd`, which blocks no longer than its own timeouts: TLS 1.2 or newer, with a server
 * whose certificate is for server_name, else for `host`.
 *
 * Owns     `fd` stays the caller's, and outlives the result.
 * Returns  NULL    `failure` says what is wrong with whom, and the flag that helps.
 */
struct ssl_st *tls_open(int fd, const char *host, const struct tls_options *tls,
                        struct failure *failure);
/* Fine with NULL. Tells nobody: the caller closes the socket. */
void tls_close(struct ssl_st *ssl);

/* All of it; false: the connection is gone, or did not take it in time. */
bool tls_send(struct ssl_st *ssl, const char *bytes, size_t size, struct failure *failure);
/* How many came, `size` at most; 0: the connection is gone, or nothing came in time. */
size_t tls_receive(struct ssl_st *ssl, char *out, size_t size, struct failure *failure);

#endif
