/*
 * civetweb's life cycle: two listeners (buyers, operators), their threads, and who has to make room.
 */
#ifndef SECKILL_SERVER_H
#define SECKILL_SERVER_H

#include "refusal.h"
#include "routes.h"

struct server; /* opaque */

/*
 * Listen on both addresses of the service's config.
 *
 * Owns     the service is borrowed and must outlive the server.
 * Returns  NULL and one line in *why: address in use, too few file descriptors, no memory.
 */
struct server *server_start(struct service *service, struct refusal *why);

/* The address of PORT_BUYERS or PORT_OPERATORS, with the port that was taken when 0 was asked for. */
const char *server_address(const struct server *self, enum route_port port);

/* Requests that are being answered now, on both listeners; and open connections. */
unsigned server_requests(const struct server *self);
unsigned server_connections(const struct server *self);

/*
 * While buyers' connections wait for others to end, end those whose clients say nothing. Call it
 * several times a second.
 *
 * Threads  any one.
 */
void server_tend(struct server *self);

/* Close both listeners and every connection, join the threads. What is not answered yet will not be. */
void server_stop(struct server *self);

#endif
