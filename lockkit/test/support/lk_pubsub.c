/*
 * See lk_pubsub.h. A server has an eventfd for its socket, readable while there is something to receive,
 * and at most one connection.
 */
#include "lk_pubsub.h"

#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "testing.h"

enum { MESSAGES_MAX = 512, LONG_MS = 5000, FIRST_PORT = 7000 };

/* Stands in for redisReply: an array of three texts, or one of the texts. */
struct lk_reply {
    const struct lk_reply *parts[3];
    bool is_error;
    char text[64];
};

struct lki_redis {
    struct server *server;
};

struct server {
    struct lki_node node;
    int fd;
    struct lk_reply *queue[MESSAGES_MAX]; /* owned: from the server */
    size_t queue_count;
    struct lki_redis *client; /* borrowed */
    bool is_cut;              /* its connection has ended */
    enum lks_pubsub_mood mood;
    struct lks_pubsub_counts counts;
};

static struct {
    pthread_mutex_t mutex; /* guards all below */
    pthread_cond_t changed;
    bool is_sharded;
    int owners[LKI_SLOTS]; /* the truth, as the servers know it */
    int known[LKI_SLOTS];  /* as the topology knows it; where nothing goes by slot, the first */
    struct server servers[LKS_PUBSUB_SERVERS];
} world = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

pthread_t lks_pubsub_listener;
unsigned lks_pubsub_refreshes;
unsigned lks_pubsub_wrong_verbs;

static void ring_locked(struct server *server)
{
    uint64_t one = 1;
    ssize_t done = write(server->fd, &one, sizeof one);

    (void)done;
}

static void drain_locked(struct server *server)
{
    uint64_t count = 0;
    ssize_t got = read(server->fd, &count, sizeof count);

    (void)got;
}

static void say_locked(struct server *server, const char *kind, const char *channel,
                       const char *text)
{
    const char *const texts[] = {kind, channel, text};
    struct lk_reply *reply = calloc(4, sizeof *reply);

    if (!reply || server->queue_count == MESSAGES_MAX) abort();
    for (size_t i = 0; i < 3; i++) {
        reply->parts[i] = &reply[i + 1];
        (void)snprintf(reply[i + 1].text, sizeof reply->text, "%s", texts[i]);
    }
    server->queue[server->queue_count++] = reply;
    ring_locked(server);
}

static void complain_locked(struct server *server, const char *text)
{
    say_locked(server, "", "", "");
    struct lk_reply *reply = server->queue[server->queue_count - 1];
    reply->is_error = true;
    (void)snprintf(reply->text, sizeof reply->text, "%s", text);
}

/* ---- connections ------------------------------------------------------------------------------------ */

FAKE(struct lki_redis *, lki_redis_open_begin, const struct lki_endpoint *endpoint,
     int64_t deadline, struct lk_error *err)
{
    struct lki_redis *redis = calloc(1, sizeof *redis);

    (void)deadline, (void)err;
    if (!redis) abort();
    redis->server = &world.servers[endpoint->port - FIRST_PORT];
    (void)pthread_mutex_lock(&world.mutex);
    if (redis->server->client) abort(); /* two at once */
    redis->server->client = redis;
    (void)pthread_mutex_unlock(&world.mutex);
    return redis;
}

FAKE(lk_status, lki_redis_open_go_on, struct lki_redis *redis, const struct lki_endpoint *endpoint,
     short *out_events, struct lk_error *err)
{
    struct server *server = redis->server;
    lk_status status = LK_OK;

    (void)endpoint;
    *out_events = POLLIN;
    (void)pthread_mutex_lock(&world.mutex);
    if (server->mood == LKS_HANGING) {
        status = LK_BUSY;
    } else if (server->mood == LKS_REFUSING) {
        server->counts.failures++;
        status = LKI_FAIL(err, LK_UNREACHABLE, "refused");
    } else {
        server->counts.opens++;
        server->is_cut = server->mood == LKS_SLAMMING;
        if (server->is_cut) ring_locked(server);
    }
    (void)pthread_cond_broadcast(&world.changed);
    (void)pthread_mutex_unlock(&world.mutex);
    return status;
}

FAKE(void, lki_redis_close, struct lki_redis *redis)
{
    if (!redis) return;
    (void)pthread_mutex_lock(&world.mutex);
    struct server *server = redis->server;
    while (server->queue_count > 0)
        free(server->queue[--server->queue_count]);
    drain_locked(server);
    server->client = NULL;
    server->counts.closes++;
    (void)pthread_cond_broadcast(&world.changed);
    (void)pthread_mutex_unlock(&world.mutex);
    free(redis);
}

