/*
 * A connection's beginning and its ends. One thread.
 */
#include "proxy_connection_life.h"

#include <stdlib.h>
#include <sys/socket.h>

static void bury(struct proxy_corpse *corpse)
{
    struct proxy_connection *connection = (void *)corpse;

    proxy_queue_clear(&connection->pipes[PROXY_C2S].queue);
    proxy_queue_clear(&connection->pipes[PROXY_S2C].queue);
    free(connection);
}

void proxy_connection_unmark(struct proxy_connection *connection)
{
    if (!connection->is_marked) return;
    connection->is_marked = false;
    connection->lane->counts.eat_pending--;
}

/* The mark was set but nothing was eaten: another connection may have it. */
static void return_mark(struct proxy_connection *connection)
{
    if (connection->is_marked) connection->lane->faults.eat_next++;
    proxy_connection_unmark(connection);
}

void proxy_connection_close(struct proxy_connection *connection)
{
    struct proxy_lane *lane = connection->lane;

    if (connection->state == PROXY_CLOSED) return;
    connection->state = PROXY_CLOSED;
    return_mark(connection);
    proxy_loop_close(&connection->ends[PROXY_CLIENT].watch);
    proxy_loop_close(&connection->ends[PROXY_SERVER].watch);
    proxy_loop_return_timer(lane->loop, &connection->timer);
    if (connection->previous)
        connection->previous->next = connection->next;
    else
        lane->connections = connection->next;
    if (connection->next) connection->next->previous = connection->previous;
    lane->counts.open--;
    proxy_loop_bury_later(lane->loop, &connection->corpse);
}

void proxy_end_reset(struct proxy_end *end)
{
    struct linger none = {.l_onoff = 1, .l_linger = 0};

    if (end->watch.fd >= 0)
        (void)setsockopt(end->watch.fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    proxy_loop_close(&end->watch);
}

void proxy_connection_reset(struct proxy_connection *connection)
{
    proxy_end_reset(&connection->ends[PROXY_CLIENT]);
    proxy_end_reset(&connection->ends[PROXY_SERVER]);
    proxy_connection_close(connection);
}

void proxy_connection_spoil(struct proxy_connection *connection)
{
    connection->state = PROXY_SPOILED;
    return_mark(connection);
    proxy_queue_clear(&connection->pipes[PROXY_C2S].queue);
    proxy_queue_clear(&connection->pipes[PROXY_S2C].queue);
}

void proxy_connection_break(struct proxy_connection *connection, proxy_side dead)
{
    proxy_gate gate = connection->lane->faults.gate;

    if (connection->state == PROXY_DRAINING ||
        (gate != PROXY_SWALLOWED && proxy_gate_lets(gate, dead))) {
        proxy_connection_reset(connection);
        return;
    }
    if (connection->state != PROXY_SPOILED) proxy_connection_spoil(connection);
    proxy_loop_close(&connection->ends[dead].watch);
    if (connection->ends[!dead].watch.fd < 0) proxy_connection_close(connection);
}

struct proxy_connection *proxy_connection_new(struct proxy_lane *lane, int client_fd,
                                              void (*on_ready)(struct proxy_watch *watch,
                                                               uint32_t events),
                                              void (*on_time)(struct proxy_timer *timer))
{
    struct proxy_connection *connection = calloc(1, sizeof *connection);

    if (!connection || !proxy_loop_reserve_timer(lane->loop)) {
        free(connection);
        struct proxy_end end = {.watch = {.fd = client_fd}};
        proxy_end_reset(&end);
        return NULL;
    }
    connection->corpse.bury = bury;
    connection->lane = lane;
    connection->id = ++lane->counts.accepted;
    connection->timer.on_time = on_time;
    connection->wake_at_ns = INT64_MAX;
    for (proxy_side side = PROXY_CLIENT; side <= PROXY_SERVER; side++)
        connection->ends[side] = (struct proxy_end){
            .watch = {.fd = side == PROXY_CLIENT ? client_fd : -1, .on_ready = on_ready},
            .connection = connection,
            .side = side};
    connection->next = lane->connections;
    if (connection->next) connection->next->previous = connection;
    lane->connections = connection;
    lane->counts.open++;
    return connection;
}
