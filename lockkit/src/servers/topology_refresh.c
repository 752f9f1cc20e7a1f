/*
 * The thread that refreshes the topology: periodically, after a message of a Sentinel, and on request. The
 * first answer counts. The Sentinel that answered last is asked first, and a configuration older than the
 * known one is ignored. Known servers of a cluster are asked before those of the URL, which may have other
 * names for the same servers.
 */
#include "topology_refresh.h"

#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "topology_internal.h"
#include "wire/script.h"

enum {
    DEGRADED_TICK_MS = 100,     /* interval while a server is unreachable, or a refresh is due */
    SENTINELS_AGREE_MS = 10000, /* time after which all Sentinels know of a failover */
};

/* A single server is a topology of one. */
static lk_status copy_server(const struct lki_endpoint *server, const struct lki_url *url,
                             int64_t deadline, struct lki_view *out, struct lk_error *err)
{
    (void)url;
    (void)deadline;
    *out = (struct lki_view){.servers = calloc(1, sizeof *out->servers)};
    if (!out->servers || lki_endpoint_copy(server, out->servers) != LK_OK)
        return LKI_FAIL(err, LK_NO_MEMORY, "a server");
    out->count = 1;
    return LK_OK;
}

static const struct {
    lk_status (*ask)(const struct lki_endpoint *server, const struct lki_url *url, int64_t deadline,
                     struct lki_view *out, struct lk_error *err);
    int64_t tick_ms; /* interval of refreshes; 0: none */
} kinds[] = {
    [LKI_URL_SINGLE] = {copy_server, 0},
    [LKI_URL_SENTINEL] = {lki_sentinel_ask, 1000},
    [LKI_URL_CLUSTER] = {lki_cluster_ask, 5000},
};

static lk_status ask(struct lki_topology *topology, const struct lki_endpoint *server,
                     struct lki_view *out, struct lk_error *err)
{
    int64_t deadline = lki_clock_after_ms(topology->options->connect_ms);
    lk_status status = kinds[topology->url->kind].ask(server, topology->url, deadline, out, err);

    if (status == LK_OK && out->version < topology->version)
        return LKI_FAIL(err, LK_UNREACHABLE, "Sentinel %s is behind the others", server->label);
    if (status == LK_OK) topology->confirmed_at = lki_clock_now();
    return status;
}

/* If all Sentinels have an older configuration than the known one, they were set up again, and count from the
   beginning. */
static void forget_version(struct lki_topology *topology, size_t behind)
{
    int64_t agreed_at = topology->confirmed_at + (int64_t)SENTINELS_AGREE_MS * NS_PER_MS;

    if (behind == topology->url->seed_count && lki_clock_now() >= agreed_at)
        topology->version = LLONG_MIN;
}

lk_status lki_topology_refresh(struct lki_topology *topology, struct lk_error *err)
{
    struct lki_endpoint server = {0};
    struct lk_error why = {0};
    lk_status status = LKI_FAIL(&why, LK_UNREACHABLE, "nobody to ask");
    size_t behind = 0;

    atomic_store(&topology->is_refresh_due, false);
    for (size_t i = 0; status != LK_OK && !atomic_load(&topology->is_stopping) &&
                       lki_topology_candidate(topology, i, &server);
         i++) {
        struct lki_view view = {0};

        status = ask(topology, &server, &view, &why);
        lki_endpoint_done(&server);
        if (status == LK_OK) {
            topology->first_candidate += i;
            if (lki_topology_apply(topology, &view)) lki_topology_notify_change(topology);
        }
        behind += status != LK_OK && view.count > 0;
        lki_view_done(&view);
    }
    forget_version(topology, behind);
    /* A cluster's server may be cut off from the others and not know it: ask another next time. */
    if (lki_topology_is_cluster(topology)) topology->first_candidate++;
    if (err && status != LK_OK) *err = why; /* failures before a success do not count */
    return status;
}

/* ---- the thread --------------------------------------------------------------------------------- */

/* Subscribe to failovers at the Sentinel that answered. Only a hint: a failure is repeated at the next turn. */
static void listen_to_sentinel(struct lki_topology *topology)
{
    const struct lki_url *url = topology->url;
    const struct lk_bytes words[] = {LK_BYTES("SUBSCRIBE"), LK_BYTES("+switch-master")};
    int64_t deadline = lki_clock_after_ms(topology->options->connect_ms);

    size_t seed = topology->first_candidate % url->seed_count;

    if (url->kind != LKI_URL_SENTINEL || atomic_load(&topology->is_stopping)) return;
    if (topology->listener && topology->listener_seed == seed) return;
    lki_redis_close(topology->listener); /* another one answers now: this one may never come back */
    topology->listener_seed = seed;
    topology->listener = lki_redis_open(&url->seeds[seed], deadline, NULL);
    if (!topology->listener) return;
    if (lki_redis_send(topology->listener, &(struct lk_command){words, 2}, 1, deadline, NULL) ==
        LK_OK)
        return;
    lki_redis_close(topology->listener);
    topology->listener = NULL;
}

