/*
 * See sim_net.h. The socket functions that hiredis and lockkit call are linked to those at the end (--wrap,
 * simulate.c); the real hiredis parses replies. Calls with the system's descriptors, to which histories are
 * written, are passed on.
 */
#include "sim_net.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "sim_keys.h"
#include "sim_threads.h"

enum {
    FDS_MAX = 4096,
    QUICK_NS =
        20000, /* latency of a packet: the minimum, and the range of what is added at random */
    SLOWER_NS = 200000,
    SLOW_EVERY = 50, /* one packet of so many is late by up to SLOW_NS */
    SLOW_NS = 5000000,
    SLICE_NS = 50000000, /* a blocking recv() ends so often (SO_RCVTIMEO) */
};

struct packet {
    struct packet *next;
    size_t len;
    char bytes[];
};

struct way { /* packets in order */
    struct packet *first, *last;
    int64_t latest_at_ns;
};

enum socket_state { CONNECTING, STANDS, REFUSED, ENDED };

struct sim_socket {
    struct sim_socket *next;
    enum socket_state state;
    int pid;
    int fd;
    int server;
    struct way to_server, to_client;
    char *heard; /* owned; received and not read */
    size_t heard_len;
    struct sim_peer *peer; /* the server's; NULL: it knows of no such connection (any more) */
};

struct end {
    enum { FREE, EVENT, TIMER, SOCKET } kind;
    int pid;
    uint64_t count;
    int64_t at_ns; /* a timer goes off */
    struct sim_socket *socket;
};

static struct {
    struct sim_net_server server;
    struct end ends[FDS_MAX];
    int end_count;
    struct sim_socket *first, *last; /* owned */
    enum torture_link_state links[SIM_PROCESSES_MAX];
    char pollers[SIM_PROCESSES_MAX]; /* what the polling threads of a process sleep at */
    bool is_paused[SIM_SERVERS], is_down[SIM_SERVERS];
} net;

static int place_of(int pid)
{
    return pid % SIM_PROCESSES_MAX;
}

static void wake_pollers(int pid)
{
    sim_wake(&net.pollers[place_of(pid)], false);
}

/* ---- packets ---------------------------------------------------------------------------------------- */

static void clear(struct way *way)
{
    while (way->first) {
        struct packet *packet = way->first;

        way->first = packet->next;
        free(packet);
    }
    way->last = NULL;
}

static struct packet *take(struct way *way)
{
    struct packet *packet = way->first;

    way->first = packet->next;
    if (!way->first) way->last = NULL;
    return packet;
}

static enum torture_link_state link_of(const struct sim_socket *socket)
{
    return net.links[place_of(socket->pid)];
}

static bool is_paused(const struct sim_socket *socket)
{
    return net.is_paused[socket->server];
}

static void deliver_to_server(void *arg)
{
    struct sim_socket *socket = arg;

    if (!socket->to_server.first || is_paused(socket) || link_of(socket) == LINK_HELD) return;
    struct packet *packet = take(&socket->to_server);
    if (socket->peer) net.server.hear(socket->peer, packet->bytes, packet->len);
    free(packet);
}

static void deliver_to_client(void *arg)
{
    struct sim_socket *socket = arg;

    if (!socket->to_client.first || link_of(socket) == LINK_HELD) return;
    struct packet *packet = take(&socket->to_client);
    if (link_of(socket) != LINK_DEAF && socket->state == STANDS) {
        socket->heard = realloc(socket->heard, socket->heard_len + packet->len);
        memcpy(socket->heard + socket->heard_len, packet->bytes, packet->len);
        socket->heard_len += packet->len;
        wake_pollers(socket->pid);
        sim_wake(socket, false);
    }
    free(packet);
}

static int64_t arrival(int64_t latest_at_ns)
{
    int64_t at_ns = sim_now() + QUICK_NS + sim_below(SLOWER_NS);

    if (sim_below(SLOW_EVERY) == 0) at_ns += sim_below(SLOW_NS);
    return at_ns > latest_at_ns ? at_ns : latest_at_ns;
}

