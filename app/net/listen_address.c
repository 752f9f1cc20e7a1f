/*
 * See listen_address.h. Any thread.
 */
#include "listen_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Decimal digits alone. */
static bool read_port(const char *text, in_port_t *out)
{
    char *end = NULL;
    unsigned long port = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end || end - text > 5 || port > 65535) return false;
    *out = htons((in_port_t)port);
    return true;
}

/* text is "HOST:PORT", and is spoilt. */
static bool read_one(char *text, struct listen_address *out)
{
    char *colon = strrchr(text, ':');
    bool is_v6 = text[0] == '[';

    *out = (struct listen_address){.len = is_v6 ? sizeof out->at.v6 : sizeof out->at.v4};
    if (!colon || (is_v6 && colon[-1] != ']')) return false;
    colon[is_v6 ? -1 : 0] = '\0';
    if (is_v6) {
        out->at.v6.sin6_family = AF_INET6;
        return inet_pton(AF_INET6, text + 1, &out->at.v6.sin6_addr) == 1 &&
               read_port(colon + 1, &out->at.v6.sin6_port);
    }
    out->at.v4.sin_family = AF_INET;
    return inet_pton(AF_INET, text, &out->at.v4.sin_addr) == 1 &&
           read_port(colon + 1, &out->at.v4.sin_port);
}

bool listen_address_read(const char *list, struct listen_addresses *self)
{
    struct listen_addresses read = *self;
    char text[LISTEN_TEXT_SIZE];

    if (!self->takes_more) read.count = 0;

    for (;;) {
        size_t len = strcspn(list, ",");

        if (read.count == LISTEN_ADDRESSES_MAX || len >= sizeof text) return false;
        (void)snprintf(text, sizeof text, "%.*s", (int)len, list);
        if (!read_one(text, &read.address[read.count++])) return false;
        if (list[len] == '\0') break;
        list += len + 1;
    }
    *self = read;
    return true;
}

unsigned listen_address_port(const struct listen_address *self)
{
    return ntohs(self->at.any.sa_family == AF_INET6 ? self->at.v6.sin6_port : self->at.v4.sin_port);
}

const char *listen_address_show(const struct listen_address *self, char out[LISTEN_TEXT_SIZE])
{
    char host[INET6_ADDRSTRLEN] = "";
    bool is_v6 = self->at.any.sa_family == AF_INET6;

    (void)inet_ntop(self->at.any.sa_family,
                    is_v6 ? (const void *)&self->at.v6.sin6_addr : &self->at.v4.sin_addr, host,
                    sizeof host); /* it fits */
    (void)snprintf(out, LISTEN_TEXT_SIZE, is_v6 ? "[%s]:%u" : "%s:%u", host,
                   listen_address_port(self));
    return out;
}

int listen_address_open(struct listen_address *self, bool takes_ipv4, int backlog)
{
    int family = self->at.any.sa_family;
    int yes = 1;
    int is_v6_only = !takes_ipv4;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &is_v6_only, sizeof is_v6_only);
    if (bind(fd, &self->at.any, self->len) == 0 && listen(fd, backlog) == 0 &&
        getsockname(fd, &self->at.any, &self->len) == 0)
        return fd;
    int error = errno;

    (void)close(fd);
    errno = error;
    return -1;
}
