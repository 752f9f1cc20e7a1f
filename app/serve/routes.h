/*
 * The table of routes: method, path, port, handler. What is not in it is 404, or 405 with Allow.
 */
#ifndef SECKILL_ROUTES_H
#define SECKILL_ROUTES_H

#include "service.h"

/* One row of the table. Everything is static. */
struct route_text {
    const char *method;
    const char *path; /* "/api/v1/sales/{id}" */
    bool is_for_buyers;
    bool is_for_operators; /* on their port */
    bool needs_token;      /* the operator's */
};

/* The rows in their order; false past the end. */
bool routes_at(size_t index, struct route_text *out);

/* The same, for metrics_new(). */
bool routes_label(size_t index, const char **out_method, const char **out_path);

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