static void answer_subscribe_locked(struct server *server, const char *channel)
{
    int self = (int)(server - world.servers);
    int slot = lki_slot_of(channel, strlen(channel));
    int owner = server->mood == LKS_ASTRAY ? (self + 1) % LKS_PUBSUB_SERVERS : world.owners[slot];
    char moved[64];

    bool is_denied = server->mood == LKS_DENYING ||
                     (server->mood == LKS_PICKY && strcmp(channel, "denied") == 0);

    server->counts.subscribes++;
    if (server->mood == LKS_DOWN) {
        complain_locked(server, "CLUSTERDOWN The cluster is down");
    } else if (is_denied) {
        complain_locked(server, "NOPERM no");
    } else if (world.is_sharded && owner != self) {
        (void)snprintf(moved, sizeof moved, "MOVED %d 127.0.0.1:%d", slot, FIRST_PORT + owner);
        complain_locked(server, moved);
    } else {
        say_locked(server, world.is_sharded ? "ssubscribe" : "subscribe", channel, "1");
    }
}

static void answer_locked(struct server *server, const struct lk_command *command)
{
    const char *verb = command->args[0].data;
    bool is_ping = strcmp(verb, "PING") == 0;
    bool goes_by_slot = strncmp(verb, "SS", 2) == 0 || strncmp(verb, "SUN", 3) == 0;
    const char *rest = goes_by_slot ? verb + 1 : verb;

    if (!is_ping && goes_by_slot != world.is_sharded) lks_pubsub_wrong_verbs++;
    server->counts.pings += is_ping;
    if (server->mood == LKS_SILENT) return;
    if (is_ping) {
        say_locked(server, "pong", "", "");
    } else if (strcmp(rest, "SUBSCRIBE") == 0) {
        answer_subscribe_locked(server, command->args[1].data);
    } else if (strcmp(rest, "UNSUBSCRIBE") == 0) {
        server->counts.unsubscribes++;
        say_locked(server, world.is_sharded ? "sunsubscribe" : "unsubscribe", command->args[1].data,
                   "0");
    } else {
        abort();
    }
}

FAKE(lk_status, lki_redis_send, struct lki_redis *redis, const struct lk_command *commands,
     size_t count, int64_t deadline, struct lk_error *err)
{
    (void)deadline;
    (void)pthread_mutex_lock(&world.mutex);
    bool is_cut = redis->server->is_cut;
    for (size_t i = 0; i < count && !is_cut; i++)
        answer_locked(redis->server, &commands[i]);
    (void)pthread_cond_broadcast(&world.changed);
    (void)pthread_mutex_unlock(&world.mutex);
    return is_cut ? LKI_FAIL(err, LK_UNREACHABLE, "cut") : LK_OK;
}

FAKE(lk_status, lki_redis_receive, struct lki_redis *redis, lk_reply **out, struct lk_error *err)
{
    struct server *server = redis->server;

    *out = NULL;
    (void)pthread_mutex_lock(&world.mutex);
    bool is_cut = server->is_cut;
    if (!is_cut && server->queue_count > 0) {
        *out = server->queue[0];
        lks_pubsub_listener = pthread_self();
        server->queue_count--;
        memmove((void *)server->queue, (void *)(server->queue + 1),
                server->queue_count * sizeof(struct lk_reply *));
    } else if (!is_cut) {
        drain_locked(server);
    }
    (void)pthread_mutex_unlock(&world.mutex);
    return is_cut ? LKI_FAIL(err, LK_UNREACHABLE, "cut") : LK_OK;
}

FAKE_RETURNS(int, lki_redis_fd, (const struct lki_redis *redis), redis->server->fd);
FAKE_RETURNS(const lk_reply *, lk_reply_at, (const lk_reply *reply, size_t index),
             reply->parts[index]);
FAKE_RETURNS(struct lk_bytes, lk_reply_bytes, (const lk_reply *reply),
             (struct lk_bytes){.data = reply->text, .len = strlen(reply->text)});

FAKE(void, lk_reply_free, lk_reply *reply)
{
    free(reply);
}

FAKE_RETURNS(lk_reply_type, lk_reply_type_of, (const lk_reply *reply),
             reply->is_error ? LK_REPLY_ERROR : LK_REPLY_ARRAY);

/* ---- the topology ----------------------------------------------------------------------------------------- */

static struct lki_node *ref(int server)
{
    if (server == LKS_NO_SERVER) return NULL;
    atomic_fetch_add(&world.servers[server].node.references, 1);
    return &world.servers[server].node;
}

FAKE(struct lki_node *, lki_topology_node, struct lki_topology *topology, int slot,
     struct lk_error *err)
{
    (void)topology;
    (void)pthread_mutex_lock(&world.mutex);
    struct lki_node *node = ref(world.known[slot == LKI_NO_SLOT ? 0 : slot]);
    (void)pthread_mutex_unlock(&world.mutex);
    if (!node) (void)LKI_FAIL(err, LK_UNREACHABLE, "no server is known");
    return node;
}

