/*
 * See lk_fleet.h. The calls come from the thread under test, the orders from the test's.
 */
#include "lk_fleet.h"

#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/error.h"
#include "servers/topology.h"

static struct {
    struct lki_node nodes[LKS_FLEET];
    size_t count;
    bool is_cluster;
    atomic_bool is_out[LKS_FLEET];
    atomic_bool is_lost;
    _Atomic unsigned char owners[LKI_SLOTS];
    atomic_ulong epoch;
    atomic_int refreshes;
    atomic_int askings;
    atomic_int looks;
    atomic_int sent[LKS_FLEET];
    atomic_size_t liar;
    atomic_int lies_left;
    char lie[160];
} fleet;

struct lki_topology *lks_fleet_topology(void)
{
    return (struct lki_topology *)(void *)&fleet;
}

static bool is_ours(const struct lki_topology *topology)
{
    return (const void *)topology == &fleet;
}

static struct lki_node *ref(size_t i)
{
    atomic_fetch_add(&fleet.nodes[i].references, 1);
    return &fleet.nodes[i];
}

/* ---- the topology ---------------------------------------------------------------------------------- */

FAKE(struct lki_node *, lki_topology_node, struct lki_topology *topology, int slot,
     struct lk_error *err)
{
    if (!is_ours(topology)) return __real_lki_topology_node(topology, slot, err);
    atomic_fetch_add(&fleet.looks, 1);
    if (atomic_load(&fleet.is_lost)) {
        (void)LKI_FAIL(err, LK_UNREACHABLE, "nobody");
        return NULL;
    }
    return ref(atomic_load(&fleet.owners[fleet.is_cluster ? slot : 0]));
}

FAKE(struct lki_node *, lki_topology_primary, struct lki_topology *topology, size_t index)
{
    if (!is_ours(topology)) return __real_lki_topology_primary(topology, index);
    for (size_t i = 0; i < fleet.count; i++) {
        if (!atomic_load(&fleet.is_out[i]) && index-- == 0) return ref(i);
    }
    return NULL;
}

/* Their labels are their addresses. */
static size_t node_at(struct lk_bytes address)
{
    size_t i = 0;

    while (i < fleet.count &&
           strncmp(fleet.nodes[i].endpoint.label, address.data, address.len) != 0)
        i++;
    return i;
}

FAKE(struct lki_node *, lki_topology_at, struct lki_topology *topology, struct lk_bytes address,
     const struct lki_node *told_by, struct lk_error *err)
{
    if (!is_ours(topology)) return __real_lki_topology_at(topology, address, told_by, err);
    size_t i = node_at(address);
    return i < fleet.count ? ref(i) : NULL;
}

FAKE(void, lki_topology_moved, struct lki_topology *topology, int slot, struct lk_bytes address,
     const struct lki_node *told_by)
{
    if (!is_ours(topology)) {
        __real_lki_topology_moved(topology, slot, address, told_by);
    } else if (node_at(address) < fleet.count) {
        lks_fleet_move(slot, node_at(address));
    }
}

FAKE(void, lki_topology_refresh_soon, struct lki_topology *topology)
{
    if (is_ours(topology)) {
        atomic_fetch_add(&fleet.refreshes, 1);
    } else {
        __real_lki_topology_refresh_soon(topology);
    }
}

FAKE(unsigned long, lki_topology_epoch, const struct lki_topology *topology)
{
    return is_ours(topology) ? atomic_load(&fleet.epoch) : __real_lki_topology_epoch(topology);
}

FAKE(bool, lki_topology_is_cluster, const struct lki_topology *topology)
{
    return is_ours(topology) ? fleet.is_cluster : __real_lki_topology_is_cluster(topology);
}

FAKE(void, lki_node_unref, struct lki_node *node)
{
    if (node >= fleet.nodes && node < fleet.nodes + LKS_FLEET) {
        atomic_fetch_sub(&node->references, 1);
    } else {
        __real_lki_node_unref(node);
    }
}

/* ---- lies ------------------------------------------------------------------------------------------- */

/* LKS_FLEET: to none of them. */
static size_t receiver_of(struct lki_redis *redis)
{
    struct sockaddr_un peer = {0};
    socklen_t len = sizeof peer;
    size_t i = 0;

    (void)getpeername(lki_redis_fd(redis), (struct sockaddr *)(void *)&peer, &len);
    while (i < fleet.count && strcmp(peer.sun_path, fleet.nodes[i].endpoint.path) != 0)
        i++;
    return i < fleet.count ? i : LKS_FLEET;
}

