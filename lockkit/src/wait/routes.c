/*
 * See routes.h. The mutex is never held when the topology is asked.
 */
#include "routes.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum {
    LINK_IDLE_MS = 5000, /* a link without channels is kept this long, where there are several */
    NO_SERVER_MS = 100,  /* before the topology is asked again for a server that it did not know */
};

/* ---- links ---------------------------------------------------------------------------------------- */

void lki_routes_set(struct lki_channel *channel, struct lki_link *link)
{
    if (channel->link && --channel->link->channel_count == 0)
        channel->link->idle_since = lki_clock_now();
    channel->link = link;
    if (link) link->channel_count++;
}

/* All subscriptions of a link are gone, and perhaps messages. */
static void forget_subscriptions(struct lki_hub *hub, struct lki_link *link)
{
    (void)pthread_mutex_lock(&hub->mutex);
    for (struct lki_channel *channel = hub->channels.newest; channel; channel = channel->older) {
        if (channel->link != link) continue;
        if (channel->state != CHANNEL_WANTED) lki_channel_wake(channel, SIZE_MAX);
        lki_channel_drop(channel);
        lki_routes_set(channel, NULL);
        channel->losses++;
    }
    (void)pthread_cond_broadcast(&hub->confirmed);
    hub->is_changed = true;
    (void)pthread_mutex_unlock(&hub->mutex);
}

void lki_routes_take_news(struct lki_hub *hub, struct lki_link *link, enum lki_link_news news)
{
    switch (news) {
    case LINK_SAME:
        return;
    case LINK_OPENED:
        (void)pthread_mutex_lock(&hub->mutex);
        hub->is_changed = true;
        (void)pthread_mutex_unlock(&hub->mutex);
        return;
    case LINK_LOST:
        forget_subscriptions(hub, link);
        lki_topology_doubt(hub->topology);
        return;
    }
}

void lki_routes_tend(struct lki_hub *hub)
{
    for (struct lki_link *link = hub->links; link; link = link->next)
        lki_routes_take_news(hub, link, lki_link_tend(link));
}

/* Takes the reference to the node. NULL: out of memory. */
static struct lki_link *add_link(struct lki_hub *hub, struct lki_node *node)
{
    struct lki_link *link = lki_link_new(hub->options, node, hub->is_sharded);
    struct pollfd *fds = realloc(hub->fds, (hub->link_count + 2) * sizeof *fds);

    if (fds) hub->fds = fds;
    if (!link || !fds) {
        lki_link_free(link);
        return NULL;
    }
    link->next = hub->links;
    hub->links = link;
    hub->link_count++;
    return link;
}

/* No channel is routed to it. */
static void remove_link(struct lki_hub *hub, struct lki_link *link)
{
    struct lki_link **place = &hub->links;

    while (*place != link)
        place = &(*place)->next;
    *place = link->next;
    hub->link_count--;
    lki_link_free(link);
}

static void remove_all_links(struct lki_hub *hub)
{
    while (hub->links) {
        forget_subscriptions(hub, hub->links);
        remove_link(hub, hub->links);
    }
}

static int64_t idle_until(const struct lki_hub *hub, const struct lki_link *link)
{
    if (!hub->is_sharded || link->channel_count > 0) return INT64_MAX;
    return link->idle_since + LINK_IDLE_MS * (int64_t)NS_PER_MS;
}

void lki_routes_prune(struct lki_hub *hub)
{
    struct lki_link *next = NULL;

    for (struct lki_link *link = hub->links; link; link = next) {
        next = link->next;
        if (lki_clock_left_ms(idle_until(hub, link)) == 0) remove_link(hub, link);
    }
}

/* ---- where channels are ----------------------------------------------------------------------------- */

/* The link to a node, made if need be; takes the reference. NULL: out of memory. */
static struct lki_link *link_to(struct lki_hub *hub, struct lki_node *node)
{
    struct lki_link *link = hub->links;

    while (link && link->node != node)
        link = link->next;
    if (!link) {
        if (!hub->is_sharded) remove_all_links(hub); /* to a server that was the primary before */
        return add_link(hub, node);
    }
    lki_node_unref(node);
    return link;
}

/* False: no server is known for it now. */
static bool route(struct lki_hub *hub, struct lki_channel *channel)
{
    int slot = hub->is_sharded ? lki_slot_of(channel->name, strlen(channel->name)) : LKI_NO_SLOT;
    struct lki_link *link = hub->is_sharded ? NULL : hub->links;

    if (!link || !link->redis) { /* where there is one for all, it serves as long as it holds */
        struct lki_node *node = lki_topology_node(hub->topology, slot, NULL);

        link = node ? link_to(hub, node) : NULL;
    }
    channel->slot = slot;
    if (link) lki_routes_set(channel, link);
    return link != NULL;
}

int64_t lki_routes_find(struct lki_hub *hub)
{
    bool is_complete = true;

    (void)pthread_mutex_lock(&hub->mutex);
    struct lki_channel *channel = hub->channels.newest;
    (void)pthread_mutex_unlock(&hub->mutex);
    if (!hub->links) hub->is_sharded = lki_topology_is_sharded(hub->topology);
    for (; channel; channel = channel->older)
        is_complete &= channel->link || route(hub, channel);
    return is_complete ? INT64_MAX : lki_clock_after_ms(NO_SERVER_MS);
}

/* Whether the one link leads to a server that does not take writes any more. */
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

/* A channel goes to another server. The old one is told so, unless it is too busy: it is sure to end
   the subscription itself, or we the link. */
static void leave_old_server(struct lki_hub *hub, struct lki_channel *channel)
{
    struct lki_node *node = lki_topology_node(hub->topology, channel->slot, NULL);
    struct lki_link *old = channel->link;

    lki_node_unref(node);
    if (!node || node == old->node) return;
    (void)pthread_mutex_lock(&hub->mutex);
    if (channel->state != CHANNEL_WANTED && lki_link_room(old) > 0)
        lki_link_unsubscribe(old, channel);
    lki_channel_drop(channel);
    hub->is_changed = true;
    (void)pthread_mutex_unlock(&hub->mutex);
    lki_routes_set(channel, NULL);
}

void lki_routes_look_again(struct lki_hub *hub)
{
    bool is_sharded = lki_topology_is_sharded(hub->topology);

    (void)pthread_mutex_lock(&hub->mutex);
    struct lki_channel *channel = hub->channels.newest;
    hub->is_changed = true;
    (void)pthread_mutex_unlock(&hub->mutex);
    if (!hub->links) return;
    if (is_sharded != hub->is_sharded || (!is_sharded && is_demoted(hub, hub->links->node))) {
        remove_all_links(hub);
        return;
    }
    for (; is_sharded && channel; channel = channel->older) {
        if (channel->link) leave_old_server(hub, channel);
    }
    lki_routes_tend(hub); /* sends what is to be sent, before a channel vanishes with its name */
}

int64_t lki_routes_due(const struct lki_hub *hub)
{
    int64_t due = INT64_MAX;

    for (const struct lki_link *link = hub->links; link; link = link->next) {
        if (lki_link_due(link) < due) due = lki_link_due(link);
        if (idle_until(hub, link) < due) due = idle_until(hub, link);
    }
    return due;
}
