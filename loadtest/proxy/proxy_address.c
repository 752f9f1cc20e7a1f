/*
 * Addresses and the sockets made of them. One thread.
 */
#include "proxy_address.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char unix_prefix[] = "unix://";

static bool is_unix(const struct proxy_address *address)
{
    return address->where.ss_family == AF_UNIX;
}

bool proxy_address_of_path(struct proxy_address *address, const char *path, struct failure *failure)
{
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    size_t length = strlen(path);

    if (length == 0 || length >= sizeof where.sun_path)
        return failure_set(failure, "\"%s\" is not a path of 1 to %zu bytes", path,
                           sizeof where.sun_path - 1);
    memcpy(where.sun_path, path, length + 1);
    *address = (struct proxy_address){.length = sizeof where};
    memcpy(&address->where, &where, sizeof where);
    (void)snprintf(address->text, sizeof address->text, "%s%s", unix_prefix, path);
    return true;
}

/* "HOST:PORT" or "[HOST]:PORT" -> its two parts. */
static bool split(const char *text, char host[PROXY_ADDRESS_TEXT_MAX], const char **out_port)
{
    const char *colon = strrchr(text, ':');

    if (!colon || colon == text || strlen(text) >= PROXY_ADDRESS_TEXT_MAX) return false;
    bool is_bracketed = text[0] == '[' && colon[-1] == ']';
    const char *from = is_bracketed ? text + 1 : text;
    size_t length = (size_t)(colon - from) - (is_bracketed ? 1 : 0);
    if (length == 0 || (!is_bracketed && memchr(from, ':', length))) return false;
    memcpy(host, from, length);
    host[length] = '\0';
    size_t digits = strspn(colon + 1, "0123456789");
    *out_port = colon + 1;
    return digits >= 1 && digits <= 5 && !colon[1 + digits];
}

bool proxy_address_parse(struct proxy_address *address, const char *text, struct failure *failure)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char host[PROXY_ADDRESS_TEXT_MAX];
    const char *port = NULL;

    if (strncmp(text, unix_prefix, strlen(unix_prefix)) == 0)
        return proxy_address_of_path(address, text + strlen(unix_prefix), failure);
    if (!split(text, host, &port))
        return failure_set(failure, "\"%s\" is neither HOST:PORT nor unix:///path", text);
    int code = getaddrinfo(host, port, &hints, &found);
    if (code != 0) return failure_set(failure, "%s: %s", text, gai_strerror(code));
    *address = (struct proxy_address){.length = found->ai_addrlen};
    memcpy(&address->where, found->ai_addr, found->ai_addrlen);
    (void)snprintf(address->text, sizeof address->text, "%s", text);
    freeaddrinfo(found);
    return true;
}

static const char *path_of(const struct proxy_address *address)
{
    return address->text + strlen(unix_prefix);
}

/* A socket file whose process is gone may go; one that answers, or any other file, stays. */
static void remove_stale(const struct proxy_address *address)
{
    struct stat about;

    if (lstat(path_of(address), &about) != 0 || !S_ISSOCK(about.st_mode)) return;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return;
    const void *where = &address->where;
    if (connect(fd, where, address->length) != 0 && errno == ECONNREFUSED)
        (void)unlink(path_of(address)); /* bind() complains if this failed */
    (void)close(fd);
}

static void note_real_port(struct proxy_address *address, int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
        struct sockaddr_storage storage;
    } real = {.storage = {.ss_family = AF_UNSPEC}};
    socklen_t length = sizeof real;
    char host[PROXY_ADDRESS_TEXT_MAX];
    const char *port = NULL;

    if (getsockname(fd, &real.any, &length) != 0 || !split(address->text, host, &port)) return;
    in_port_t number = real.any.sa_family == AF_INET6 ? real.in6.sin6_port : real.in.sin_port;
    address->where = real.storage;
    address->length = length;
    (void)snprintf(address->text + (port - address->text),
                   sizeof address->text - (size_t)(port - address->text), "%u",
                   (unsigned)ntohs(number));
}

static bool bind_and_listen(int fd, const struct proxy_address *address)
{
    const void *where = &address->where;
    int on = 1;

    if (!is_unix(address) && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0)
        return false;
    mode_t mask = umask(S_IXUSR | S_IRWXG | S_IRWXO);
    bool is_bound = bind(fd, where, address->length) == 0;
    (void)umask(mask); /* cannot fail */
    return is_bound && listen(fd, SOMAXCONN) == 0;
}

int proxy_address_listen(struct proxy_address *address, struct failure *failure)
{
    if (is_unix(address)) remove_stale(address);
    int fd = socket(address->where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind_and_listen(fd, address)) {
        if (!is_unix(address)) note_real_port(address, fd);
        return fd;
    }
    (void)failure_set(failure, "cannot listen on %s: %s", address->text, failure_errno_text());
    if (fd >= 0) (void)close(fd);
    return -1;
}

void proxy_address_remove(const struct proxy_address *address)
{
    if (is_unix(address)) (void)unlink(path_of(address)); /* gone already is fine */
}

int proxy_address_connect(const struct proxy_address *address)
{
    const void *where = &address->where;
    int fd = socket(address->where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || connect(fd, where, address->length) == 0 || errno == EINPROGRESS) return fd;
    int reason = errno;
    (void)close(fd);
    errno = reason;
    return -1;
}