static bool take_lie(size_t node)
{
    int left = node == atomic_load(&fleet.liar) ? atomic_load(&fleet.lies_left) : 0;

    while (left > 0 && !atomic_compare_exchange_weak(&fleet.lies_left, &left, left - 1)) {}
    return left > 0;
}

FAKE(lk_status, lki_redis_send, struct lki_redis *redis, const struct lk_command *commands,
     size_t count, int64_t deadline, struct lk_error *err)
{
    for (size_t i = 0; i < count; i++)
        atomic_fetch_add(&fleet.askings, strncmp(commands[i].args[0].data, "ASKING", 6) == 0);
    const struct lk_bytes words[] = {LK_BYTES("EVAL"),
                                     LK_BYTES("return redis.error_reply(ARGV[1])"), LK_BYTES("0"),
                                     lk_bytes_of(fleet.lie)};
    size_t node = receiver_of(redis);
    struct lk_command *lies = take_lie(node) ? calloc(count + 1, sizeof *lies) : NULL;

    for (size_t i = 0; i < count && lies; i++)
        lies[i] = (struct lk_command){words, 4};
    lk_status status = __real_lki_redis_send(redis, lies ? lies : commands, count, deadline, err);
    free(lies);
    if (node < LKS_FLEET) atomic_fetch_add(&fleet.sent[node], 1);
    return status;
}

/* ---- what tests call --------------------------------------------------------------------------------- */

void lks_fleet_start(struct lks_server *const *servers, size_t count, bool is_cluster)
{
    struct lk_error err = {0};
    size_t owner = 0;

    fleet.count = count;
    fleet.is_cluster = is_cluster;
    for (size_t i = 0; i < count; i++) {
        if (lki_endpoint_parse(servers[i]->url, NULL, &fleet.nodes[i].endpoint, &err) != LK_OK)
            fail_msg("%s", err.text);
        atomic_store(&fleet.is_out[i], false);
    }
    for (size_t slot = 0; slot < LKI_SLOTS; slot++) {
        atomic_store(&fleet.owners[slot], (unsigned char)owner);
        if (is_cluster) owner = owner + 1 < count ? owner + 1 : 0;
    }
    atomic_store(&fleet.is_lost, false);
    atomic_store(&fleet.refreshes, 0);
    atomic_store(&fleet.askings, 0);
    atomic_store(&fleet.looks, 0);
    atomic_store(&fleet.lies_left, 0);
}

bool lks_fleet_stop(void)
{
    bool is_clean = true;

    for (size_t i = 0; i < fleet.count; i++) {
        is_clean &= atomic_load(&fleet.nodes[i].references) == 0;
        lki_endpoint_done(&fleet.nodes[i].endpoint);
    }
    fleet.count = 0;
    return is_clean;
}

unsigned long lks_fleet_references(size_t node)
{
    return atomic_load(&fleet.nodes[node].references);
}

int lks_fleet_refreshes(void)
{
    return atomic_load(&fleet.refreshes);
}

int lks_fleet_askings(void)
{
    return atomic_load(&fleet.askings);
}

int lks_fleet_looks(void)
{
    return atomic_load(&fleet.looks);
}

int lks_fleet_sent(size_t node)
{
    return atomic_load(&fleet.sent[node]);
}

void lks_fleet_move(int slot, size_t node)
{
    atomic_store(&fleet.owners[slot], (unsigned char)node);
}

void lks_fleet_fail_over(size_t from, size_t to)
{
    for (size_t slot = 0; slot < LKI_SLOTS; slot++)
        atomic_store(&fleet.owners[slot], (unsigned char)to);
    atomic_store(&fleet.is_out[from], true);
    atomic_fetch_add(&fleet.epoch, 1);
}

void lks_fleet_lose(bool is_lost)
{
    atomic_store(&fleet.is_lost, is_lost);
}

void lks_fleet_lie(size_t node, const char *error, size_t other, int times)
{
    const char *gap = strstr(error, "%s");

    atomic_store(&fleet.lies_left, 0);
    (void)snprintf(fleet.lie, sizeof fleet.lie, "%.*s%s", gap ? (int)(gap - error) : 100, error,
                   gap ? fleet.nodes[other].endpoint.label : "");
    atomic_store(&fleet.liar, node);
    atomic_store(&fleet.lies_left, times);
}

int lks_fleet_lies_left(void)
{
    return atomic_load(&fleet.lies_left);
}
