/*
 * Remembers which server has a slot, so that a renewal costs no look at the topology, and keeps one
 * line per server.
 */
#include "watchdog_routes.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "call/route.h"
#include "wire/reply.h"

enum { NS_PER_S = 1000000000 };

lk_status lki_watch_routes_init(struct lki_watch_routes *routes, struct lk_error *err)
{
    routes->is_cluster = lki_topology_is_cluster(routes->topology);
    routes->slot_count = routes->is_cluster ? LKI_SLOTS : 1;
    routes->by_slot = calloc(routes->slot_count, sizeof(struct lki_line *));
    routes->fds = calloc(1, sizeof *routes->fds);
    return routes->by_slot && routes->fds ? LK_OK : LKI_FAIL(err, LK_NO_MEMORY, "the watchdog");
}

void lki_watch_routes_done(struct lki_watch_routes *routes)
{
    while (routes->lines) {
        struct lki_line *line = routes->lines;

        routes->lines = line->next;
        lki_line_free(line);
    }
    free(routes->by_slot);
    free(routes->fds);
}

int lki_watch_routes_slot_of(const struct lki_watch_routes *routes, const char *key)
{
    return routes->is_cluster ? lki_slot_of(key, strlen(key)) : 0;
}

static struct lki_node *node_of(const struct lki_watch_routes *routes, size_t slot)
{
    return lki_topology_node(routes->topology, routes->is_cluster ? (int)slot : LKI_NO_SLOT, NULL);
}

/* Takes the reference. */
static struct lki_line *line_to(struct lki_watch_routes *routes, struct lki_node *node)
{
    struct lki_line *line = routes->lines;

    while (line && line->node != node)
        line = line->next;
    if (line) {
        lki_node_unref(node);
        return line;
    }
    struct pollfd *fds = realloc(routes->fds, (routes->line_count + 2) * sizeof *fds);
    if (fds) {
        routes->fds = fds;
        line = lki_line_new(routes->client, node, routes->connect_ms);
    } else {
        lki_node_unref(node);
    }
    if (!line) return NULL;
    line->next = routes->lines;
    routes->lines = line;
    routes->line_count++;
    return line;
}

struct lki_line *lki_watch_routes_known(const struct lki_watch_routes *routes, int slot)
{
    return routes->by_slot[slot];
}

struct lki_line *lki_watch_routes_find(struct lki_watch_routes *routes, int slot)
{
    struct lki_node *node = node_of(routes, (size_t)slot);

    routes->by_slot[slot] = node ? line_to(routes, node) : NULL;
    return routes->by_slot[slot];
}

struct lki_line *lki_watch_routes_learn(struct lki_watch_routes *routes, int slot,
                                        const lk_reply *reply, const struct lki_line *from)
{
    if (lki_route_learn(routes->topology, reply, from->node)) routes->by_slot[slot] = NULL;
    if (!lki_reply_is_error(reply, "ASK ")) return NULL;
    const char *address = strrchr(lk_reply_bytes(reply).data, ' ') + 1; /* "ASK 12 10.0.0.7:6379" */
    struct lki_node *node =
        lki_topology_at(routes->topology, lk_bytes_of(address), from->node, NULL);
    return node ? line_to(routes, node) : NULL;
}

void lki_watch_routes_wait(const struct lki_watch_routes *routes, int wake_fd, int64_t until)
{
    int64_t left = until - lki_clock_now();
    uint64_t wakes = 0;
    nfds_t count = 0;

    if (left < 0) left = 0;
    struct timespec span = {.tv_sec = left / NS_PER_S, .tv_nsec = left % NS_PER_S};
    routes->fds[count++] = (struct pollfd){.fd = wake_fd, .events = POLLIN};
    for (const struct lki_line *line = routes->lines; line; line = line->next) {
        if (!lki_line_is_under_way(line)) continue;
        routes->fds[count++] =
            (struct pollfd){.fd = lki_redis_fd(line->redis), .events = line->events};
    }
    (void)ppoll(routes->fds, count, until == INT64_MAX ? NULL : &span, NULL);
    if (routes->fds[0].revents == 0) return;
    ssize_t got = read(wake_fd, &wakes, sizeof wakes);
    (void)got; /* it was readable */
}

void lki_watch_routes_look_again(struct lki_watch_routes *routes)
{
    for (size_t slot = 0; slot < routes->slot_count; slot++) {
        const struct lki_line *line = routes->by_slot[slot];

        if (!line) continue;
        struct lki_node *node = node_of(routes, slot);
        if (!routes->is_cluster || line->node != node) routes->by_slot[slot] = NULL;
        lki_node_unref(node);
    }
    for (struct lki_line *line = routes->lines; line; line = line->next)
        line->is_gone = true;
    for (size_t i = 0;; i++) {
        struct lki_node *node = lki_topology_primary(routes->topology, i);

        if (!node) return;
        for (struct lki_line *line = routes->lines; line; line = line->next) {
            if (line->node == node) line->is_gone = false;
        }
        lki_node_unref(node);
    }
}

struct lki_line *lki_watch_routes_take_gone(struct lki_watch_routes *routes)
{
    struct lki_line **at = &routes->lines;

    while (*at && !(*at)->is_gone)
        at = &(*at)->next;
    struct lki_line *gone = *at;
    if (!gone) return NULL;
    *at = gone->next;
    routes->line_count--;
    for (size_t slot = 0; slot < routes->slot_count; slot++) {
        if (routes->by_slot[slot] == gone) routes->by_slot[slot] = NULL;
    }
    return gone;
}
