/*
 * The servers of a client, and which of them has a key: a single server, the primary that Sentinel names, or
 * the masters of a cluster.
 */
#ifndef LKI_TOPOLOGY_H
#define LKI_TOPOLOGY_H

#include "base/slot.h"
#include "wire/node.h"

struct lki_url;
struct lki_topology;

/*
 * on_change: another server is the primary, or behind a name; or slots have moved. Called without a mutex, on
 * any thread.
 *
 * Owns     borrows the client's options and its URL, which outlive it.
 */
struct lki_topology *lki_topology_new(const struct lk_client_options *options,
                                      const struct lki_url *url, void (*on_change)(void *arg),
                                      void *on_change_arg, struct lk_error *err);
/* All references to nodes were given back, and lki_topology_refresh_main() has returned. */
void lki_topology_free(struct lki_topology *topology);

void lki_topology_stop(struct lki_topology *topology);
/* After the refreshing thread was joined: stop and join those of the pools. */
void lki_topology_join(struct lki_topology *topology);

/*
 * The server that has a slot; for LKI_NO_SLOT, or without a cluster, one that takes writes.
 *
 * Owns     the reference is yours: lki_node_unref().
 * Returns  NULL with UNREACHABLE: none is known.
 */
struct lki_node *lki_topology_node(struct lki_topology *topology, int slot, struct lk_error *err);
/* The n-th server that takes writes; NULL past the last. */
struct lki_node *lki_topology_primary(struct lki_topology *topology, size_t index);

/* Request a refresh, after something that does not fit the topology (a refusal, a broken connection). */
void lki_topology_refresh_soon(struct lki_topology *topology);
/* A server has answered that a slot is at "host:port" now ("MOVED 12 127.0.0.1:7001"). */
void lki_topology_moved(struct lki_topology *topology, int slot, struct lk_bytes address,
                        const struct lki_node *named_by);
/* The server at "host:port", which is added if it is not known; as lki_topology_node(). */
struct lki_node *lki_topology_at(struct lki_topology *topology, struct lk_bytes address,
                                 const struct lki_node *named_by, struct lk_error *err);

/* Pass a pending undo to the pool of the server that has its first key now; arg: the topology. Takes the undo. */
void lki_topology_undo_later(void *arg, struct lki_pending_undo *undo);
bool lki_topology_has_pending_undo(struct lki_topology *topology);

/* Whether a server is unreachable, or none is known. */
bool lki_topology_is_degraded(struct lki_topology *topology);

bool lki_topology_is_cluster(const struct lki_topology *topology);
/* Whether it uses sharded pub/sub (SPUBLISH, SSUBSCRIBE): a cluster of Redis 7 or later. */
bool lki_topology_is_sharded(const struct lki_topology *topology);

/* Grows whenever the servers or their slots change. */
unsigned long lki_topology_epoch(const struct lki_topology *topology);

/* The sum over the pools of all servers. */
void lki_topology_usage(struct lki_topology *topology, struct lk_pool_usage *out);

#endif