static void dispatch(struct sim_socket *socket, struct way *way, const char *bytes, size_t len,
                     void (*deliver)(void *))
{
    struct packet *packet = malloc(sizeof *packet + len);

    packet->next = NULL;
    packet->len = len;
    memcpy(packet->bytes, bytes, len);
    if (way->last)
        way->last->next = packet;
    else
        way->first = packet;
    way->last = packet;
    way->latest_at_ns = arrival(way->latest_at_ns);
    sim_at(way->latest_at_ns, deliver, socket);
}

void sim_net_answer(struct sim_socket *socket, const char *bytes, size_t len)
{
    dispatch(socket, &socket->to_client, bytes, len, deliver_to_client);
}

/* Deliver packets that were held up, in order. */
static void deliver_held(int pid)
{
    for (struct sim_socket *socket = net.first; socket; socket = socket->next) {
        if (pid && socket->pid != pid) continue;
        while (socket->to_server.first && !is_paused(socket) && link_of(socket) != LINK_HELD)
            deliver_to_server(socket);
        while (socket->to_client.first && link_of(socket) != LINK_HELD)
            deliver_to_client(socket);
    }
}

/* ---- sockets ---------------------------------------------------------------------------------------- */

/* The server gets the end of the connection after earlier data, and only if the link works. */
static void notify_end(void *arg)
{
    struct sim_socket *socket = arg;

    if (is_paused(socket) || link_of(socket) == LINK_HELD) {
        sim_at(sim_now() + SIM_MS, notify_end, socket);
        return;
    }
    if (link_of(socket) == LINK_CLOSED) clear(&socket->to_server);
    while (socket->to_server.first)
        deliver_to_server(socket);
    if (socket->peer) net.server.bye(socket->peer);
    socket->peer = NULL;
}

static void end_socket(struct sim_socket *socket)
{
    if (socket->state == ENDED) return;
    socket->state = ENDED;
    clear(&socket->to_client);
    wake_pollers(socket->pid);
    sim_wake(socket, false);
    sim_at(arrival(socket->to_server.latest_at_ns), notify_end, socket);
}

void sim_net_hang_up(struct sim_socket *socket)
{
    socket->heard_len = 0;
    clear(&socket->to_server);
    end_socket(socket);
}

struct sim_socket *sim_net_each(struct sim_socket *before)
{
    struct sim_socket *socket = before ? before->next : net.first;

    while (socket && (socket->state != STANDS || !socket->peer))
        socket = socket->next;
    return socket;
}

struct sim_peer *sim_net_peer(const struct sim_socket *socket)
{
    return socket->peer;
}

void sim_net_link(int pid, enum torture_link_state state)
{
    enum torture_link_state before = net.links[place_of(pid)];

    net.links[place_of(pid)] = state;
    if (state == LINK_CLOSED || before == LINK_DEAF) {
        for (struct sim_socket *socket = net.first; socket; socket = socket->next) {
            if (socket->pid == pid) end_socket(socket);
        }
    }
    if (before == LINK_HELD) deliver_held(pid);
}

int sim_net_server(const struct sim_socket *socket)
{
    return socket->server;
}

void sim_net_pause_server(int server, bool is_paused)
{
    net.is_paused[server] = is_paused;
    if (!is_paused) deliver_held(0);
}

void sim_net_end_server(int server)
{
    net.is_down[server] = true;
    net.is_paused[server] = false;
    for (struct sim_socket *socket = net.first; socket; socket = socket->next) {
        if (socket->server == server) sim_net_hang_up(socket);
    }
}

void sim_net_start_server(int server)
{
    net.is_down[server] = false;
}

bool sim_net_is_down(int server)
{
    return net.is_down[server];
}

void sim_net_end(int pid)
{
    for (struct sim_socket *socket = net.first; socket; socket = socket->next) {
        if (socket->pid == pid) end_socket(socket);
    }
    for (int i = 0; i < net.end_count; i++) {
        if (net.ends[i].pid == pid) net.ends[i].kind = FREE;
    }
}

void sim_net_begin(const struct sim_net_server *server)
{
    while (net.first) {
        struct sim_socket *socket = net.first;

        net.first = socket->next;
        clear(&socket->to_server);
        clear(&socket->to_client);
        free(socket->heard);
        free(socket);
    }
    memset(&net, 0, sizeof net);
    net.server = *server;
}

