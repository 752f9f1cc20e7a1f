/*
 * One connection per server, and a cache of which connection serves a slot, so that renewals do not look
 * into the topology.
 */
#include "renewal_conns.h"

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

lk_status lki_renewal_conns_init(struct lki_renewal_conns *conns, struct lk_error *err)
{
    conns->is_cluster = conns->client->topology && lki_topology_is_cluster(conns->client->topology);
    conns->slot_count = conns->is_cluster ? LKI_SLOTS : 1;
    conns->by_slot = calloc(conns->slot_count, sizeof(struct lki_renewal_conn *));
    conns->fds = calloc(FDS_OF_ITS_OWN + 1, sizeof *conns->fds);
    conns->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (conns->timer_fd < 0) return LKI_FAIL_ERRNO(err, LK_NO_MEMORY, "timerfd");
    if (!conns->by_slot || !conns->fds) return LKI_FAIL(err, LK_NO_MEMORY, "the watchdog");
    conns->by_slot[0] = conns->first; /* a backend brings its only connection */
    return LK_OK;
}

void lki_renewal_conns_done(struct lki_renewal_conns *conns)
{
    while (conns->first) {
        struct lki_renewal_conn *conn = conns->first;

        conns->first = conn->next;
        conn->ops->free(conn);
    }
    if (conns->timer_fd > 0) (void)close(conns->timer_fd);
    free(conns->by_slot);
    free(conns->fds);
}

int lki_renewal_conns_slot_of(const struct lki_renewal_conns *conns, const char *key)
{
    return conns->is_cluster ? lki_slot_of(key, strlen(key)) : 0;
}

struct lki_node *lki_renewal_conns_node_of(const struct lki_renewal_conns *conns, const char *key,
                                           struct lk_error *err)
{
    int slot = conns->is_cluster ? lki_renewal_conns_slot_of(conns, key) : LKI_NO_SLOT;

    return lki_topology_node(conns->client->topology, slot, err);
}

static struct lki_node *node_of(const struct lki_renewal_conns *conns, size_t slot)
{
    return lki_topology_node(conns->client->topology, conns->is_cluster ? (int)slot : LKI_NO_SLOT,
                             NULL);
}

/* Takes the reference. */
static struct lki_renewal_conn *conn_to(struct lki_renewal_conns *conns, struct lki_node *node)
{
    struct lki_renewal_conn *conn = conns->first;

    while (conn && conn->node != node)
        conn = conn->next;
    if (conn) {
        lki_node_unref(node);
        return conn;
    }
    struct pollfd *fds =
        realloc(conns->fds, (conns->conn_count + 1 + FDS_OF_ITS_OWN) * sizeof *fds);
    if (fds) {
        conns->fds = fds;
        conn = lki_renewal_conn_new(conns->client, node);
    } else {
        lki_node_unref(node);
    }
    if (!conn) return NULL;
    conn->next = conns->first;
    conns->first = conn;
    conns->conn_count++;
    return conn;
}

struct lki_renewal_conn *lki_renewal_conns_known(const struct lki_renewal_conns *conns, int slot)
{
    return conns->by_slot[slot];
}

struct lki_renewal_conn *lki_renewal_conns_find(struct lki_renewal_conns *conns, int slot)
{
    struct lki_node *node = node_of(conns, (size_t)slot);

    conns->by_slot[slot] = node ? conn_to(conns, node) : NULL;
    return conns->by_slot[slot];
}

struct lki_renewal_conn *lki_renewal_conns_learn(struct lki_renewal_conns *conns, int slot,
                                                 const lk_reply *reply,
                                                 const struct lki_renewal_conn *from)
{
    if (lki_exchange_learn(conns->client->topology, reply, from->node)) conns->by_slot[slot] = NULL;
    if (!lki_reply_is_error(reply, "ASK ")) return NULL;
    const char *address = strrchr(lk_reply_bytes(reply).data, ' ') + 1; /* "ASK 12 10.0.0.7:6379" */
    struct lki_node *node =
        lki_topology_at(conns->client->topology, lk_bytes_of(address), from->node, NULL);
    return node ? conn_to(conns, node) : NULL;
}

/* fd: the first in the order of the connections. An idle connection that is readable was closed. */
static void check_idle_conns(const struct lki_renewal_conns *conns, const struct pollfd *fd)
{
    for (struct lki_renewal_conn *conn = conns->first; conn; conn = conn->next) {
        if (conn->ops->fd(conn) < 0) continue;
        if ((fd++)->revents != 0 && !lki_renewal_conn_is_under_way(conn))
            conn->ops->check_idle(conn);
    }
}

/* A timer on CLOCK_BOOTTIME ends the wait: unlike the timeout of poll(), it runs on while the machine sleeps, as
   leases do. */
void lki_renewal_conns_wait(const struct lki_renewal_conns *conns, int wake_fd, int64_t until)
{
    struct itimerspec timer = {
        .it_value = {.tv_sec = until / NS_PER_S, .tv_nsec = until % NS_PER_S}};
    uint64_t wakes = 0;
    nfds_t count = 0;

    (void)timerfd_settime(conns->timer_fd, TFD_TIMER_ABSTIME, &timer, NULL);
    conns->fds[count++] = (struct pollfd){.fd = wake_fd, .events = POLLIN};
    conns->fds[count++] = (struct pollfd){.fd = conns->timer_fd, .events = POLLIN};
    for (const struct lki_renewal_conn *conn = conns->first; conn; conn = conn->next) {
        short events = lki_renewal_conn_is_under_way(conn) ? conn->events : POLLIN;

        if (conn->ops->fd(conn) < 0) continue;
        conns->fds[count++] = (struct pollfd){.fd = conn->ops->fd(conn), .events = events};
    }
    if (poll(conns->fds, count, -1) <= 0) return;
    check_idle_conns(conns, conns->fds + FDS_OF_ITS_OWN);
    if (conns->fds[0].revents == 0) return;
    ssize_t got = read(wake_fd, &wakes, sizeof wakes);
    (void)got; /* it was readable */
}

void lki_renewal_conns_recheck(struct lki_renewal_conns *conns)
{
    for (size_t slot = 0; slot < conns->slot_count; slot++) {
        const struct lki_renewal_conn *conn = conns->by_slot[slot];

        if (!conn) continue;
        struct lki_node *node = node_of(conns, slot);
        if (!conns->is_cluster || conn->node != node) conns->by_slot[slot] = NULL;
        lki_node_unref(node);
    }
    for (struct lki_renewal_conn *conn = conns->first; conn; conn = conn->next)
        conn->is_gone = true;
    for (size_t i = 0;; i++) {
        struct lki_node *node = lki_topology_primary(conns->client->topology, i);

        if (!node) return;
        for (struct lki_renewal_conn *conn = conns->first; conn; conn = conn->next) {
            if (conn->node == node) conn->is_gone = false;
        }
        lki_node_unref(node);
    }
}

struct lki_renewal_conn *lki_renewal_conns_take_gone(struct lki_renewal_conns *conns)
{
    struct lki_renewal_conn **at = &conns->first;

    while (*at && !(*at)->is_gone)
        at = &(*at)->next;
    struct lki_renewal_conn *gone = *at;
    if (!gone) return NULL;
    *at = gone->next;
    conns->conn_count--;
    for (size_t slot = 0; slot < conns->slot_count; slot++) {
        if (conns->by_slot[slot] == gone) conns->by_slot[slot] = NULL;
    }
    return gone;
}
