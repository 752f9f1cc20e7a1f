/*
 * How a descriptor gets to civetweb, which can only accept() from a socket of its own. We let it listen
 * on a port of the loopback that it chooses, put an eventfd in that descriptor's place before it looks,
 * and define accept(), which the dynamic linker finds before libc's. The client's port, of which nobody
 * asks, carries the descriptor: so a handler knows its socket. Not good enough: to find it by its two
 * ends (wrong with two local addresses); a filter of packets (knows nobody's share); to close in
 * civetweb's first callback (it comes when a thread is taken already, and tells no address). In the same
 * way poll() bounds how long civetweb reads what drips; to read it byte by byte costs 10 us a request.
 *
 * A full house makes room: clients inside whose turn it is, and who say nothing, are given up, first of
 * the address that has most.
 */
#include "served.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "client_conns.h"

enum {
    IDLE_MS = 30,       /* of a client inside, while others wait: more than the next packet takes */
    READING_MS = 60,    /* an answer that is read at all has mostly gone out at once */
    PROXY_MS = 2000,    /* a trusted proxy's connections are idle for good reason */
    EVICTIONS_MAX = 32, /* in one tick */
};

/* civetweb's accept() tells only its socket; one listener for buyers, one for operators. */
static struct acceptor *_Atomic taken_over[2];

void served_set_turn(int fd, conn_turn turn)
{
    int64_t until_ms = 0;

    if (fd < 0) return;
    if (turn != CONN_SERVER_WORKS)
        until_ms = clock_mono_ms() + (turn == CONN_CLIENT_READS ? READING_MS : IDLE_MS);
    atomic_store_explicit(&client_conns[fd].turn, turn, memory_order_relaxed);
    atomic_store_explicit(&client_conns[fd].grace_until_ms, until_ms, memory_order_relaxed);
}

void served_admit_locked(struct acceptor *self, struct client_conn *conn)
{
    if (conn->is_polled)
        (void)epoll_ctl(self->epoll_fd, EPOLL_CTL_DEL, client_conns_fd(conn), NULL);
    conn->is_handled = false;
    served_set_turn(client_conns_fd(conn), CONN_CLIENT_READS); /* should it want more after all */
    client_conns_move_locked(conn, CONN_HANDED_OVER);
    (void)eventfd_write(self->handover_fd, 1);
}

/* Whether civetweb has closed it before it called any handler. */
static bool is_closed_by_library(const struct client_conn *conn)
{
    struct stat info;

    return !conn->is_handled &&
           (fstat(client_conns_fd(conn), &info) != 0 || info.st_ino != conn->socket);
}

/* What it has said is read and answered still; then its thread sees the end. */
static void evict_locked(struct client_conn *conn)
{
    if (is_closed_by_library(conn)) { /* its descriptor may be somebody else's */
        client_conns_move_locked(conn, CONN_NONE);
        return;
    }
    bool is_writing =
        conn->stage == CONN_STREAMING || atomic_load(&conn->turn) == CONN_CLIENT_READS;

    conn_scheduler_note_evicted(&conn->owner->scheduler, conn);
    (void)shutdown(client_conns_fd(conn), is_writing ? SHUT_RDWR : SHUT_RD);
}

void served_evict_idle_locked(struct acceptor *self, int64_t now_ms)
{
    const struct conn_list *served = &self->scheduler.list[CONN_SERVED];
    unsigned wanted =
        self->scheduler.is_draining ? served->count : self->scheduler.list[CONN_READY].count;

    for (int i = 0; i < EVICTIONS_MAX && served->closing < wanted; i++) {
        struct client_conn *conn =
            self->scheduler.is_draining
                ? conn_scheduler_idle(&self->scheduler, now_ms - CLIENT_CONNS_DRAIN_MS, 0)
                : conn_scheduler_idle(&self->scheduler, now_ms, PROXY_MS);

        if (!conn) return;
        evict_locked(conn);
    }
}

/* ---- a connection inside --------------------------------------------------------------------------- */

const struct client_address *served_peer(int fd)
{
    return &client_conns[fd].peer;
}

void served_note_handled(int fd)
{
    client_conns_lock();
    client_conns[fd].is_handled = true;
    client_conns_unlock();
}

bool served_begin_stream(int fd, const struct client_address *client)
{
    struct client_conn *conn = &client_conns[fd];
    struct acceptor *self = NULL;
    struct conn_scheduler_group *group = NULL;
    struct client_conn *instead = NULL;
    bool good = false;

    client_conns_lock();
    self = conn->owner;
    group = conn_scheduler_group(&self->scheduler, client, false);
    good = group && conn_scheduler_has_stream(&self->scheduler, group, &instead);
    if (instead) evict_locked(instead);
    if (good) {
        /* Behind a proxy that is another address's share. */
        client_conns_place_locked(conn, CONN_STREAMING, group);
    } else if (group) {
        conn_scheduler_drop_group(&self->scheduler, group);
    }
    client_conns_unlock();
    if (good) client_conns_wake(self);
    return good;
}

