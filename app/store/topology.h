/*
 * What kind of Redis keeps the sales, whether its replicas are waited for, and how often its servers
 * have changed places. What such a change means is with those who remember something of Redis:
 * node.c, sold_out.c, broadcast.c.
 */
#ifndef SECKILL_TOPOLOGY_H
#define SECKILL_TOPOLOGY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* X(value, what its URLs have behind "redis" or "rediss", name in /version) */
#define TOPOLOGY_LIST(X)                                                                           \
    X(TOPOLOGY_SINGLE, "", "single") /* redis://, unix:// and what lockkit will refuse */          \
    X(TOPOLOGY_SENTINEL, "+sentinel://", "sentinel")                                               \
    X(TOPOLOGY_CLUSTER, "+cluster://", "cluster")

typedef enum topology_kind {
#define TOPOLOGY_VALUE(value, scheme, name) value,
    TOPOLOGY_LIST(TOPOLOGY_VALUE)
#undef TOPOLOGY_VALUE
        TOPOLOGY_COUNT
} topology_kind;

struct topology {
    topology_kind kind;
    unsigned sync_replicas; /* that have an order before it is accepted; 0: none is waited for */
    int64_t sync_ms;        /* so long at most */
    atomic_uint changes;    /* grows when another server is the primary, or slots moved */
};

topology_kind topology_kind_of(const char *url);
/* Does a URL, or one of a list with commas between, ask for TLS? */
bool topology_uses_tls(const char *urls);
const char *topology_name(topology_kind kind);

/* What a failover can cost, in a sentence; static. */
const char *topology_promise(const struct topology *topology);

/* How often it has changed by now. NULL: a single server, 0. */
unsigned topology_changes(const struct topology *topology);

/* Whether another server may take over that has not got all that was told before: with one server once
   that has happened behind its name. NULL: no. */
bool topology_may_go_back(const struct topology *topology);

/* Whether orders are accepted only once replicas have them. NULL: no. */
bool topology_is_synced(const struct topology *topology);

#endif
