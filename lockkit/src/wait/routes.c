/*
 * See routes.h. The topology is asked without the hub's mutex.
 */
#include "routes.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum {
    PUBSUB_IDLE_MS =
        5000, /* with sharded pub/sub, a connection without channels is kept for this time */
    NO_SERVER_MS = 100, /* pause before the topology is asked again for an unknown server */
};

/* ---- connections ---------------------------------------------------------------------------------------- */

void lki_routes_set(struct lki_channel *channel, struct lki_pubsub_conn *conn)
{
    if (channel->conn && --channel->conn->channel_count == 0)
        channel->conn->idle_since = lki_clock_now();
    channel->conn = conn;
    if (conn) conn->channel_count++;
}

/* A connection was lost, with all its subscriptions, and perhaps messages. */
static void forget_subscriptions(struct lki_hub *hub, struct lki_pubsub_conn *conn)
{
    (void)pthread_mutex_lock(&hub->mutex);
    for (struct lki_channel *channel = hub->channels.newest; channel; channel = channel->older) {
        if (channel->conn != conn) continue;
        if (channel->state != CHANNEL_WANTED) lki_channel_wake(channel, SIZE_MAX);
        lki_channel_drop(channel);
        lki_routes_set(channel, NULL);
        channel->losses++;
    }
    (void)pthread_cond_broadcast(&hub->confirmed);
    hub->is_changed = true;
    (void)pthread_mutex_unlock(&hub->mutex);
}

void lki_routes_on_event(struct lki_hub *hub, struct lki_pubsub_conn *conn,
                         enum lki_pubsub_event event)
{
    switch (event) {
    case PUBSUB_UNCHANGED:
        return;
    case PUBSUB_CONNECTED:
        (void)pthread_mutex_lock(&hub->mutex);
        hub->is_changed = true;
        (void)pthread_mutex_unlock(&hub->mutex);
        return;
    case PUBSUB_LOST:
        forget_subscriptions(hub, conn);
        lki_topology_refresh_soon(hub->topology);
        return;
    }
}

void lki_routes_tick(struct lki_hub *hub)
{
    for (struct lki_pubsub_conn *conn = hub->conns; conn; conn = conn->next)
        lki_routes_on_event(hub, conn, lki_pubsub_conn_tick(conn));
}

/* Takes the reference to the node. NULL: out of memory. */
static struct lki_pubsub_conn *add_conn(struct lki_hub *hub, struct lki_node *node)
{
    struct lki_pubsub_conn *conn = lki_pubsub_conn_new(hub->options, node, hub->is_sharded);
    struct pollfd *fds = realloc(hub->fds, (hub->conn_count + 2) * sizeof *fds);

    if (fds) hub->fds = fds;
    if (!conn || !fds) {
        lki_pubsub_conn_free(conn);
        return NULL;
    }
    conn->next = hub->conns;
    hub->conns = conn;
    hub->conn_count++;
    return conn;
}

/* No channel uses it. */
static void remove_conn(struct lki_hub *hub, struct lki_pubsub_conn *conn)
{
    struct lki_pubsub_conn **place = &hub->conns;

    while (*place != conn)
        place = &(*place)->next;
    *place = conn->next;
    hub->conn_count--;
    lki_pubsub_conn_free(conn);
}

static void remove_all_conns(struct lki_hub *hub)
{
    while (hub->conns) {
        forget_subscriptions(hub, hub->conns);
        remove_conn(hub, hub->conns);
    }
}

static int64_t idle_until(const struct lki_hub *hub, const struct lki_pubsub_conn *conn)
{
    if (!hub->is_sharded || conn->channel_count > 0) return INT64_MAX;
    return conn->idle_since + PUBSUB_IDLE_MS * (int64_t)NS_PER_MS;
}

void lki_routes_prune(struct lki_hub *hub)
{
    struct lki_pubsub_conn *next = NULL;

    for (struct lki_pubsub_conn *conn = hub->conns; conn; conn = next) {
        next = conn->next;
        if (lki_clock_left_ms(idle_until(hub, conn)) == 0) remove_conn(hub, conn);
    }
}

/* ---- where channels are ----------------------------------------------------------------------------- */

