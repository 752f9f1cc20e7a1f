/*
 * TLS over a socket that the caller drives: settings, which connections share, and the state of one connection.
 * Only tls.c uses OpenSSL.
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
/* The number of resumed sessions so far. */
long lki_tls_resumed(const struct lki_tls *tls);

/*
 * Begin with a connected socket. Nothing is sent yet.
 *
 * Owns     borrows the socket, and the endpoint's label; refers to its settings.
 * Returns  NULL: out of memory
 */
struct lki_tls_conn *lki_tls_begin(const struct lki_endpoint *endpoint, const char *label, int fd);
/* Frees it, without a close_notify. NULL is fine. */
void lki_tls_end(struct lki_tls_conn *conn);

/*
 * One step of the handshake; one send(), without blocking; one recv() with these flags (0 blocks as the socket
 * does). None raises SIGPIPE.
 *
 * Returns  true, or as send() and recv(), of one record at most. Else errno is EAGAIN: repeat when the socket is
 *          ready for *out_events; EPROTO: see lki_tls_fault(); or that of the socket. The other side can read
 *          nothing of a record that was not sent completely.
 */
bool lki_tls_shake(struct lki_tls_conn *conn, short *out_events);
ssize_t lki_tls_send(struct lki_tls_conn *conn, const char *data, size_t len, short *out_events);
ssize_t lki_tls_recv(struct lki_tls_conn *conn, char *out, size_t size, int flags);
/* The handshake failed when a session was resumed: on another socket, with a full handshake, it may succeed. */
bool lki_tls_is_to_repeat(const struct lki_tls_conn *conn);

/* What one side does not accept of the other, which is permanent; NULL: nothing. */
const char *lki_tls_fault(const struct lki_tls_conn *conn);

#endif