/* Read the Sentinel's messages, which make a refresh due. */
static void read_sentinel(struct lki_topology *topology)
{
    lk_reply *message = NULL;

    if (!topology->listener) return;
    do {
        if (lki_redis_receive(topology->listener, &message, NULL) != LK_OK) {
            lki_redis_close(topology->listener);
            topology->listener = NULL;
            return;
        }
        struct lk_bytes kind = lk_reply_bytes(lk_reply_at(message, 0));
        if (kind.data && strcmp(kind.data, "message") == 0)
            atomic_store(&topology->is_refresh_due, true);
        lk_reply_free(message);
    } while (message);
}

/* Sleep until a refresh is due, which is not before DEGRADED_TICK_MS after the last one. */
static void sleep_until_next(struct lki_topology *topology, int64_t refreshed_at)
{
    int64_t tick_ms = kinds[topology->url->kind].tick_ms;
    int64_t earliest = refreshed_at + (int64_t)DEGRADED_TICK_MS * NS_PER_MS;
    int64_t latest =
        lki_topology_is_degraded(topology) ? earliest : refreshed_at + tick_ms * NS_PER_MS;

    while (!atomic_load(&topology->is_stopping)) {
        int64_t until = atomic_load(&topology->is_refresh_due) ? earliest : latest;
        struct pollfd fds[] = {
            {.fd = topology->poke_fd, .events = POLLIN},
            {.fd = topology->listener ? lki_redis_fd(topology->listener) : -1, .events = POLLIN}};
        uint64_t pokes = 0;

        if (lki_clock_left_ms(until) == 0) return;
        (void)poll(fds, 2, lki_clock_left_ms(until));
        ssize_t got = read(topology->poke_fd, &pokes, sizeof pokes);
        (void)got; /* empty: it was something else that woke us */
        read_sentinel(topology);
    }
}

void *lki_topology_refresh_main(void *arg)
{
    struct lki_topology *topology = arg;
    bool is_needed = kinds[topology->url->kind].tick_ms > 0;

    topology->is_open = true;
    while (is_needed && !atomic_load(&topology->is_stopping)) {
        int64_t refreshed_at = lki_clock_now();

        (void)lki_topology_refresh(topology, NULL);
        lki_topology_reap(topology);
        listen_to_sentinel(topology);
        sleep_until_next(topology, refreshed_at);
    }
    return NULL;
}

/* ---- the first time ----------------------------------------------------------------------------- */

/*
 * Check that the loader can log in and load scripts; else an error would only appear when a script is missing.
 * The PING only makes the answers come.
 */
static lk_status try_loader(struct lki_redis *redis, const struct lki_endpoint *endpoint,
                            int64_t deadline, struct lk_error *err)
{
    const struct lk_bytes ping = LK_BYTES("PING");
    const char *text = lki_script_named("mutex_release")->source;
    const struct lk_error *refusal = lki_redis_refusal(redis);
    lk_reply *reply = NULL;

    if (!endpoint->loader) return LK_OK;
    lk_status status = lki_redis_load_script(redis, endpoint, text, deadline, err);
    if (status == LK_OK)
        status =
            lki_redis_exchange(redis, &(struct lk_command){&ping, 1}, 1, deadline, &reply, err);
    lk_reply_free(reply);
    if (status == LK_OK && refusal->code == LK_SERVER) {
        if (err) *err = *refusal;
        return LK_SERVER;
    }
    if (status == LK_UNKNOWN) { /* nothing was changed */
        status = LK_UNREACHABLE;
        if (err) err->code = status;
    }
    return status;
}

lk_status lki_topology_refresh_open(struct lki_topology *topology, struct lk_error *err)
{
    struct lki_redis *first = NULL;
    lk_status status = lki_topology_refresh(topology, err);

    if (status != LK_OK) return status;
    struct lki_node *node = lki_topology_node(topology, LKI_NO_SLOT, err);
    if (!node) return LK_UNREACHABLE;
    int64_t deadline = lki_clock_after_ms(topology->options->connect_ms);
    status = lki_pool_borrow(node->pool, deadline, &first, err);
    if (status == LK_OK) {
        status = try_loader(first, &node->endpoint, deadline, err);
        lki_pool_return(node->pool, first);
    }
    lki_node_unref(node);
    return status;
}
