/*
 * civetweb's life cycle: two listeners (buyers, operators), their threads, and who has to make room.
 */
#ifndef SECKILL_SERVER_H
#define SECKILL_SERVER_H

#include "base/start_error.h"
#include "routes.h"

struct server; /* opaque */

/*
 * Listen on both addresses of the service's config.
 *
 * Owns     the service is borrowed and must outlive the server.
 * Returns  NULL and one line in *why: address in use, too few file descriptors, no memory.
 */
struct server *server_start(struct service *service, struct start_error *why);

/* The address of PORT_BUYERS or PORT_OPERATORS, with the port that was taken when 0 was asked for. */
const char *server_address(const struct server *self, enum route_port port);

/*
 * Accept nobody any more: who has connected by now gets answers, who connects later is refused by the
 * kernel. Clients that have nothing to ask are asked to leave.
 */
void server_drain(struct server *self);

/* Open connections, on both listeners; 0 only after server_drain(), when all have left. */
unsigned server_connections(const struct server *self);

/* Close both listeners and every connection, join the threads. What is not answered yet will not be. */
void server_stop(struct server *self);

#endif
