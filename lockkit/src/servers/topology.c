/*
 * The list of servers and the table of slots. A server that is no longer listed is retired: its connections
 * are shut down, so that no command goes to a demoted primary.
 *
 * Threads: any. Lock order: while this mutex is held, only those of the pools are taken.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "topology_internal.h"

enum { NEW_MS = 10000 };

static void poke(struct lki_topology *topology)
{
    uint64_t one = 1;
    ssize_t done = write(topology->poke_fd, &one, sizeof one);

    (void)done; /* a full counter wakes, too */
}

void lki_topology_refresh_soon(struct lki_topology *topology)
{
    if (!atomic_exchange(&topology->is_refresh_due, true)) poke(topology);
}

void lki_topology_notify_change(void *arg)
{
    struct lki_topology *topology = arg;
    const struct lk_client_options *options = topology->options;
    struct lki_node *node = lki_topology_primary(topology, 0);

    atomic_fetch_add(&topology->epoch, 1);
    options->on_event(&(struct lk_event){.type = LK_EVENT_TOPOLOGY,
                                         .at_ns = lki_clock_now(),
                                         .key = node ? node->endpoint.label : NULL},
                      options->on_event_arg);
    lki_node_unref(node);
    topology->on_change(topology->on_change_arg);
}

/* The index of the node with this label, or the number of nodes. */
static size_t find_locked(const struct lki_topology *topology, const char *label)
{
    size_t i = 0;

    while (i < topology->node_count && strcmp(topology->nodes[i]->endpoint.label, label) != 0)
        i++;
    return i;
}

/* Make room for one more; false: no memory. */
static bool grow(struct lki_node ***list, size_t count)
{
    struct lki_node **more = realloc(*list, (count + 1) * sizeof(struct lki_node *));

    if (more) *list = more;
    return more != NULL;
}

/* The index of a server, which is added if it is not known; takes the endpoint. LKI_NO_SERVER: no memory. */
static uint16_t add_locked(struct lki_topology *topology, struct lki_endpoint endpoint)
{
    size_t place = find_locked(topology, endpoint.label);

    if (place < topology->node_count) {
        lki_endpoint_done(&endpoint);
        return (uint16_t)place;
    }
    if (place >= LKI_SERVERS_MAX || !grow(&topology->nodes, place)) {
        lki_endpoint_done(&endpoint);
        return LKI_NO_SERVER;
    }
    topology->nodes[place] =
        lki_node_new(endpoint, topology->options,
                     (struct lki_pool_hooks){.on_renewed = lki_topology_notify_change,
                                             .on_undo_moved = lki_topology_undo_later,
                                             .arg = topology});
    if (!topology->nodes[place]) return LKI_NO_SERVER;
    topology->node_count++;
    return (uint16_t)place;
}

static void retire_locked(struct lki_topology *topology, struct lki_node *node)
{
    lki_pool_retire(node->pool);
    if (grow(&topology->retired, topology->retired_count))
        topology->retired[topology->retired_count++] = node; /* without memory it is never freed */
}

void lki_topology_reap(struct lki_topology *topology)
{
    struct lki_node *free_now = NULL;

    do {
        free_now = NULL;
        (void)pthread_mutex_lock(&topology->mutex);
        for (size_t i = 0; i < topology->retired_count && !free_now; i++) {
            if (atomic_load(&topology->retired[i]->references) > 1) continue;
            free_now = topology->retired[i];
            topology->retired[i] = topology->retired[--topology->retired_count];
        }
        (void)pthread_mutex_unlock(&topology->mutex);
        if (free_now) {
            lki_node_stop(free_now);
            lki_node_free(free_now);
        }
    } while (free_now);
}

/* ---- nodes and slots ---------------------------------------------------------------------------- */

/* The first node that is not down, or the first. */
static struct lki_node *any_locked(const struct lki_topology *topology)
{
    for (size_t i = 0; i < topology->node_count; i++) {
        if (!lki_pool_is_down(topology->nodes[i]->pool)) return topology->nodes[i];
    }
    return topology->node_count > 0 ? topology->nodes[0] : NULL;
}

struct lki_node *lki_topology_node(struct lki_topology *topology, int slot, struct lk_error *err)
{
    struct lki_node *node = NULL;

    (void)pthread_mutex_lock(&topology->mutex);
    if (!topology->owners || slot == LKI_NO_SLOT) {
        node = any_locked(topology);
    } else if (topology->owners[slot] != LKI_NO_SERVER) {
        node = topology->nodes[topology->owners[slot]];
    }
    if (node) (void)lki_node_ref(node);
    (void)pthread_mutex_unlock(&topology->mutex);
    if (node) return node;
    lki_topology_refresh_soon(topology);
    (void)LKI_FAIL(err, LK_UNREACHABLE,
                   slot == LKI_NO_SLOT ? "no server is known that takes writes"
                                       : "no server is known for slot %d",
                   slot);
    return NULL;
}

struct lki_node *lki_topology_primary(struct lki_topology *topology, size_t index)
{
    struct lki_node *node = NULL;

