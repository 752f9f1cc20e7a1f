/*
 * Sockets for tests. The echo server has one thread and one epoll; it echoes through a bounded
 * buffer per read, and waits for slow readers.
 */
#include "lt_net.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { LIMIT_S = 5, ECHO_FDS = 4096, ECHO_BLOCK = 16384, ECHO_LOOK_MS = 20, TEXT_MAX = 4096 };

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

int lt_listen(int *out_port)
{
    struct sockaddr_in where = loopback(0);
    socklen_t length = sizeof where;
    void *address = &where;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0) return -1;
    if (bind(fd, address, length) != 0 || listen(fd, SOMAXCONN) != 0 ||
        getsockname(fd, address, &length) != 0) {
        (void)close(fd);
        return -1;
    }
    *out_port = ntohs(where.sin_port);
    return fd;
}

void lt_limit(int fd, int limit_s)
{
    struct timeval limit = {.tv_sec = limit_s};

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

static int with_limits(int fd)
{
    int on = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* unix sockets refuse: fine */
    lt_limit(fd, LIMIT_S);
    return fd;
}

static int connect_to(int family, const void *address, socklen_t length)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, address, length) == 0) return fd < 0 ? fd : with_limits(fd);
    int reason = errno;
    (void)close(fd);
    errno = reason;
    return -1;
}

int lt_connect(int port)
{
    struct sockaddr_in where = loopback(port);
    return connect_to(AF_INET, &where, sizeof where);
}

int lt_connect_unix(const char *path)
{
    struct sockaddr_un where = {.sun_family = AF_UNIX};

    (void)snprintf(where.sun_path, sizeof where.sun_path, "%.100s", path);
    return connect_to(AF_UNIX, &where, sizeof where);
}

void lt_hang_up(int *fd)
{
    if (*fd >= 0) (void)close(*fd);
    *fd = -1;
}

int lt_port_of(const char *url)
{
    return (int)strtol(strrchr(url, ':') + 1, NULL, 10);
}

bool lt_comes(int listener, int limit_ms)
{
    struct pollfd one = {.fd = listener, .events = POLLIN};
    return poll(&one, 1, limit_ms) == 1;
}

int lt_accept(int listener)
{
    if (!lt_comes(listener, LIMIT_S * 1000)) return -1;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    return fd < 0 ? fd : with_limits(fd);
}

bool lt_send(int fd, const char *text)
{
    size_t length = strlen(text);
    return send(fd, text, length, MSG_NOSIGNAL) == (ssize_t)length;
}

bool lt_receives(int fd, const char *text)
{
    char got[TEXT_MAX];
    size_t length = strlen(text);

    return length <= sizeof got && recv(fd, got, length, MSG_WAITALL) == (ssize_t)length &&
           memcmp(got, text, length) == 0;
}

lt_ending lt_next(int fd, int limit_ms)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};
    char byte = 0;

    if (poll(&one, 1, limit_ms) != 1) return LT_SILENCE;
    ssize_t count = recv(fd, &byte, 1, 0);
    if (count > 0) return LT_BYTES;
    if (count == 0) return LT_END;
    return errno == ECONNRESET ? LT_RESET : LT_OTHER;
}

unsigned char lt_byte(unsigned stream, uint64_t n)
{
    return (unsigned char)((uint64_t)stream * 17 + n * 31 + n / 253);
}

/* ---- HTTP ------------------------------------------------------------------------------------- */

size_t lt_http_read(int fd, char *out, size_t size)
{
    size_t length = 0;
    size_t whole = size; /* known once the head is there */

    out[0] = '\0';
    while (length < whole) {
        ssize_t got = recv(fd, out + length, size - 1 - length, 0);
        if (got <= 0) return 0;
        length += (size_t)got;
        out[length] = '\0';
        const char *end = strstr(out, "\r\n\r\n");
        const char *body = strcasestr(out, "\r\nContent-Length:");
        if (!end) continue;
        whole = (size_t)(end + 4 - out);
        if (body && body < end) whole += strtoul(body + 17, NULL, 10);
    }
    return length;
}

long lt_http_ask(int *fd, int port, const char *request, char *out, size_t size)
{
    out[0] = '\0';
    if (*fd < 0) *fd = lt_connect(port);
    bool is_answered = *fd >= 0 && lt_send(*fd, request) && lt_http_read(*fd, out, size) > 0;
    if (!is_answered || strcasestr(out, "\nConnection: close")) lt_hang_up(fd);
    return is_answered ? strtol(out + sizeof "HTTP/1.1", NULL, 10) : 0;
}

bool lt_find_word(const char *text, const char *label, char *out, size_t size)
{
    const char *at = strstr(text, label);
    size_t length = at ? strcspn(at + strlen(label), "\"") : 0;

    out[0] = '\0';
    if (!at || length >= size) return false;
    memcpy(out, at + strlen(label), length);
    out[length] = '\0';
    return true;
}

/* ---- echo ------------------------------------------------------------------------------------- */

struct lt_echo {
    pthread_t thread;
    atomic_bool is_over;
    int listener, epoll_fd;
    bool is_open[ECHO_FDS]; /* by descriptor; the thread's alone */
};

static void watch(const struct lt_echo *echo, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    (void)epoll_ctl(echo->epoll_fd, EPOLL_CTL_ADD, fd, &event); /* a test will miss its echo */
}

static void forget(struct lt_echo *echo, int fd)
{
    echo->is_open[fd] = false;
    (void)close(fd);
}

static void greet(struct lt_echo *echo)
{
    int fd = accept4(echo->listener, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0) return;
    if (fd >= ECHO_FDS) {
        (void)close(fd);
        return;
    }
    echo->is_open[fd] = true;
    watch(echo, with_limits(fd));
}

static void echo_once(struct lt_echo *echo, int fd)
{
    char block[ECHO_BLOCK];
    ssize_t count = recv(fd, block, sizeof block, MSG_DONTWAIT);

    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0 || send(fd, block, (size_t)count, MSG_NOSIGNAL) != count) forget(echo, fd);
}

static void *run_echo(void *arg)
{
    struct lt_echo *echo = arg;
    struct epoll_event events[64];

    while (!atomic_load(&echo->is_over)) {
        int count = epoll_wait(echo->epoll_fd, events, 64, ECHO_LOOK_MS);
        for (int i = 0; i < count; i++) {
            if (events[i].data.fd == echo->listener)
                greet(echo);
            else
                echo_once(echo, events[i].data.fd);
        }
    }
    for (int fd = 0; fd < ECHO_FDS; fd++)
        if (echo->is_open[fd]) forget(echo, fd);
    return NULL;
}

struct lt_echo *lt_echo_start(int *out_port)
{
    struct lt_echo *echo = calloc(1, sizeof *echo);

    if (!echo) return NULL;
    echo->listener = lt_listen(out_port);
    echo->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    watch(echo, echo->listener);
    if (echo->listener >= 0 && echo->epoll_fd >= 0 &&
        pthread_create(&echo->thread, NULL, run_echo, echo) == 0)
        return echo;
    free(echo);
    return NULL;
}

void lt_echo_stop(struct lt_echo *echo)
{
    if (!echo) return;
    atomic_store(&echo->is_over, true);
    (void)pthread_join(echo->thread, NULL);
    (void)close(echo->listener);
    (void)close(echo->epoll_fd);
    free(echo);
}
