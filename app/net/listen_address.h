/*
 * Where a service listens: "127.0.0.1:8080", "[::1]:8080", or several of them by commas. "[::]" takes IPv4 as well,
 * unless an IPv4 address stands beside it.
 */
#ifndef SECKILL_LISTEN_ADDRESS_H
#define SECKILL_LISTEN_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>

enum {
    LISTEN_ADDRESSES_MAX = 8,
    LISTEN_TEXT_SIZE = 56, /* of one */
    LISTEN_LIST_SIZE = LISTEN_ADDRESSES_MAX * LISTEN_TEXT_SIZE,
};

struct listen_address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } at;
    socklen_t len;
};

struct listen_addresses {
    bool takes_more; /* what is read next is added; else it takes their place */
    unsigned count;
    struct listen_address address[LISTEN_ADDRESSES_MAX];
};

/* False: one is malformed, or there are too many; *self is as it was. Ports from 0 to 65535. */
bool listen_address_read(const char *list, struct listen_addresses *self);

unsigned listen_address_port(const struct listen_address *self);
/* One, as it is written. Returns out. */
const char *listen_address_show(const struct listen_address *self, char out[LISTEN_TEXT_SIZE]);

/* A socket that listens there, and in *self with the port that it took; negative: errno tells. */
int listen_address_open(struct listen_address *self, bool takes_ipv4, int backlog);

#endif