    (void)pthread_mutex_lock(&topology->mutex);
    if (index < topology->node_count) node = lki_node_ref(topology->nodes[index]);
    (void)pthread_mutex_unlock(&topology->mutex);
    return node;
}

struct lki_node *lki_topology_at(struct lki_topology *topology, struct lk_bytes address,
                                 const struct lki_node *named_by, struct lk_error *err)
{
    struct lki_endpoint endpoint;
    struct lki_node *node = NULL;

    if (lki_endpoint_at(address, &topology->url->like, &named_by->endpoint, &endpoint, err) !=
        LK_OK) {
        lki_endpoint_done(&endpoint);
        return NULL;
    }
    (void)pthread_mutex_lock(&topology->mutex);
    uint16_t place = add_locked(topology, endpoint);
    if (place != LKI_NO_SERVER) {
        node = lki_node_ref(topology->nodes[place]);
        node->named_at = lki_clock_now();
    }
    (void)pthread_mutex_unlock(&topology->mutex);
    if (!node) (void)LKI_FAIL(err, LK_NO_MEMORY, "a server");
    return node;
}

void lki_topology_moved(struct lki_topology *topology, int slot, struct lk_bytes address,
                        const struct lki_node *named_by)
{
    struct lki_node *node = NULL;
    bool is_news = false;

    if (!lki_topology_is_cluster(topology))
        return; /* a server of a cluster, with the URL of a single server */
    node = lki_topology_at(topology, address, named_by, NULL);
    if (!node) return;
    (void)pthread_mutex_lock(&topology->mutex);
    size_t place = find_locked(topology, node->endpoint.label);
    if (topology->owners && place < topology->node_count) {
        is_news = topology->owners[slot] != place;
        topology->owners[slot] = (uint16_t)place;
        topology->has_moved |= is_news;
    }
    (void)pthread_mutex_unlock(&topology->mutex);
    lki_node_unref(node);
    if (is_news) lki_topology_refresh_soon(topology); /* other slots have probably moved, too */
}

void lki_topology_undo_later(void *arg, struct lki_pending_undo *undo)
{
    struct lki_topology *topology = arg;
    const struct lk_bytes *key = &undo->request->words[LKI_FIRST_KEY];
    int slot = lki_topology_is_cluster(topology) ? lki_slot_of(key->data, key->len) : LKI_NO_SLOT;
    struct lki_node *node = lki_topology_node(topology, slot, NULL);

    if (node) {
        lki_pool_undo_later(node->pool, undo);
    } else {
        lki_pending_undo_free(undo);
    }
    lki_node_unref(node);
}

bool lki_topology_has_pending_undo(struct lki_topology *topology)
{
    bool is_any = false;

    (void)pthread_mutex_lock(&topology->mutex);
    for (size_t i = 0; i < topology->node_count; i++)
        is_any |= lki_pool_has_pending_undo(topology->nodes[i]->pool);
    for (size_t i = 0; i < topology->retired_count; i++)
        is_any |= lki_pool_has_pending_undo(topology->retired[i]->pool);
    (void)pthread_mutex_unlock(&topology->mutex);
    return is_any;
}

bool lki_topology_is_cluster(const struct lki_topology *topology)
{
    return topology->url->kind == LKI_URL_CLUSTER;
}

bool lki_topology_is_sharded(const struct lki_topology *topology)
{
    return atomic_load(&topology->is_sharded);
}

unsigned long lki_topology_epoch(const struct lki_topology *topology)
{
    return atomic_load(&topology->epoch);
}

void lki_topology_usage(struct lki_topology *topology, struct lk_pool_usage *out)
{
    *out = (struct lk_pool_usage){0};
    (void)pthread_mutex_lock(&topology->mutex);
    for (size_t i = 0; i < topology->node_count; i++) {
        struct lk_pool_usage one = {0};

        lki_pool_usage(topology->nodes[i]->pool, &one);
        out->open += one.open;
        out->busy += one.busy;
        out->max += one.max;
        out->reconnects += one.reconnects;
    }
    (void)pthread_mutex_unlock(&topology->mutex);
}

/* ---- refreshes ---------------------------------------------------------------------------------- */

/* Redirections name a master that gets its first slots long before it is listed. */
static bool is_new(const struct lki_node *node)
{
    return !node->is_listed && lki_clock_now() < node->named_at + (int64_t)NEW_MS * NS_PER_MS;
}

/* Retire those that are not in the view any more. */
static bool drop_missing_locked(struct lki_topology *topology, const uint16_t *places, size_t count)
{
    size_t kept = 0;
    bool is_any = false;

    for (size_t i = 0; i < topology->node_count; i++) {
        bool is_seen = false;

        for (size_t k = 0; k < count; k++)
            is_seen |= places[k] == i;
        topology->nodes[i]->is_listed |= is_seen;
        if (is_seen || is_new(topology->nodes[i])) {
            topology->nodes[kept++] = topology->nodes[i];
        } else {
            retire_locked(topology, topology->nodes[i]);
            is_any = true;
        }
    }
    topology->node_count = kept;
    return is_any;
}

/* Translate the owners of slots from indexes of the view to those of nodes, after drop_missing_locked(). places: room
   for the number of servers. */
