/*
 * What handlers work with, and what they all do at the end of a request.
 */
#ifndef SECKILL_SERVICE_H
#define SECKILL_SERVICE_H

#include <stdatomic.h>

#include "auth/identity.h"
#include "auth/rate.h"
#include "auth/token.h"
#include "book/book.h"
#include "http/http.h"
#include "metrics/metrics.h"
#include "metrics/readiness.h"
#include "metrics_page.h"
#include "sale_list.h"
#include "sell/expirer.h"
#include "sell/group_commit.h"
#include "sell/pay_batch.h"
#include "start/config.h"
#include "start/startup.h"
#include "store/store.h"
#include "waiting/waiting_room.h"

struct lab_runner;
struct classroom;

/* What handlers work with; everything is borrowed and safe for any number of threads. */
struct service {
    const struct config *config;
    struct identity *identity;
    struct rate *rate;         /* of each buyer; NULL: no limit */
    struct rate *address_rate; /* of each client's address; likewise */
    const struct deployment *deployment;
    struct startup_report *report; /* of Redis, when it was asked last */
    const char *operators_log;     /* file */
    lk_client *client;
    struct store *store;
    struct group_commit *commit;
    struct expirer *expirer;
    struct pay_batch *payments;
    struct waiting_rooms *waiting;
    struct book *book; /* NULL: none is kept */
    struct token_keys
        payment_keys; /* the provider's; none: no event is believed, and nobody can pay */
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
    struct classroom *classroom;      /* NULL: no --class */
    atomic_bool is_draining; /* stopping: readyz says so, connections end with their answer */
};

/* A request has been answered. */
void service_request_ends(struct service *service, const struct http_request *request);

#endif
