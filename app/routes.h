/*
 * The table of routes: method, path, port, handler. What is not in it is 404, or 405 with Allow.
 */
#ifndef SECKILL_ROUTES_H
#define SECKILL_ROUTES_H

#include <stdatomic.h>

#include "config.h"
#include "group_commit.h"
#include "http.h"
#include "identity.h"
#include "metrics.h"
#include "store.h"

/* What handlers work with; everything is borrowed and safe for any number of threads. */
struct service {
    const struct config *config;
    const struct identity *identity;
    struct store *store;
    struct group_commit *commit;
    struct metrics *metrics;
    atomic_uint requests;    /* read and not answered yet */
    atomic_bool is_draining; /* stopping: readyz says so, connections end with their answer */
};

/* A request has been answered with this status. */
void service_request_ends(struct service *service, int status);

enum route_port { PORT_BUYERS = 1, PORT_OPERATORS = 2, PORT_BOTH = 3 };

/* Answer a request whose head has been read. */
void routes_serve(struct service *service, enum route_port port, struct http_request *request);

/*
 * Whether a path fits a pattern like "/api/v1/sales/{id}/orders"; {id} takes one whole segment.
 *
 * Returns  with true, the segment in `id`, or "" when the pattern has none or it is no sale's id.
 */
bool routes_path_fits(const char *pattern, const char *path, char id[SALE_ID_MAX + 1]);

#endif
