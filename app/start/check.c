/*
 * See check.h. A socket and one request, as the client of a library would be larger than this; every
 * wait has the same deadline. Runs in a process of its own.
 */
#include "check.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "net/listen_address.h"

enum { ANSWER_SIZE = 4096, SHOWN_SIZE = 256 };

struct inquiry {
    int fd;
    int64_t deadline_ms;
    char asked[LISTEN_TEXT_SIZE]; /* "127.0.0.1:8080" */
};

/* The first one; if it is any, this machine. */
static void find_address(const struct listen_addresses *list, struct inquiry *self,
                         struct listen_address *out)
{
    *out = list->address[0];
    if (out->at.any.sa_family == AF_INET6) {
        if (IN6_IS_ADDR_UNSPECIFIED(&out->at.v6.sin6_addr)) out->at.v6.sin6_addr = in6addr_loopback;
    } else if (out->at.v4.sin_addr.s_addr == htonl(INADDR_ANY)) {
        out->at.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
    (void)listen_address_show(out, self->asked);
}

/* Returns  false with errno when it is not so in time. */
static bool wait_until(const struct inquiry *self, short events)
{
    struct pollfd wait = {.fd = self->fd, .events = events};
    int64_t left_ms = self->deadline_ms - clock_mono_ms();

    if (left_ms > 0 && poll(&wait, 1, (int)left_ms) == 1) return true;
    errno = ETIMEDOUT;
    return false;
}

static bool connect_in_time(struct inquiry *self, const struct listen_address *where)
{
    int error = 0;
    socklen_t size = sizeof error;

    self->fd = socket(where->at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (self->fd < 0) return false;
    if (connect(self->fd, &where->at.any, where->len) == 0) return true;
    if (errno != EINPROGRESS || !wait_until(self, POLLOUT)) return false;
    if (getsockopt(self->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return false;
    errno = error;
    return error == 0;
}

static bool send_request(const struct inquiry *self)
{
    char request[128];
    int len =
        snprintf(request, sizeof request,
                 "GET /readyz HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", self->asked);

    return send(self->fd, request, (size_t)len, MSG_NOSIGNAL) == len; /* new sockets take as much */
}

/* All of it, up to the end of the connection. */
static bool read_answer(const struct inquiry *self, char out[ANSWER_SIZE])
{
    size_t len = 0;
    ssize_t got = 1;

    while (got > 0 && len < ANSWER_SIZE - 1) {
        if (!wait_until(self, POLLIN)) return false;
        got = recv(self->fd, out + len, ANSWER_SIZE - 1 - len, 0);
        if (got < 0) return false;
        len += (size_t)got;
    }
    out[len] = '\0';
    return true;
}

/* Print the first line of what was said. Returns  whether it came with 200. */
static bool print_answer(const struct inquiry *self, char *answer)
{
    char shown[SHOWN_SIZE];
    int status = 0;
    char *body = strstr(answer, "\r\n\r\n");

    if (!body ||
        sscanf(answer, "HTTP/1.1 %3d ", &status) != 1) { /* NOLINT(cert-err34-c): 3 digits */
        (void)fprintf(stderr, "seckilld: %s: what answers there is no seckilld\n", self->asked);
        return false;
    }
    body += 4;
    body[strcspn(body, "\r\n")] = '\0';
    log_escape(body, shown, sizeof shown);
    (void)printf("%s\n", shown);
    return status == 200;
}

bool check_run(const struct listen_addresses *addresses)
{
    struct inquiry self = {.fd = -1, .deadline_ms = clock_mono_ms() + CHECK_MS};
    struct listen_address where;
    char answer[ANSWER_SIZE];
    bool is_ready = false;

    find_address(addresses, &self, &where);
    if (connect_in_time(&self, &where) && send_request(&self) && read_answer(&self, answer)) {
        is_ready = print_answer(&self, answer);
    } else {
        (void)fprintf(stderr, "seckilld: %s: no answer: %s\n", self.asked, strerrordesc_np(errno));
    }
    if (self.fd >= 0) (void)close(self.fd);
    return is_ready;
}
