/*
 * The life of a connection: it moves bytes when its descriptors are ready, when a delay is over and
 * when its faults change; after each of these settle() says what it waits for next. One thread.
 *
 * Descriptors that wait for nothing are taken out of epoll, because epoll cannot be told not to
 * report a hang-up; a dead peer of a held stream is thus found out when the stream goes on, as on
 * a real network.
 */
#include "proxy_connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { NS_PER_MS = 1000000, DIAL_AGAIN_MS = 5, DRAIN_MS = 5000, SCRATCH_MAX = 64 * 1024 };

typedef enum proxy_connection_state {
    PROXY_DIALLING, /* the server is not connected yet; the client is not read */
    PROXY_FLOWING,
    PROXY_SPOILED,  /* bytes were lost: read and throw away, write nothing */
    PROXY_DRAINING, /* the client is gone: deliver what it sent, wait for the server's end */
    PROXY_CLOSED,
} proxy_connection_state;

typedef proxy_direction proxy_side; /* PROXY_CLIENT, PROXY_SERVER */

struct proxy_end {
    struct proxy_watch watch; /* first: an event's watch is its end */
    struct proxy_connection *connection;
    proxy_side side;
};

/* pipes[PROXY_C2S] goes from ends[PROXY_CLIENT] to ends[PROXY_SERVER], pipes[PROXY_S2C] back. */
struct proxy_connection {
    struct proxy_corpse corpse; /* first */
    struct proxy_lane *lane;    /* borrowed */
    LIST_ENTRY(proxy_connection) others;
    uint64_t id;
    proxy_connection_state state;
    struct proxy_end ends[2];
    struct proxy_pipe pipes[2];
    struct proxy_timer timer;
    int64_t wake_at_ns;   /* when dialling: try again; when draining: give up */
    bool is_servers_turn; /* the client has spoken last */
    bool is_marked;       /* the next reply is to be eaten */
};

/* ---- ends -------------------------------------------------------------------------------------- */

static void bury(struct proxy_corpse *corpse)
{
    struct proxy_connection *connection = (void *)corpse;

    proxy_queue_clear(&connection->pipes[PROXY_C2S].queue);
    proxy_queue_clear(&connection->pipes[PROXY_S2C].queue);
    free(connection);
}

/* Its next reply need not be eaten. */
static void unmark(struct proxy_connection *connection)
{
    if (!connection->is_marked) return;
    connection->is_marked = false;
    connection->lane->counts.eat_pending--;
}

/* The mark was set but nothing was eaten: another connection may have it. */
static void return_mark(struct proxy_connection *connection)
{
    if (connection->is_marked) connection->lane->faults.eat_next++;
    unmark(connection);
}

/* Close what is open; the memory goes at the end of the loop's round. A mark that ate nothing goes
 * to another connection. Harmless when it is closed. */
static void close_both(struct proxy_connection *connection)
{
    struct proxy_lane *lane = connection->lane;

    if (connection->state == PROXY_CLOSED) return;
    connection->state = PROXY_CLOSED;
    return_mark(connection);
    proxy_loop_close(&connection->ends[PROXY_CLIENT].watch);
    proxy_loop_close(&connection->ends[PROXY_SERVER].watch);
    proxy_loop_set_timer(lane->loop, &connection->timer, INT64_MAX);
    LIST_REMOVE(connection, others);
    lane->counts.open--;
    proxy_loop_bury_later(lane->loop, &connection->corpse);
}