/* Those that civetweb has closed before it called any handler: their sockets are no more. */
static void sweep_locked(struct acceptor *self)
{
    struct client_conn *next = NULL;

    for (struct client_conn *each = self->scheduler.list[CONN_SERVED].first; each; each = next) {
        next = each->next;
        if (is_closed_by_library(each)) client_conns_move_locked(each, CONN_NONE);
    }
}

void served_note_closed(struct acceptor *self, int fd)
{
    client_conns_lock();
    if (fd < 0) {
        sweep_locked(self);
    } else {
        client_conns_move_locked(&client_conns[fd], CONN_NONE);
    }
    client_conns_unlock();
    if (atomic_load(&self->waiting) > 0) client_conns_wake(self);
}

bool served_is_place_wanted(struct acceptor *self, int fd)
{
    bool result = false;

    client_conns_lock();
    result = conn_scheduler_wants_place_of(&self->scheduler, client_conns[fd].group);
    client_conns_unlock();
    return result;
}

/* ---- what civetweb calls instead of libc's ---------------------------------------------------------- */

int served_accept(int fd, struct sockaddr *out_peer, socklen_t *len) __asm__("accept");

int served_accept(int fd, struct sockaddr *out_peer, socklen_t *len)
{
    struct acceptor *self = NULL;
    struct client_conn *conn = NULL;
    eventfd_t one = 0;
    int given = -1;

    for (size_t i = 0; i < 2 && !self; i++) {
        self = atomic_load(&taken_over[i]);
        if (self && self->library_fd != fd) self = NULL;
    }
    if (!self) return accept4(fd, out_peer, len, 0);
    atomic_store_explicit(&self->is_accepting, true, memory_order_relaxed);
    errno = EAGAIN;
    if (eventfd_read(self->handover_fd, &one) != 0) return -1;
    client_conns_lock();
    conn = self->scheduler.list[CONN_HANDED_OVER].first;
    if (conn) {
        struct sockaddr_in peer = {.sin_family = AF_INET};

        given = client_conns_fd(conn);
        peer.sin_port = htons((uint16_t)given);
        peer.sin_addr.s_addr = htonl(INADDR_LOOPBACK); /* served_peer() tells who it is */
        assert(*len >= sizeof peer);
        memcpy(out_peer, &peer, sizeof peer);
        *len = sizeof peer;
        client_conns_move_locked(conn, CONN_SERVED);
    }
    client_conns_unlock();
    return given;
}

static _Thread_local int64_t read_deadline_ms; /* 0: no such moment */

void served_set_read_deadline(int64_t until_ms)
{
    read_deadline_ms = until_ms;
}

int served_poll(struct pollfd *ends, nfds_t count, int wait_ms) __asm__("poll");

int served_poll(struct pollfd *ends, nfds_t count, int wait_ms)
{
    if (read_deadline_ms > 0) {
        int64_t left_ms = read_deadline_ms - clock_mono_ms();

        errno = ETIMEDOUT;
        if (left_ms <= 0) return -1;
        if (wait_ms < 0 || wait_ms > left_ms) wait_ms = (int)left_ms;
    }
    const struct timespec wait = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000L};
    return ppoll(ends, count, wait_ms < 0 ? NULL : &wait, NULL);
}

/* The socket that listens on this port; -1: none does. */
static int find_listener(int port)
{
    for (int fd = 0; fd < CLIENT_CONNS_MAX; fd++) {
        struct sockaddr_in where = {0};
        socklen_t len = sizeof where;
        int listens = 0;
        socklen_t listens_len = sizeof listens;

        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_len) == 0 && listens &&
            getsockname(fd, (struct sockaddr *)&where, &len) == 0 && where.sin_family == AF_INET &&
            where.sin_addr.s_addr == htonl(INADDR_LOOPBACK) && ntohs(where.sin_port) == port)
            return fd;
    }
    return -1;
}

bool served_take_over_listener(struct acceptor *self, int library_port)
{
    int fd = find_listener(library_port);
    struct acceptor *none = NULL;

    if (fd < 0 || dup3(self->handover_fd, fd, O_CLOEXEC) < 0) return false;
    self->library_fd = fd;
    if (atomic_compare_exchange_strong(&taken_over[0], &none, self)) return true;
    none = NULL;
    return atomic_compare_exchange_strong(&taken_over[1], &none, self);
}

bool served_is_accepting(struct acceptor *self)
{
    enum { LIBRARY_WAIT_MS = 1000 };

    served_wake_library(self);
    for (int i = 0; i < LIBRARY_WAIT_MS && !atomic_load(&self->is_accepting); i++)
        clock_pause_ms(1);
    return atomic_load(&self->is_accepting);
}

void served_wake_library(struct acceptor *self)
{
    (void)eventfd_write(self->handover_fd, 1);
}

void served_give_back_listener(struct acceptor *acceptor)
{
    for (size_t i = 0; i < 2; i++) {
        struct acceptor *mine = acceptor;

        (void)atomic_compare_exchange_strong(&taken_over[i], &mine, NULL);
    }
}
