/*
 * Who may touch a connection is one word:
 *   FREE   the connection's own thread
 *   LENT   whoever answers the purchase that is in group commit
 * with one bit more (WATCHED) when the own thread sleeps until it is FREE again. Closing waits too,
 * for a deadline and a round trip at most: a client that has only closed its writing half gets its
 * answer, and a socket in use is never one that was closed and given to another client.
 */
#include "connection.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/served.h"

enum connection_use { FREE, LENT, WATCHED = 16 };

struct connection *connection_new(void)
{
    struct connection *self = calloc(1, sizeof *self);

    if (self) self->fd = -1;
    return self;
}

void connection_close(struct connection *self)
{
    if (!self) return;
    connection_settle(self);
    free(self->room);
    free(self);
}

/* ---- the socket --------------------------------------------------------------------------------- */

void connection_send(const struct connection *self, const char *data, size_t len)
{
    ssize_t sent = send(self->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);

    /* Gone, or its buffer is full of unread answers: its thread will see the end and close. */
    if (sent != (ssize_t)len) (void)shutdown(self->fd, SHUT_RDWR);
}

void connection_linger(const struct connection *self)
{
    enum { LEAVE_MS = 200 };
    char waste[4096];
    struct pollfd more = {.fd = self->fd, .events = POLLIN};
    int64_t deadline_ms = clock_mono_ms() + LEAVE_MS;
    int64_t left_ms = LEAVE_MS;
    int unsent = 0;

    if (recv(self->fd, waste, sizeof waste, MSG_DONTWAIT) <= 0 &&
        (ioctl(self->fd, SIOCOUTQ, &unsent) != 0 || unsent == 0))
        return;
    served_set_turn(self->fd, CONN_CLIENT_SENDS); /* in a crowd, less long */
    (void)shutdown(self->fd, SHUT_WR);
    while (left_ms > 0 && poll(&more, 1, (int)left_ms) == 1 &&
           recv(self->fd, waste, sizeof waste, MSG_DONTWAIT) > 0)
        left_ms = deadline_ms - clock_mono_ms();
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

    served_set_turn(self->fd, CONN_CLIENT_IDLE);
    use = atomic_exchange(&self->use, FREE);
    /* From here the connection may be gone; waking at its address harms nobody. */
    if (use & WATCHED) {
        (void)syscall(SYS_futex, &self->use, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}
