/*
 * TLS over a socket that somebody else drives: settings, which many connections share, and one
 * connection's connection. The only door to OpenSSL.
 */
#ifndef LKI_TLS_H
#define LKI_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lockkit/client.h"

struct lki_tls;
struct lki_tls_conn;
struct lki_endpoint;

/*
 * Read the files and make the settings of a client's connections.
 *
 * Owns     *out is yours, to lki_tls_unref(). Options are copied.
 * Returns  OK, INVALID (the text names the file, and what is wrong with it), NO_MEMORY
 */
LK_MUST_CHECK lk_status lki_tls_new(const struct lk_tls_options *options, struct lki_tls **out,
                                    struct lk_error *err);
/* NULL is fine for both; any thread. */
struct lki_tls *lki_tls_ref(struct lki_tls *tls);
void lki_tls_unref(struct lki_tls *tls);
/* How many handshakes so far went on where an earlier one of the same server had ended. */
long lki_tls_resumed(const struct lki_tls *tls);

/*
 * Begin with a connected socket. Nothing is sent yet.
 *
 * Owns     borrows the socket, and the endpoint's label; refers to its settings.
 * Returns  NULL: out of memory
 */
struct lki_tls_conn *lki_tls_begin(const struct lki_endpoint *endpoint, const char *label, int fd);
/* Says nothing to the other side. NULL is fine. */
void lki_tls_end(struct lki_tls_conn *conn);

/*
 * One step of the handshake; one send() that never waits; one recv() with these flags (of which 0 waits
 * as the socket does). None raises SIGPIPE.
 *
 * Returns  true, or as send() and recv(): a record at most. Else errno is EAGAIN, and it goes on when
 *          the socket is ready for *out_events; EPROTO, which lki_tls_fault() explains; or the socket's.
 *          Of data that was not sent the other side can read nothing: a record counts as a whole.
 */
bool lki_tls_shake(struct lki_tls_conn *conn, short *out_events);
ssize_t lki_tls_send(struct lki_tls_conn *conn, const char *data, size_t len, short *out_events);
ssize_t lki_tls_recv(struct lki_tls_conn *conn, char *out, size_t size, int flags);
/* The handshake failed where an earlier one had ended: on another socket, from its beginning, it may do. */
bool lki_tls_is_to_repeat(const struct lki_tls_conn *conn);

/* What one side could not accept from the other; NULL: nothing of the kind. It will not heal by itself. */
const char *lki_tls_fault(const struct lki_tls_conn *conn);

#endif