static void take_owners_locked(struct lki_topology *topology, struct lki_view *view,
                               struct lki_node *const *servers, uint16_t *places)
{
    for (size_t i = 0; i < view->count; i++)
        places[i] = (uint16_t)find_locked(topology, servers[i]->endpoint.label);
    for (size_t slot = 0; slot < LKI_SLOTS; slot++) {
        uint16_t index = view->owners[slot];

        if (index != LKI_NO_SERVER) view->owners[slot] = places[index];
    }
}

bool lki_topology_apply(struct lki_topology *topology, struct lki_view *view)
{
    uint16_t *places = calloc(view->count, sizeof *places);
    struct lki_node **servers = calloc(view->count, sizeof(struct lki_node *));
    bool is_news = false;
    bool is_whole = places && servers;

    (void)pthread_mutex_lock(&topology->mutex);
    size_t before = topology->node_count;
    for (size_t i = 0; i < view->count && is_whole; i++) {
        places[i] = add_locked(topology, view->servers[i]);
        view->servers[i] = (struct lki_endpoint){0};
        is_whole = places[i] != LKI_NO_SERVER;
        if (is_whole) servers[i] = topology->nodes[places[i]];
    }
    if (is_whole) {
        is_news = topology->node_count != before || topology->has_moved;
        topology->has_moved = false;
        is_news |= drop_missing_locked(topology, places, view->count);
        if (view->owners) {
            take_owners_locked(topology, view, servers, places);
            is_news |= !topology->owners || memcmp(topology->owners, view->owners,
                                                   LKI_SLOTS * sizeof *view->owners) != 0;
            free(topology->owners);
            topology->owners = view->owners;
            view->owners = NULL;
        }
        topology->version = view->version;
        if (!topology->is_open) atomic_store(&topology->is_sharded, view->is_sharded);
    }
    (void)pthread_mutex_unlock(&topology->mutex);
    free(servers);
    free(places);
    return is_news && topology->is_open;
}

bool lki_topology_candidate(struct lki_topology *topology, size_t index, struct lki_endpoint *out)
{
    const struct lki_url *url = topology->url;
    const struct lki_endpoint *from = NULL;
    size_t known = 0;
    bool is_there = false;

    (void)pthread_mutex_lock(&topology->mutex);
    if (url->kind == LKI_URL_CLUSTER) known = topology->node_count;
    if (index < known) {
        from = &topology->nodes[(topology->first_candidate + index) % known]->endpoint;
    } else if (index - known < url->seed_count) {
        from = &url->seeds[(topology->first_candidate + index - known) % url->seed_count];
    }
    is_there = from && lki_endpoint_copy(from, out) == LK_OK;
    (void)pthread_mutex_unlock(&topology->mutex);
    return is_there;
}

bool lki_topology_is_degraded(struct lki_topology *topology)
{
    (void)pthread_mutex_lock(&topology->mutex);
    bool is_any_down = topology->node_count == 0;
    for (size_t i = 0; i < topology->node_count; i++)
        is_any_down |= lki_pool_is_down(topology->nodes[i]->pool);
    (void)pthread_mutex_unlock(&topology->mutex);
    return is_any_down;
}

/* ---- life ------------------------------------------------------------------------------------------- */

void lki_topology_stop(struct lki_topology *topology)
{
    atomic_store(&topology->is_stopping, true);
    poke(topology);
}

void lki_topology_join(struct lki_topology *topology)
{
    for (size_t i = 0; i < topology->node_count; i++)
        lki_pool_stop(topology->nodes[i]->pool);
    for (size_t i = 0; i < topology->node_count; i++)
        lki_node_stop(topology->nodes[i]);
    for (size_t i = 0; i < topology->retired_count; i++)
        lki_node_stop(topology->retired[i]);
}

struct lki_topology *lki_topology_new(const struct lk_client_options *options,
                                      const struct lki_url *url, void (*on_change)(void *arg),
                                      void *on_change_arg, struct lk_error *err)
{
    struct lki_topology *topology = calloc(1, sizeof *topology);

    if (!topology) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "the topology");
        return NULL;
    }
    topology->options = options;
    topology->url = url;
    topology->on_change = on_change;
    topology->on_change_arg = on_change_arg;
    (void)pthread_mutex_init(&topology->mutex, NULL);
    topology->poke_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (topology->poke_fd >= 0) return topology;
    (void)LKI_FAIL_ERRNO(err, LK_NO_MEMORY, "eventfd");
    lki_topology_free(topology);
    return NULL;
}

void lki_topology_free(struct lki_topology *topology)
{
    if (!topology) return;
    for (size_t i = 0; i < topology->node_count; i++)
        lki_node_free(topology->nodes[i]);
    for (size_t i = 0; i < topology->retired_count; i++)
        lki_node_free(topology->retired[i]);
    free(topology->nodes);
    free(topology->retired);
    free(topology->owners);
    lki_redis_close(topology->listener);
    if (topology->poke_fd >= 0) (void)close(topology->poke_fd);
    (void)pthread_mutex_destroy(&topology->mutex);
    free(topology);
}
