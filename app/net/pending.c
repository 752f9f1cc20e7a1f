/*
 * Clients outside: accepted, and their heads looked at without being taken (MSG_PEEK). When a head and
 * its body are there, or nobody needs to wait for more, one is ready. The acceptor's thread.
 */
#include "pending.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "client_conns.h"

enum {
    OPENING_MS = 2500, /* the first request has been said by then */
    ACCEPTS_MAX = 256, /* before others are looked after */
};

/* What is expected behind a head, as far as it is worth waiting for: nothing where it will be refused. */
static size_t body_len_of(const char *head, size_t body_max)
{
    static const char length[] = "content-length:";
    unsigned long len = 0;

    while ((head = strchr(head, '\n'))) {
        bool is_header = isalpha((unsigned char)*++head);

        if (!is_header || strncasecmp(head, "expect:", 7) == 0) return 0;
        if (strncasecmp(head, length, sizeof length - 1) == 0)
            len = strtoul(head + sizeof length - 1, NULL, 10);
    }
    return len <= body_max ? len : 0;
}

/* Whether there is nothing more to wait for before civetweb's thread looks at it. */
static bool is_whole(char *head, size_t len, size_t body_max)
{
    char *end = NULL;

    if (len == CLIENT_CONNS_HEAD_MAX || strlen(head) < len || strstr(head, "\n\n"))
        return true;                /* refused */
    end = strstr(head, "\r\n\r\n"); /* as civetweb has it, or it would wait inside */
    if (!end) return false;
    *end = '\0';
    return (size_t)(end + 4 - head) + body_len_of(head, body_max) <= len;
}

/* The client has said something, or hung up. */
void pending_receive_locked(struct acceptor *self, struct client_conn *conn)
{
    ssize_t len = 0;
    size_t empty = 0;

    if (conn->stage != CONN_PENDING) return; /* an event of one that has moved on */
    len = recv(client_conns_fd(conn), self->head, CLIENT_CONNS_HEAD_MAX, MSG_PEEK | MSG_DONTWAIT);
    if (len < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (len <= 0) {
        client_conns_close_locked(conn);
        return;
    }
    conn->has_sent = true;
    self->head[len] = '\0';
    empty = strspn(self->head, "\r\n"); /* civetweb would answer empty lines */
    if (empty > 0) (void)recv(client_conns_fd(conn), NULL, empty, MSG_TRUNC | MSG_DONTWAIT);
    if (is_whole(self->head + empty, (size_t)len - empty, self->options.body_max))
        client_conns_move_locked(conn, CONN_READY);
}

static bool is_late(const struct acceptor *self, const struct client_conn *conn, int64_t now_ms)
{
    bool is_closing_silent = self->scheduler.is_draining && !conn->has_sent;

    return now_ms - conn->since_ms >= (is_closing_silent ? CLIENT_CONNS_DRAIN_MS : OPENING_MS);
}

void pending_close_slow_locked(struct acceptor *self, int64_t now_ms)
{
    struct client_conn *next = NULL;

    for (struct client_conn *each = self->scheduler.list[CONN_PENDING].first; each; each = next) {
        next = each->next;
        if (!is_late(self, each, now_ms)) {
            if (!self->scheduler.is_draining) return; /* the oldest come first */
            continue;
        }
        pending_receive_locked(self, each); /* what was said while this thread stood still counts */
        if (each->stage != CONN_PENDING || !is_late(self, each, now_ms)) continue;
        if (each->has_sent) self->options.refuse(client_conns_fd(each), ACCEPTOR_TOO_SLOW);
        client_conns_close_locked(each);
    }
}

static void drop_surplus_locked(struct acceptor *self)
{
    struct client_conn *conn = NULL;
    unsigned count = 0;

    for (size_t i = CONN_PENDING; i <= CONN_SERVED; i++)
        count += self->scheduler.list[i].count;
    if (count <= self->scheduler.places + ACCEPTOR_PENDING_MAX) return;
    conn = conn_scheduler_surplus(&self->scheduler);
    if (conn->stage == CONN_READY) self->options.refuse(client_conns_fd(conn), ACCEPTOR_TOO_MANY);
    client_conns_close_locked(conn);
}

static void add_connection(struct acceptor *self, int fd, const struct client_address *peer)
{
    struct client_walk walk; /* ends at once unless the peer is a proxy that we trust */
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.fd = fd};
    struct client_conn *conn = &client_conns[fd];
    struct conn_scheduler_group *group = NULL;
    struct stat info = {0};

    (void)fstat(fd, &info); /* of a socket of ours */
    client_address_walk_begin(&walk, self->options.trusted, peer);
    client_conns_lock();
    /* Its descriptor is free again, so that one was closed, whatever was told of it. */
    if (conn->stage != CONN_NONE) client_conns_move_locked(conn, CONN_NONE);
    conn->owner = self;
    group = conn_scheduler_group(&self->scheduler, &walk.peer, !walk.is_over);
    if (group) {
        conn->socket = info.st_ino;
        conn->peer = *peer;
        conn->since_ms = clock_mono_ms();
        conn->has_sent = conn->is_polled = false;
        client_conns_place_locked(conn, CONN_PENDING, group);
        pending_receive_locked(self, conn); /* most have said it by now */
        if (conn->stage == CONN_PENDING) {
            conn->is_polled = epoll_ctl(self->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
            if (!conn->is_polled) client_conns_close_locked(conn);
        }
        drop_surplus_locked(self);
    } else {
        (void)close(fd);
    }
    client_conns_unlock();
}

/* Returns whether nobody is left who has connected there. */
bool pending_accept(struct acceptor *self, int listen_fd)
{
    struct sockaddr_storage from;
    struct client_address peer;

    for (int i = 0; i < ACCEPTS_MAX; i++) {
        socklen_t len = sizeof from;
        int fd = accept4(listen_fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0 && errno != EAGAIN)
            clock_pause_ms(1); /* no descriptor, no memory: not in a circle */
        if (fd < 0) return true;
        client_address_of_socket(&from, &peer);
        if (fd < CLIENT_CONNS_MAX) {
            add_connection(self, fd, &peer);
        } else {
            (void)close(fd);
        }
    }
    return false;
}
