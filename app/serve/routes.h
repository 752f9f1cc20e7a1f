/*
 * The table of routes: method, path, port, handler. What is not in it is 404, or 405 with Allow.
 */
#ifndef SECKILL_ROUTES_H
#define SECKILL_ROUTES_H

#include <stdatomic.h>

#include "gate/identity.h"
#include "gate/rate.h"
#include "http/http.h"
#include "metrics/metrics.h"
#include "metrics/metrics_page.h"
#include "metrics/readiness.h"
#include "sale_list.h"
#include "sell/group_commit.h"
#include "start/config.h"
#include "start/startup.h"
#include "store/store.h"

struct lab_runner; /* lab_runner.h */

/* What handlers work with; everything is borrowed and safe for any number of threads. */
struct service {
    const struct config *config;
    const struct identity *identity;
    struct rate *rate;         /* of each buyer; NULL: no limit */
    struct rate *address_rate; /* of each client's address; likewise */
    const struct topology *topology;
    struct startup_report *report; /* of Redis, when it was asked last */
    const char *operators_log;     /* file */
    lk_client *client;
    struct store *store;
    struct group_commit *commit;
    struct metrics *metrics;
    struct metrics_page *metrics_page;
    struct sale_list *sales[JSON_VIEWS];
    struct readiness_probe *readiness;
    atomic_uint requests;             /* read and not answered yet */
    atomic_uint buyer_connections;    /* open */
    atomic_uint operator_connections; /* open */
    struct broadcast *broadcast;      /* events of sales */
    atomic_uint streams;              /* of events, open; each is a buyer's connection too */
    struct lab_runner *lab;           /* NULL: no --lab */
    atomic_bool is_draining; /* stopping: readyz says so, connections end with their answer */
};

/* A request has been answered. */
void service_request_ends(struct service *service, const struct http_request *request);

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