/* Where nothing goes by slot there is one. */
FAKE_RETURNS(struct lki_node *, lki_topology_primary,
             (struct lki_topology * topology, size_t index),
             index == 0 ? __wrap_lki_topology_node(topology, LKI_NO_SLOT, NULL) : NULL);

FAKE(void, lki_node_unref, struct lki_node *node)
{
    if (node) atomic_fetch_sub(&node->references, 1);
}

FAKE(void, lki_topology_refresh_soon, struct lki_topology *topology)
{
    (void)topology;
    (void)pthread_mutex_lock(&world.mutex);
    lks_pubsub_refreshes++;
    (void)pthread_cond_broadcast(&world.changed);
    (void)pthread_mutex_unlock(&world.mutex);
}

FAKE(void, lki_topology_moved, struct lki_topology *topology, int slot, struct lk_bytes address,
     const struct lki_node *told_by)
{
    int port = atoi(strchr(address.data, ':') + 1); /* NOLINT(cert-err34-c): we wrote it */

    (void)topology;
    (void)pthread_mutex_lock(&world.mutex);
    if (told_by == &world.servers[port - FIRST_PORT].node) abort();
    world.known[slot] = port - FIRST_PORT;
    (void)pthread_mutex_unlock(&world.mutex);
}

FAKE(bool, lki_topology_is_sharded, const struct lki_topology *topology)
{
    (void)topology;
    return world.is_sharded;
}

/* ---- for the asserting thread ------------------------------------------------------------------------------ */

void lks_pubsub_start(bool is_sharded)
{
    world.is_sharded = is_sharded;
    memset(world.owners, 0, sizeof world.owners);
    memset(world.known, 0, sizeof world.known);
    lks_pubsub_refreshes = lks_pubsub_wrong_verbs = 0;
    for (int i = 0; i < LKS_PUBSUB_SERVERS; i++) {
        world.servers[i] = (struct server){.node.endpoint.port = FIRST_PORT + i,
                                           .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
        if (world.servers[i].fd < 0) abort();
    }
}

bool lks_pubsub_stop(void)
{
    bool is_clean = lks_pubsub_wrong_verbs == 0;

    for (size_t i = 0; i < LKS_PUBSUB_SERVERS; i++) {
        is_clean &= !world.servers[i].client && world.servers[i].node.references == 0;
        (void)close(world.servers[i].fd);
    }
    return is_clean;
}

struct lki_topology *lks_pubsub_topology(void)
{
    static char unused;

    return (struct lki_topology *)(void *)&unused;
}

struct lks_pubsub_counts *lks_pubsub_counts(int server)
{
    return &world.servers[server].counts;
}

void lks_pubsub_say(int server, const char *kind, const char *channel, const char *text)
{
    (void)pthread_mutex_lock(&world.mutex);
    say_locked(&world.servers[server], kind, channel, text);
    (void)pthread_mutex_unlock(&world.mutex);
}

void lks_pubsub_set_mood(int server, enum lks_pubsub_mood mood)
{
    (void)pthread_mutex_lock(&world.mutex);
    world.servers[server].mood = mood;
    ring_locked(&world.servers[server]); /* an attempt that hangs looks again */
    (void)pthread_mutex_unlock(&world.mutex);
}

void lks_pubsub_cut(int server, enum lks_pubsub_mood mood)
{
    (void)pthread_mutex_lock(&world.mutex);
    world.servers[server].is_cut = true;
    world.servers[server].mood = mood;
    ring_locked(&world.servers[server]);
    (void)pthread_mutex_unlock(&world.mutex);
}

void lks_pubsub_move(const char *channel, int server)
{
    int slot = channel ? lki_slot_of(channel, strlen(channel)) : LKI_NO_SLOT;

    (void)pthread_mutex_lock(&world.mutex);
    for (int i = 0; i < LKI_SLOTS; i++) {
        if (!channel || i == slot) world.owners[i] = server;
    }
    (void)pthread_mutex_unlock(&world.mutex);
}

void lks_pubsub_learn(void)
{
    (void)pthread_mutex_lock(&world.mutex);
    memcpy(world.known, world.owners, sizeof world.known);
    (void)pthread_mutex_unlock(&world.mutex);
}

bool lks_pubsub_is_referred_to(int server)
{
    return atomic_load(&world.servers[server].node.references) > 0;
}

unsigned lks_pubsub_read(const unsigned *counter)
{
    (void)pthread_mutex_lock(&world.mutex);
    unsigned value = *counter;
    (void)pthread_mutex_unlock(&world.mutex);
    return value;
}

bool lks_pubsub_reaches(const unsigned *counter, unsigned value)
{
    int64_t deadline = lki_clock_after_ms(LONG_MS);

    (void)pthread_mutex_lock(&world.mutex);
    while (*counter < value && lki_clock_wait(&world.changed, &world.mutex, deadline)) {}
    bool is_reached = *counter >= value;
    (void)pthread_mutex_unlock(&world.mutex);
    return is_reached;
}
