/*
 * A buyer's connection, and the purchase under way on it. While a purchase waits in group commit, the
 * thread of its connection already waits for the next request; the leader of the batch writes the
 * answer to the socket. That spares two context switches per purchase.
 */
#ifndef SECKILL_CONNECTION_H
#define SECKILL_CONNECTION_H

#include <stdatomic.h>

#include "http.h"

struct service;

struct connection {
    int fd;               /* borrowed: civetweb's socket; -1: not known yet */
    _Atomic uint32_t use; /* connection.c's: who may touch the rest now */
    /* The purchase under way, with copies of all it needs when its request is gone. */
    struct service *service;
    struct http_request request;
    struct purchase purchase;
    char sale_id[SALE_ID_MAX + 1];
    char buyer[BUYER_ID_MAX + 1];
    char key[IDEMPOTENCY_KEY_MAX + 1];
    char request_id[HTTP_TOKEN_MAX + 1];
    void *room; /* owned: of payments.c, from the first one on; NULL: none yet */
};

/* NULL when out of memory. Threads: each connection has one, civetweb's. */
struct connection *connection_new(void);

/*
 * Civetweb is about to close the socket: wait until the answer under way is out, and free.
 *
 * Owns     takes the connection; NULL is fine.
 */
void connection_close(struct connection *self);

/* Wait until the answer to the request before is out; at once if there is none. */
void connection_settle(struct connection *self);

/* Copy what the purchase needs. From here on it belongs to whoever answers it. */
void connection_begin(struct connection *self, const struct http_request *request,
                      const char *sale_id);

/* The answer is out; any thread. The connection is its own thread's again: do not touch it. */
void connection_answered(struct connection *self);

/* Send without waiting. A client that does not read its answers loses the connection. */
void connection_send(const struct connection *self, const char *data, size_t len);

/* ---- streams: answers that go on; by the connection's own thread -------------------------------- */

typedef enum connection_event {
    CONNECTION_FINE,  /* written; or nothing happened in time */
    CONNECTION_WOKEN, /* the other descriptor is readable */
    CONNECTION_SLOW,  /* the client does not read */
    CONNECTION_GONE,  /* the client has hung up, or is out of reach */
} connection_event;

/*
 * Before the socket is closed. Bytes that nobody reads would have the kernel reset the connection, and
 * what the client has not taken yet of its answer be lost: where there are some, or it has not taken all,
 * it sees the end first, and for 200 ms at most what it still says is read.
 *
 * Source   RFC 9112 section 9.6.
 */
void connection_linger(const struct connection *self);

/* Have the kernel buffer little, and notice within some seconds that the far end does not answer. */
void connection_begin_stream(const struct connection *self);

/* Write all of it: FINE; when it cannot be within limit_ms SLOW, or GONE: end the stream then. */
connection_event connection_write(const struct connection *self, const char *data, size_t len,
                                  int64_t limit_ms);

/* Wait until the client hangs up, wake_fd is readable, or limit_ms is over. */
connection_event connection_wait(const struct connection *self, int wake_fd, int64_t limit_ms);

/* The client hears that it ends here, without waiting for what it has not read. */
void connection_end_stream(const struct connection *self);

#endif
