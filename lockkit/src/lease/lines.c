/*
 * Remembers which server has a slot, so that a renewal costs no look at the topology, and keeps one
 * line per server.
 */
#include "lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "call/exchange.h"
#include "wire/reply.h"

enum { NS_PER_S = 1000000000, FDS_OF_ITS_OWN = 2 };

lk_status lki_lines_init(struct lki_lines *lines, struct lk_error *err)
{
    lines->is_cluster = lines->client->topology && lki_topology_is_cluster(lines->client->topology);
    lines->slot_count = lines->is_cluster ? LKI_SLOTS : 1;
    lines->by_slot = calloc(lines->slot_count, sizeof(struct lki_line *));
    lines->fds = calloc(FDS_OF_ITS_OWN + 1, sizeof *lines->fds);
    lines->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (lines->timer_fd < 0) return LKI_FAIL_ERRNO(err, LK_NO_MEMORY, "timerfd");
    if (!lines->by_slot || !lines->fds) return LKI_FAIL(err, LK_NO_MEMORY, "the watchdog");
    lines->by_slot[0] = lines->first; /* of a backend that has one */
    return LK_OK;
}

void lki_lines_done(struct lki_lines *lines)
{
    while (lines->first) {
        struct lki_line *line = lines->first;

        lines->first = line->next;
        line->ops->free(line);
    }
    if (lines->timer_fd > 0) (void)close(lines->timer_fd);
    free(lines->by_slot);
    free(lines->fds);
}

int lki_lines_slot_of(const struct lki_lines *lines, const char *key)
{
    return lines->is_cluster ? lki_slot_of(key, strlen(key)) : 0;
}

struct lki_node *lki_lines_node_of(const struct lki_lines *lines, const char *key,
                                   struct lk_error *err)
{
    int slot = lines->is_cluster ? lki_lines_slot_of(lines, key) : LKI_NO_SLOT;

    return lki_topology_node(lines->client->topology, slot, err);
}

static struct lki_node *node_of(const struct lki_lines *lines, size_t slot)
{
    return lki_topology_node(lines->client->topology, lines->is_cluster ? (int)slot : LKI_NO_SLOT,
                             NULL);
}

/* Takes the reference. */
static struct lki_line *line_to(struct lki_lines *lines, struct lki_node *node)
{
    struct lki_line *line = lines->first;

    while (line && line->node != node)
        line = line->next;
    if (line) {
        lki_node_unref(node);
        return line;
    }
    struct pollfd *fds =
        realloc(lines->fds, (lines->line_count + 1 + FDS_OF_ITS_OWN) * sizeof *fds);
    if (fds) {
        lines->fds = fds;
        line = lki_line_new(lines->client, node);
    } else {
        lki_node_unref(node);
    }
    if (!line) return NULL;
    line->next = lines->first;
    lines->first = line;
    lines->line_count++;
    return line;
}

struct lki_line *lki_lines_known(const struct lki_lines *lines, int slot)
{
    return lines->by_slot[slot];
}

struct lki_line *lki_lines_find(struct lki_lines *lines, int slot)
{
    struct lki_node *node = node_of(lines, (size_t)slot);

    lines->by_slot[slot] = node ? line_to(lines, node) : NULL;
    return lines->by_slot[slot];
}

struct lki_line *lki_lines_learn(struct lki_lines *lines, int slot, const lk_reply *reply,
                                 const struct lki_line *from)
{
    if (lki_exchange_learn(lines->client->topology, reply, from->node)) lines->by_slot[slot] = NULL;
    if (!lki_reply_is_error(reply, "ASK ")) return NULL;
    const char *address = strrchr(lk_reply_bytes(reply).data, ' ') + 1; /* "ASK 12 10.0.0.7:6379" */
    struct lki_node *node =
        lki_topology_at(lines->client->topology, lk_bytes_of(address), from->node, NULL);
    return node ? line_to(lines, node) : NULL;
}

/* In the order of the lines: one under way goes on by itself, another one has ended. */
static void look_at_idle(const struct lki_lines *lines, const struct pollfd *fd)
{
    for (struct lki_line *line = lines->first; line; line = line->next) {
        if (line->ops->fd(line) < 0) continue;
        if ((fd++)->revents != 0 && !lki_line_is_under_way(line)) line->ops->look(line);
    }
}

/* By a timer, as the timeout of poll() stands still while the machine sleeps; leases do not. */
void lki_lines_wait(const struct lki_lines *lines, int wake_fd, int64_t until)
{
    struct itimerspec timer = {
        .it_value = {.tv_sec = until / NS_PER_S, .tv_nsec = until % NS_PER_S}};
    uint64_t wakes = 0;
    nfds_t count = 0;

    (void)timerfd_settime(lines->timer_fd, TFD_TIMER_ABSTIME, &timer, NULL);
    lines->fds[count++] = (struct pollfd){.fd = wake_fd, .events = POLLIN};
    lines->fds[count++] = (struct pollfd){.fd = lines->timer_fd, .events = POLLIN};
    for (const struct lki_line *line = lines->first; line; line = line->next) {
        short events = lki_line_is_under_way(line) ? line->events : POLLIN;

        if (line->ops->fd(line) < 0) continue;
        lines->fds[count++] = (struct pollfd){.fd = line->ops->fd(line), .events = events};
    }
    if (poll(lines->fds, count, -1) <= 0) return;
    look_at_idle(lines, lines->fds + FDS_OF_ITS_OWN);
    if (lines->fds[0].revents == 0) return;
    ssize_t got = read(wake_fd, &wakes, sizeof wakes);
    (void)got; /* it was readable */
}

void lki_lines_look_again(struct lki_lines *lines)
{
    for (size_t slot = 0; slot < lines->slot_count; slot++) {
        const struct lki_line *line = lines->by_slot[slot];

        if (!line) continue;
        struct lki_node *node = node_of(lines, slot);
        if (!lines->is_cluster || line->node != node) lines->by_slot[slot] = NULL;
        lki_node_unref(node);
    }
    for (struct lki_line *line = lines->first; line; line = line->next)
        line->is_gone = true;
    for (size_t i = 0;; i++) {
        struct lki_node *node = lki_topology_primary(lines->client->topology, i);

        if (!node) return;
        for (struct lki_line *line = lines->first; line; line = line->next) {
            if (line->node == node) line->is_gone = false;
        }
        lki_node_unref(node);
    }
}

struct lki_line *lki_lines_take_gone(struct lki_lines *lines)
{
    struct lki_line **at = &lines->first;

    while (*at && !(*at)->is_gone)
        at = &(*at)->next;
    struct lki_line *gone = *at;
    if (!gone) return NULL;
    *at = gone->next;
    lines->line_count--;
    for (size_t slot = 0; slot < lines->slot_count; slot++) {
        if (lines->by_slot[slot] == gone) lines->by_slot[slot] = NULL;
    }
    return gone;
}