/* Its peer gets a reset; on a unix socket, which knows no such thing, an end. */
static void reset_end(struct proxy_end *end)
{
    struct linger none = {.l_onoff = 1, .l_linger = 0};

    if (end->watch.fd >= 0)
        (void)setsockopt(end->watch.fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    proxy_loop_close(&end->watch);
}

static void reset(struct proxy_connection *connection)
{
    reset_end(&connection->ends[PROXY_CLIENT]);
    reset_end(&connection->ends[PROXY_SERVER]);
    close_both(connection);
}

/* Bytes were lost: nothing more can be delivered. */
static void spoil(struct proxy_connection *connection)
{
    connection->state = PROXY_SPOILED;
    return_mark(connection);
    proxy_queue_clear(&connection->pipes[PROXY_C2S].queue);
    proxy_queue_clear(&connection->pipes[PROXY_S2C].queue);
}

/* One side is dead. The other is reset, unless the fault keeps news from that side. */
static void break_off(struct proxy_connection *connection, proxy_side dead)
{
    proxy_gate gate = connection->lane->faults.gate;

    if (connection->state == PROXY_DRAINING ||
        (gate != PROXY_SWALLOWED && proxy_gate_lets(gate, dead))) {
        reset(connection);
        return;
    }
    if (connection->state != PROXY_SPOILED) spoil(connection);
    proxy_loop_close(&connection->ends[dead].watch);
    if (connection->ends[!dead].watch.fd < 0) close_both(connection);
}

static int64_t now_of(const struct proxy_connection *connection)
{
    return connection->lane->loop->now_ns;
}

static const struct proxy_shape at_once = {.delay_ms = 0};

static struct proxy_conditions conditions(const struct proxy_connection *connection,
                                          const struct proxy_shape *shape)
{
    return (struct proxy_conditions){
        .shape = shape, .random = &connection->lane->random, .now_ns = now_of(connection)};
}

/* ---- eating a reply -------------------------------------------------------------------------- */

static void mark_if_wanted(struct proxy_connection *connection)
{
    struct proxy_lane *lane = connection->lane;

    if (lane->faults.eat_next == 0 || connection->is_marked) return;
    lane->faults.eat_next--;
    lane->counts.eat_pending++;
    connection->is_marked = true;
}

/* The server has answered `bytes`: the request has happened, and its client will not know. */
static void eat_reply(struct proxy_connection *connection, size_t bytes)
{
    struct proxy_lane *lane = connection->lane;
    struct proxy_pipe *upwards = &connection->pipes[PROXY_C2S];
    const struct proxy_conditions now = conditions(connection, &at_once);
    size_t more = 0;

    unmark(connection);
    lane->counts.replies_eaten++;
    proxy_history_eaten(lane->history, lane->name, connection->id, bytes);
    proxy_queue_clear(&connection->pipes[PROXY_S2C].queue);
    /* What the client has sent up to now is the server's; then the stream ends. */
    (void)proxy_pipe_read(upwards, connection->ends[PROXY_CLIENT].watch.fd, &now, &more);
    upwards->is_ended = true;
    proxy_pipe_reshape(upwards, &at_once, now_of(connection));
    reset_end(&connection->ends[PROXY_CLIENT]);
    connection->state = PROXY_DRAINING;
    connection->wake_at_ns = now_of(connection) + (int64_t)DRAIN_MS * NS_PER_MS;
}

/* ---- moving bytes ----------------------------------------------------------------------------- */

static void send_out(struct proxy_connection *connection, proxy_direction direction)
{
    struct proxy_lane *lane = connection->lane;
    bool is_draining = connection->state == PROXY_DRAINING;
    struct proxy_end *sink = &connection->ends[!direction];
    size_t count = 0;

    if (connection->state != PROXY_FLOWING && !(is_draining && direction == PROXY_C2S)) return;
    if (!is_draining && !proxy_gate_lets(lane->faults.gate, direction)) return;
    const struct proxy_conditions now =
        conditions(connection, is_draining ? &at_once : &lane->faults.shape);
    proxy_flow flow = proxy_pipe_write(&connection->pipes[direction], sink->watch.fd, &now, &count);
    lane->counts.bytes[direction] += count;
    if (flow == PROXY_FLOW_BROKEN) break_off(connection, sink->side);
}

/* Read and forget; the first byte lost spoils the stream. */
static void throw_away(struct proxy_connection *connection, proxy_side from)
{
    static char scratch[SCRATCH_MAX];
    struct proxy_end *source = &connection->ends[from];
    ssize_t count = recv(source->watch.fd, scratch, sizeof scratch, 0);

    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (connection->state == PROXY_DRAINING) {
        if (count <= 0) close_both(connection);
        return;
    }
    if (connection->state != PROXY_SPOILED) spoil(connection);
    if (count > 0) return;
    proxy_loop_close(&source->watch); /* its other side learns at the next `pass` */
    if (connection->ends[!from].watch.fd < 0) close_both(connection);
}

static void take_in(struct proxy_connection *connection, proxy_side from)
{
    struct proxy_lane *lane = connection->lane;
    size_t count = 0;

    if (connection->state != PROXY_FLOWING || lane->faults.gate == PROXY_SWALLOWED) {
        throw_away(connection, from);
        return;
    }
    const struct proxy_conditions now = conditions(connection, &lane->faults.shape);
    proxy_flow flow =
        proxy_pipe_read(&connection->pipes[from], connection->ends[from].watch.fd, &now, &count);
    if (flow != PROXY_FLOW_OK) {
        if (flow == PROXY_FLOW_BROKEN)
            break_off(connection, from);
        else
            reset(connection); /* no memory */
        return;
    }
    if (count && from == PROXY_CLIENT) {
        if (!connection->is_servers_turn) mark_if_wanted(connection);
        connection->is_servers_turn = true;
    } else if (count) {
        connection->is_servers_turn = false;
        if (connection->is_marked) eat_reply(connection, count);
    }
    send_out(connection, connection->state == PROXY_DRAINING ? PROXY_C2S : from);
}

/* ---- what it waits for ------------------------------------------------------------------------ */

static bool wants_to_read(const struct proxy_connection *connection, proxy_side from)
{
    proxy_gate gate = connection->lane->faults.gate;

    switch (connection->state) {
    case PROXY_FLOWING:
        return proxy_gate_lets(gate, from) && proxy_pipe_can_read(&connection->pipes[from]);
    case PROXY_SPOILED:
        return true;
    case PROXY_DRAINING:
        return from == PROXY_SERVER;
    case PROXY_DIALLING:
    case PROXY_CLOSED:
        return false;
    }
    return false;
}

static bool wants_to_write(const struct proxy_connection *connection, proxy_side to)
{
    const struct proxy_pipe *pipe = &connection->pipes[!to];

    if (connection->state == PROXY_DIALLING) return to == PROXY_SERVER;
    if (connection->state == PROXY_DRAINING) return to == PROXY_SERVER && pipe->is_blocked;
    return connection->state == PROXY_FLOWING && pipe->is_blocked &&
           proxy_gate_lets(connection->lane->faults.gate, !to);
}

static int64_t wakes_at_ns(const struct proxy_connection *connection)
{
    const struct proxy_faults *faults = &connection->lane->faults;
    int64_t earliest_ns = INT64_MAX;

    if (connection->state != PROXY_FLOWING) return connection->wake_at_ns;
    for (proxy_direction direction = PROXY_C2S; direction <= PROXY_S2C; direction++) {
        if (!proxy_gate_lets(faults->gate, direction)) continue;
        int64_t next_ns = proxy_pipe_next_ns(&connection->pipes[direction], &faults->shape);
        if (next_ns < earliest_ns) earliest_ns = next_ns;
    }
    return earliest_ns;
}

static void settle(struct proxy_connection *connection)
{
    struct proxy_loop *loop = connection->lane->loop;

    if (connection->state == PROXY_CLOSED) return;
    if (connection->pipes[PROXY_C2S].is_shut && connection->pipes[PROXY_S2C].is_shut) {
        close_both(connection);
        return;
    }
    for (proxy_side at = PROXY_CLIENT; at <= PROXY_SERVER; at++) {
        uint32_t events = 0;
        if (wants_to_read(connection, at)) events |= EPOLLIN;
        if (wants_to_write(connection, at)) events |= EPOLLOUT;
        proxy_loop_want(loop, &connection->ends[at].watch, events);
    }
    proxy_loop_set_timer(loop, &connection->timer, wakes_at_ns(connection));
}

/* ---- connecting to the server ----------------------------------------------------------------- */

static void tune(int fd)
{
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* unix sockets refuse: fine */
}

static void fail_to_connect(struct proxy_connection *connection)
{
    connection->lane->counts.connect_failed++;
    reset(connection);
}

static void dial(struct proxy_connection *connection)
{
    struct proxy_watch *server = &connection->ends[PROXY_SERVER].watch;

    connection->wake_at_ns = INT64_MAX;
    server->fd = proxy_address_connect(connection->lane->server);
    if (server->fd >= 0)
        tune(server->fd);
    else if (errno == EAGAIN) /* a unix socket whose backlog is full */
        connection->wake_at_ns = now_of(connection) + (int64_t)DIAL_AGAIN_MS * NS_PER_MS;
    else
        fail_to_connect(connection);
}

static void finish_dialling(struct proxy_connection *connection)
{
    int reason = 0;
    socklen_t size = sizeof reason;

    if (getsockopt(connection->ends[PROXY_SERVER].watch.fd, SOL_SOCKET, SO_ERROR, &reason, &size) !=
            0 ||
        reason != 0) {
        fail_to_connect(connection);
        return;
    }
    connection->state = PROXY_FLOWING;
}

/* ---- events ----------------------------------------------------------------------------------- */

static void on_ready(struct proxy_watch *watch, uint32_t events)
{
    struct proxy_end *end = (void *)watch;
    struct proxy_connection *connection = end->connection;
    proxy_direction towards = !end->side;

    if (connection->state == PROXY_DIALLING) {
        finish_dialling(connection);
        settle(connection);
        return;
    }
    if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) {
        connection->pipes[towards].is_blocked = false;
        send_out(connection, towards);
    }
    bool is_readable = (events & (EPOLLIN | EPOLLERR | EPOLLHUP)) && watch->fd >= 0;
    if (is_readable && wants_to_read(connection, end->side))
        take_in(connection, end->side);
    else if (is_readable && (events & EPOLLERR) && connection->state != PROXY_CLOSED)
        break_off(connection, end->side);
    settle(connection);
}