static int new_end(struct end made)
{
    int place = 0;

    while (place < net.end_count && net.ends[place].kind != FREE)
        place++;
    if (place == FDS_MAX) abort();
    if (place == net.end_count) net.end_count++;
    made.pid = sim_process_self();
    net.ends[place] = made;
    return SIM_FD_BASE + place;
}

/* NULL: one of the system's. */
static struct end *end_of(int fd)
{
    return fd >= SIM_FD_BASE ? &net.ends[fd - SIM_FD_BASE] : NULL;
}

static struct sim_socket *socket_of(int fd)
{
    return net.ends[fd - SIM_FD_BASE].socket;
}

static void connected(void *arg)
{
    struct sim_socket *socket = arg;

    if (socket->state != CONNECTING) return;
    if (link_of(socket) == LINK_HELD) { /* the handshake as well */
        sim_at(sim_now() + SIM_MS, connected, socket);
        return;
    }
    socket->state =
        net.is_down[socket->server] || link_of(socket) == LINK_CLOSED ? REFUSED : STANDS;
    if (socket->state == STANDS) socket->peer = net.server.accept(socket);
    wake_pollers(socket->pid);
}

static redisContext *connect_to(int server)
{
    struct sim_socket *socket = calloc(1, sizeof *socket);
    int fd = new_end((struct end){.kind = SOCKET, .socket = socket});

    socket->pid = sim_process_self();
    socket->fd = fd;
    socket->server = server;
    if (net.last && net.first)
        net.last->next = socket;
    else
        net.first = socket;
    net.last = socket;
    sim_at(arrival(0), connected, socket);
    return redisConnectFd(fd);
}

/* ---- ready or not ------------------------------------------------------------------------------------ */

static short events_of(const struct end *end)
{
    const struct sim_socket *socket = end->socket;

    if (end->kind == EVENT) return end->count > 0 ? POLLIN : 0;
    if (end->kind == TIMER) return end->at_ns <= sim_now() ? POLLIN : 0;
    if (end->kind == FREE) return POLLNVAL;
    if (socket->state == REFUSED) return POLLOUT | POLLERR;
    if (socket->state == ENDED) return POLLIN | POLLOUT | POLLHUP;
    if (socket->state == CONNECTING) return 0;
    return socket->heard_len > 0 ? POLLIN | POLLOUT : POLLOUT;
}

static int look(struct pollfd *fds, nfds_t count)
{
    int ready = 0;

    for (nfds_t i = 0; i < count; i++) {
        const struct end *end = fds[i].fd >= 0 ? end_of(fds[i].fd) : NULL;

        fds[i].revents = 0;
        if (end) fds[i].revents = events_of(end) & (fds[i].events | POLLERR | POLLHUP | POLLNVAL);
        ready += fds[i].revents != 0;
    }
    return ready;
}

/* When a timer among them goes off, or the moment. */
static int64_t due(const struct pollfd *fds, nfds_t count, int64_t until_ns)
{
    for (nfds_t i = 0; i < count; i++) {
        const struct end *end = fds[i].fd >= 0 ? end_of(fds[i].fd) : NULL;

        if (end && end->kind == TIMER && end->at_ns < until_ns) until_ns = end->at_ns;
    }
    return until_ns;
}

static int poll_until(struct pollfd *fds, nfds_t count, int64_t until_ns)
{
    int ready = 0;

    sim_yield();
    while ((ready = look(fds, count)) == 0 && sim_now() < until_ns)
        sim_sleep(&net.pollers[place_of(sim_process_self())], due(fds, count, until_ns));
    return ready;
}

/* ---- what is called ----------------------------------------------------------------------------------- */

SIM_CALL(redisContext *, redisConnectNonBlock, const char *host, int port)
{
    (void)host;
    return connect_to(port - SIM_PORT);
}

SIM_CALL(void, redisFree, redisContext *context)
{
    if (context) (void)close(context->fd);
    if (context) context->fd = -1;
    __real_redisFree(context);
}

SIM_CALL(int, eventfd, unsigned count, int flags)
{
    (void)flags; /* all are EFD_NONBLOCK */
    return new_end((struct end){.kind = EVENT, .count = count});
}

