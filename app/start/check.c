/*
 * See check.h. A socket and one request, as the client of a library would be larger than this; every
 * wait has the same deadline. Runs in a process of its own.
 */
#include "check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

enum { ANSWER_SIZE = 4096, SHOWN_SIZE = 256, ADDRESS_SIZE = 32 };

struct inquiry {
    int fd;
    int64_t deadline_ms;
    char asked[ADDRESS_SIZE]; /* "127.0.0.1:8080" */
};

static bool find_address(const char *address, struct inquiry *self, struct sockaddr_in *out)
{
    const char *colon = strrchr(address, ':');
    char host[INET_ADDRSTRLEN] = "";

    if (!colon || (size_t)(colon - address) >= sizeof host) return false;
    memcpy(host, address, (size_t)(colon - address));
    *out = (struct sockaddr_in){.sin_family = AF_INET};
    out->sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    if (inet_pton(AF_INET, host, &out->sin_addr) != 1) return false;
    if (out->sin_addr.s_addr == htonl(INADDR_ANY)) out->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)inet_ntop(AF_INET, &out->sin_addr, host, sizeof host); /* it fits */
    (void)snprintf(self->asked, sizeof self->asked, "%s:%u", host, ntohs(out->sin_port));
    return true;
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

static bool connect_in_time(struct inquiry *self, const struct sockaddr_in *where)
{
    int error = 0;
    socklen_t size = sizeof error;

    self->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (self->fd < 0) return false;
    if (connect(self->fd, (const struct sockaddr *)where, sizeof *where) == 0) return true;
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
static bool tell(const struct inquiry *self, char *answer)
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

bool check_run(const char *address)
{
    struct inquiry self = {.fd = -1, .deadline_ms = clock_mono_ms() + CHECK_MS};
    struct sockaddr_in where;
    char answer[ANSWER_SIZE];
    bool is_ready = false;

    errno = EINVAL;
    if (find_address(address, &self, &where) && connect_in_time(&self, &where) &&
        send_request(&self) && read_answer(&self, answer)) {
        is_ready = tell(&self, answer);
    } else {
        (void)fprintf(stderr, "seckilld: %s: no answer: %s\n", self.asked, strerrordesc_np(errno));
    }
    if (self.fd >= 0) (void)close(self.fd);
    return is_ready;
}