/* The connection to a node, made if need be; takes the reference. NULL: out of memory. */
static struct lki_pubsub_conn *conn_to(struct lki_hub *hub, struct lki_node *node)
{
    struct lki_pubsub_conn *conn = hub->conns;

    while (conn && conn->node != node)
        conn = conn->next;
    if (!conn) {
        if (!hub->is_sharded) remove_all_conns(hub); /* those to the former primary */
        return add_conn(hub, node);
    }
    lki_node_unref(node);
    return conn;
}

/* False: no server is known for it now. */
static bool route(struct lki_hub *hub, struct lki_channel *channel)
{
    int slot = hub->is_sharded ? lki_slot_of(channel->name, strlen(channel->name)) : LKI_NO_SLOT;
    struct lki_pubsub_conn *conn = hub->is_sharded ? NULL : hub->conns;

    if (!conn || !conn->redis) { /* one connection for all channels is used as long as it is open */
        struct lki_node *node = lki_topology_node(hub->topology, slot, NULL);

        conn = node ? conn_to(hub, node) : NULL;
    }
    channel->slot = slot;
    if (conn) lki_routes_set(channel, conn);
    return conn != NULL;
}

int64_t lki_routes_find(struct lki_hub *hub)
{
    bool is_complete = true;

    (void)pthread_mutex_lock(&hub->mutex);
    struct lki_channel *channel = hub->channels.newest;
    (void)pthread_mutex_unlock(&hub->mutex);
    if (!hub->conns) hub->is_sharded = lki_topology_is_sharded(hub->topology);
    for (; channel; channel = channel->older)
        is_complete &= channel->conn || route(hub, channel);
    return is_complete ? INT64_MAX : lki_clock_after_ms(NO_SERVER_MS);
}

/* Whether the node is no longer a primary. */
static bool is_demoted(struct lki_hub *hub, const struct lki_node *node)
{
    struct lki_topology *topology = hub->topology;
    struct lki_node *primary = lki_topology_primary(topology, 0);
    bool is_any = primary != NULL;

    for (size_t i = 1; primary && primary != node; i++) {
        lki_node_unref(primary);
        primary = lki_topology_primary(topology, i);
    }
    lki_node_unref(primary);
    return is_any && !primary;
}

/* Unsubscribe a channel that has moved from its old server, if there is room for the command. Else the server ends
   the subscription, or the hub closes the connection. */
static void leave_old_server(struct lki_hub *hub, struct lki_channel *channel)
{
    struct lki_node *node = lki_topology_node(hub->topology, channel->slot, NULL);
    struct lki_pubsub_conn *old = channel->conn;

    lki_node_unref(node);
    if (!node || node == old->node) return;
    (void)pthread_mutex_lock(&hub->mutex);
    if (channel->state != CHANNEL_WANTED && lki_pubsub_conn_room(old) > 0)
        lki_pubsub_conn_unsubscribe(old, channel);
    lki_channel_drop(channel);
    hub->is_changed = true;
    (void)pthread_mutex_unlock(&hub->mutex);
    lki_routes_set(channel, NULL);
}

void lki_routes_recheck(struct lki_hub *hub)
{
    bool is_sharded = lki_topology_is_sharded(hub->topology);

    (void)pthread_mutex_lock(&hub->mutex);
    struct lki_channel *channel = hub->channels.newest;
    hub->is_changed = true;
    (void)pthread_mutex_unlock(&hub->mutex);
    if (!hub->conns) return;
    if (is_sharded != hub->is_sharded || (!is_sharded && is_demoted(hub, hub->conns->node))) {
        remove_all_conns(hub);
        return;
    }
    for (; is_sharded && channel; channel = channel->older) {
        if (channel->conn) leave_old_server(hub, channel);
    }
    lki_routes_tick(hub); /* sends the batches, which point to names of channels */
}

int64_t lki_routes_due(const struct lki_hub *hub)
{
    int64_t due = INT64_MAX;

    for (const struct lki_pubsub_conn *conn = hub->conns; conn; conn = conn->next) {
        if (lki_pubsub_conn_due(conn) < due) due = lki_pubsub_conn_due(conn);
        if (idle_until(hub, conn) < due) due = idle_until(hub, conn);
    }
    return due;
}