static void on_time(struct proxy_timer *timer)
{
    struct proxy_connection *connection =
        (void *)((char *)timer - offsetof(struct proxy_connection, timer));

    if (connection->state == PROXY_DRAINING) {
        reset(connection);
    } else if (connection->state == PROXY_DIALLING) {
        dial(connection);
    } else {
        send_out(connection, PROXY_C2S);
        send_out(connection, PROXY_S2C);
    }
    settle(connection);
}

/* ---- what the link calls ---------------------------------------------------------------------- */

bool proxy_connection_open(struct proxy_lane *lane, int client_fd)
{
    struct proxy_connection *connection = calloc(1, sizeof *connection);

    if (!connection) {
        reset_end(&(struct proxy_end){.watch = {.fd = client_fd}});
        return false;
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
    LIST_INSERT_HEAD(&lane->connections, connection, others);
    lane->counts.open++;
    tune(client_fd);
    if (lane->faults.gate == PROXY_SWALLOWED)
        connection->state = PROXY_SPOILED; /* the server never hears of it */
    else
        dial(connection);
    settle(connection);
    return true;
}

void proxy_connections_unmark(struct proxy_lane *lane)
{
    struct proxy_connection *connection = NULL;

    LIST_FOREACH(connection, &lane->connections, others)
    {
        unmark(connection);
    }
}

uint64_t proxy_connections_cut(struct proxy_lane *lane)
{
    uint64_t count = 0;

    for (; !LIST_EMPTY(&lane->connections); count++)
        reset(LIST_FIRST(&lane->connections));
    return count;
}

static void reconsider(struct proxy_connection *connection)
{
    struct proxy_lane *lane = connection->lane;

    for (proxy_direction direction = PROXY_C2S; direction <= PROXY_S2C; direction++)
        proxy_pipe_reshape(&connection->pipes[direction], &lane->faults.shape, lane->loop->now_ns);
    send_out(connection, PROXY_C2S);
    send_out(connection, PROXY_S2C);
    settle(connection);
}

uint64_t proxy_connections_reconsider(struct proxy_lane *lane)
{
    struct proxy_connection *next = NULL;
    uint64_t resets = 0;

    for (struct proxy_connection *connection = LIST_FIRST(&lane->connections); connection;
         connection = next) {
        next = LIST_NEXT(connection, others); /* nothing below closes another connection */
        if (connection->state != PROXY_SPOILED || lane->faults.gate != PROXY_OPEN) {
            reconsider(connection);
            continue;
        }
        reset(connection);
        resets++;
    }
    return resets;
}
