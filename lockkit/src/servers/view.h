/*
 * A view: the topology as one server knows it. Each call makes a connection and closes it.
 */
#ifndef LKI_VIEW_H
#define LKI_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slot.h"
#include "wire/url.h"

/* The servers that take writes, according to one of them or a Sentinel. */
struct lki_view {
    struct lki_endpoint *servers; /* owned; no two with one label */
    size_t count;
    uint16_t
        *owners;     /* owned; per slot the index of its server, or LKI_NO_SERVER; NULL: no slots */
    bool is_sharded; /* the cluster has SPUBLISH */
    long long version; /* of a Sentinel's configuration: it only grows */
};

enum { LKI_NO_SERVER = UINT16_MAX, LKI_SERVERS_MAX = 1024 };

/*
 * Ask a Sentinel for the primary called url->name.
 *
 * Owns     *out is initialised in any case; end it with lki_view_done().
 * Returns  OK; UNREACHABLE; SERVER: it knows no such primary, or refuses us; NO_MEMORY
 * Source   redis.io, "Guidelines for Redis clients with support for Redis Sentinel"
 */
LK_MUST_CHECK lk_status lki_sentinel_ask(const struct lki_endpoint *sentinel,
                                         const struct lki_url *url, int64_t deadline,
                                         struct lki_view *out, struct lk_error *err);

/*
 * Ask a server of a cluster for all masters and their slots.
 *
 * Owns     as lki_sentinel_ask()
 * Returns  OK; UNREACHABLE; SERVER: it is not part of a cluster, or refuses us; NO_MEMORY
 * Source   CLUSTER SLOTS; PUBSUB SHARDNUMSUB as Redisson's rule "AUTO" probes it.
 */
LK_MUST_CHECK lk_status lki_cluster_ask(const struct lki_endpoint *server,
                                        const struct lki_url *url, int64_t deadline,
                                        struct lki_view *out, struct lk_error *err);

void lki_view_done(struct lki_view *view);

#endif
