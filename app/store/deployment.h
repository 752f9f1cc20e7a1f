/*
 * What kind of Redis keeps the sales, whether its replicas are waited for, and how often its servers
 * have changed places. What such a change means is with those who remember something of Redis:
 * order_node.c, sold_out.c, broadcast.c.
 */
#ifndef SECKILL_DEPLOYMENT_H
#define SECKILL_DEPLOYMENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

/* X(value, what its URLs have behind "redis" or "rediss", name in /version) */
#define DEPLOYMENT_LIST(X)                                                                         \
    X(DEPLOYMENT_SINGLE, "", "single") /* redis://, unix:// and what lockkit will refuse */        \
    X(DEPLOYMENT_SENTINEL, "+sentinel://", "sentinel")                                             \
    X(DEPLOYMENT_CLUSTER, "+cluster://", "cluster")

typedef enum deployment_kind { DEPLOYMENT_LIST(LIST_VALUE) DEPLOYMENT_COUNT } deployment_kind;

struct deployment {
    deployment_kind kind;
    unsigned sync_replicas; /* that have an order before it is accepted; 0: none is waited for */
    int64_t sync_ms;        /* so long at most */
    atomic_uint changes;    /* grows when another server is the primary, or slots moved */
};

deployment_kind deployment_kind_of(const char *url);
/* Does a URL, or one of a list with commas between, ask for TLS? */
bool deployment_uses_tls(const char *urls);
const char *deployment_name(deployment_kind kind);

/* What a failover can cost, in a sentence; static. */
const char *deployment_promise(const struct deployment *deployment);

/* How often it has changed by now. NULL: a single server, 0. */
unsigned deployment_changes(const struct deployment *deployment);

/* Whether another server may take over that has not got all that was told before: with one server once
   that has happened behind its name. NULL: no. */
bool deployment_may_go_back(const struct deployment *deployment);

/* Whether a sale may be in segments: of several servers none may forget half of a move. (One that crashes may, too, with
   less than appendfsync always: a deposit that is sent again then comes twice.) */
bool deployment_may_cut(const struct deployment *deployment);

/* Whether orders are accepted only once replicas have them. NULL: no. */
bool deployment_is_synced(const struct deployment *deployment);

#endif
