/*
 * Who may touch a connection is one word:
 *   FREE   the connection's own thread
 *   LENT   whoever answers the purchase that is in group commit
 * with one bit more (WATCHED) when the own thread sleeps until it is FREE again. Closing waits too,
 * for a deadline and a round trip at most: a client that has only closed its writing half gets its
 * answer, and a socket in use is never one that was closed and given to another client.
 */
#include "connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"

enum {
    UNSOUGHT = -1,
    NOT_FOUND = -2,
    FD_MAX = 32768, /* above what --connections can ask for */
};

enum connection_use { FREE, LENT, WATCHED = 16 };

struct connection *connection_new(void)
{
    struct connection *self = calloc(1, sizeof *self);

    if (self) self->fd = UNSOUGHT;
    return self;
}

void connection_close(struct connection *self)
{
    if (!self) return;
    connection_settle(self);
    free(self);
}

/* ---- the socket --------------------------------------------------------------------------------- */

/* Whether this is the socket with that far end and that port at our end. */
static bool is_socket(int fd, const struct sockaddr_in *peer, in_port_t local_port)
{
    struct sockaddr_in found = {0};
    socklen_t len = sizeof found;

    if (getpeername(fd, (struct sockaddr *)&found, &len) != 0 || found.sin_family != AF_INET ||
        found.sin_port != peer->sin_port || found.sin_addr.s_addr != peer->sin_addr.s_addr) {
        return false;
    }
    len = sizeof found;
    return getsockname(fd, (struct sockaddr *)&found, &len) == 0 && found.sin_port == local_port;
}

bool connection_find_socket(struct connection *self, const char *remote_addr, int remote_port,
                            int local_port)
{
    /* Connections that come one after the other have neighbouring sockets: look around the last. */
    static atomic_int guess;
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons((uint16_t)remote_port)};
    int middle = atomic_load_explicit(&guess, memory_order_relaxed);

    if (self->fd != UNSOUGHT) return self->fd >= 0;
    self->fd = NOT_FOUND;
    if (inet_pton(AF_INET, remote_addr, &peer.sin_addr) != 1) return false;
    for (int i = 0; i < 2 * FD_MAX && self->fd < 0; i++) {
        int fd = i % 2 ? middle - 1 - i / 2 : middle + i / 2;

        if (fd < 0 || fd >= FD_MAX || !is_socket(fd, &peer, htons((uint16_t)local_port))) continue;
        self->fd = fd;
        atomic_store_explicit(&guess, fd, memory_order_relaxed);
    }
    return self->fd >= 0;
}

void connection_send(const struct connection *self, const char *data, size_t len)
{
    ssize_t sent = send(self->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);

    /* Gone, or its buffer is full of unread answers: its thread will see the end and close. */
    if (sent != (ssize_t)len) (void)shutdown(self->fd, SHUT_RDWR);
}

/* ---- streams ------------------------------------------------------------------------------------ */

void connection_begin_stream(const struct connection *self)
{
    enum { BUFFER_BYTES = 16384, UNANSWERED_MS = 20000 };
    int bytes = BUFFER_BYTES;
    unsigned unanswered_ms = UNANSWERED_MS;

    /* If either is refused, the far end is noticed later. */
    (void)setsockopt(self->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    (void)setsockopt(self->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, sizeof unanswered_ms);
}

connection_event connection_write(const struct connection *self, const char *data, size_t len,
                                  int64_t limit_ms)
{
    int64_t deadline_ms = clock_mono_ms() + limit_ms;

    while (len > 0) {
        struct pollfd room = {.fd = self->fd, .events = POLLOUT};
        ssize_t sent = send(self->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
        int64_t left_ms = deadline_ms - clock_mono_ms();

        if (sent > 0) {
            data += sent;
            len -= (size_t)sent;
            continue;
        }
        if (sent < 0 && errno != EAGAIN && errno != EINTR) return CONNECTION_GONE;
        if (left_ms <= 0) return CONNECTION_SLOW;
        (void)poll(&room, 1, (int)left_ms); /* whatever came of it, send() says */
    }
    return CONNECTION_FINE;
}

connection_event connection_wait(const struct connection *self, int wake_fd, int64_t limit_ms)
{
    struct pollfd ends[] = {{.fd = self->fd, .events = POLLRDHUP},
                            {.fd = wake_fd, .events = POLLIN}};

    if (poll(ends, 2, (int)limit_ms) <= 0) return CONNECTION_FINE; /* a signal: as if it was over */
    if (ends[0].revents) return CONNECTION_GONE;
    return ends[1].revents ? CONNECTION_WOKEN : CONNECTION_FINE;
}

void connection_end_stream(const struct connection *self)
{
    (void)shutdown(self->fd, SHUT_RDWR); /* else civetweb waits for the client's end */
}

/* ---- silent clients ----------------------------------------------------------------------------- */

void connection_begin_listening(struct connection *self)
{
    atomic_store_explicit(&self->silent_since_ms, clock_mono_ms(), memory_order_release);
}

void connection_end_listening(struct connection *self)
{
    atomic_store_explicit(&self->silent_since_ms, 0, memory_order_relaxed);
}

void connection_give_up(const struct connection *self, int64_t before_ms)
{
    int64_t since_ms = atomic_load_explicit(&self->silent_since_ms, memory_order_acquire);

    /* What has come meanwhile is read and answered still; then its thread sees the end. */
    if (since_ms > 0 && since_ms < before_ms && self->fd >= 0) (void)shutdown(self->fd, SHUT_RD);
}

/* ---- the purchase ------------------------------------------------------------------------------- */

void connection_settle(struct connection *self)
{
    uint32_t use = atomic_load(&self->use);

    while ((use & ~(uint32_t)WATCHED) != FREE) {
        if (!(use & WATCHED) && !atomic_compare_exchange_strong(&self->use, &use, use | WATCHED)) {
            continue;
        }
        (void)syscall(SYS_futex, &self->use, FUTEX_WAIT_PRIVATE, use | WATCHED, NULL, NULL, 0);
        use = atomic_load(&self->use);
    }
}

void connection_begin(struct connection *self, const struct http_request *request,
                      const char *sale_id)
{
    self->request = *request;
    if (request->request_id) {
        self->request.request_id =
            strncpy(self->request_id, request->request_id, sizeof self->request_id - 1);
    }
    (void)strncpy(self->sale_id, sale_id, sizeof self->sale_id - 1);
    self->purchase = (struct purchase){.buyer = self->buyer, .key = self->key};
    self->request.is_detached = true;
    atomic_store(&self->use, LENT);
}

void connection_answered(struct connection *self)
{
    uint32_t use = 0;

    connection_begin_listening(self);
    use = atomic_exchange(&self->use, FREE);
    /* From here the connection may be gone; waking at its address harms nobody. */
    if (use & WATCHED) {
        (void)syscall(SYS_futex, &self->use, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}