SIM_CALL(int, timerfd_create, int clock, int flags)
{
    (void)clock, (void)flags;
    return new_end((struct end){.kind = TIMER, .at_ns = SIM_NEVER});
}

/* Absolute, and once. */
SIM_CALL(int, timerfd_settime, int fd, int flags, const struct itimerspec *to,
         struct itimerspec *out_before)
{
    (void)flags, (void)out_before;
    net.ends[fd - SIM_FD_BASE].at_ns =
        (int64_t)to->it_value.tv_sec * 1000 * SIM_MS + to->it_value.tv_nsec;
    return 0;
}

SIM_CALL(int, close, int fd)
{
    struct end *it = end_of(fd);

    if (!it) return __real_close(fd);
    if (it->kind == SOCKET) end_socket(it->socket);
    it->kind = FREE;
    return 0;
}

SIM_CALL(int, fcntl, int fd, int command, ...)
{
    va_list more;

    va_start(more, command);
    long argument = va_arg(more, long);
    va_end(more);
    return end_of(fd) ? 0 : __real_fcntl(fd, command, argument);
}

SIM_CALL(ssize_t, read, int fd, void *out, size_t room)
{
    struct end *it = end_of(fd);

    if (!it) return __real_read(fd, out, room);
    sim_yield();
    if (it->count == 0) {
        errno = EAGAIN;
        return -1;
    }
    memcpy(out, &it->count, sizeof it->count);
    it->count = 0;
    return sizeof it->count;
}

SIM_CALL(ssize_t, write, int fd, const void *bytes, size_t len)
{
    struct end *it = end_of(fd);
    uint64_t more = 0;

    if (!it) return __real_write(fd, bytes, len);
    memcpy(&more, bytes, sizeof more);
    it->count += more;
    wake_pollers(it->pid);
    return (ssize_t)len;
}

SIM_CALL(ssize_t, send, int fd, const void *bytes, size_t len, int flags)
{
    struct sim_socket *socket = socket_of(fd);

    (void)flags;
    sim_yield();
    if (socket->state != STANDS) {
        errno = EPIPE;
        return -1;
    }
    dispatch(socket, &socket->to_server, bytes, len, deliver_to_server);
    return (ssize_t)len;
}

SIM_CALL(ssize_t, recv, int fd, void *out, size_t room, int flags)
{
    struct sim_socket *socket = socket_of(fd);
    int64_t until_ns = sim_now() + SLICE_NS;

    sim_yield();
    while (!(flags & MSG_DONTWAIT) && socket->heard_len == 0 && socket->state == STANDS &&
           sim_now() < until_ns)
        sim_sleep(socket, until_ns);
    size_t len = socket->heard_len < room ? socket->heard_len : room;
    if (len == 0) {
        errno = EAGAIN;
        return socket->state == STANDS ? -1 : 0;
    }
    memcpy(out, socket->heard, len);
    if (flags & MSG_PEEK) return (ssize_t)len;
    socket->heard_len -= len;
    memmove(socket->heard, socket->heard + len, socket->heard_len);
    return (ssize_t)len;
}

SIM_CALL(int, shutdown, int fd, int how)
{
    (void)how;
    end_socket(socket_of(fd));
    return 0;
}

SIM_CALL(int, setsockopt, int fd, int level, int name, const void *value, socklen_t len)
{
    (void)fd, (void)level, (void)name, (void)value, (void)len;
    return 0;
}

/* SO_ERROR alone. */
/* NOLINTNEXTLINE(readability-non-const-parameter): getsockopt()'s own */
SIM_CALL(int, getsockopt, int fd, int level, int name, void *out, socklen_t *len)
{
    int reason = socket_of(fd)->state == REFUSED ? ECONNREFUSED : 0;

    (void)level, (void)name, (void)len;
    memcpy(out, &reason, sizeof reason);
    return 0;
}

SIM_CALL(int, poll, struct pollfd *fds, nfds_t count, int ms)
{
    return poll_until(fds, count, ms < 0 ? SIM_NEVER : sim_now() + (int64_t)ms * SIM_MS);
}

SIM_CALL(int, __poll_chk, struct pollfd *fds, nfds_t count, int ms, size_t room)
{
    (void)room;
    return __wrap_poll(fds, count, ms);
}
