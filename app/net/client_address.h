/*
 * Whose request it is by its address: the other end of the connection, or, where that is a proxy that
 * we trust, the client that it names in X-Forwarded-For.
 */
#ifndef SECKILL_CLIENT_ADDRESS_H
#define SECKILL_CLIENT_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { NETWORKS_MAX = 32, CLIENT_TEXT_SIZE = 64 };

/* An IPv6 address, or an IPv4 one as ::ffff:a.b.c.d. */
struct client_address {
    unsigned char bytes[16];
};

struct network {
    struct client_address address;
    unsigned bits; /* of it that count */
};

/* Addresses of proxies whose word is believed. */
struct networks {
    size_t count; /* 0: nobody is */
    struct network at[NETWORKS_MAX];
};

/*
 * Read a list of networks: "10.0.0.0/8,192.168.1.7,fd00::/8".
 *
 * Returns  false when one is malformed, or has bits behind its prefix, or there are too many: *out is
 *          not touched.
 */
bool client_address_read_networks(const char *text, struct networks *out);

/* "10.0.0.7", "2001:db8::1". False: it is none. */
bool client_address_read(const char *text, struct client_address *out);
/* The other end of an IPv4 or IPv6 socket. */
void client_address_of_socket(const struct sockaddr_storage *peer, struct client_address *out);

/* A way from the connection's other end to the client, one proxy after the other. */
struct client_walk {
    const struct networks *trusted; /* borrowed */
    struct client_address peer;
    struct client_address found; /* the client, as far as the way has been gone */
    bool is_over;
};

void client_address_walk_begin(struct client_walk *walk, const struct networks *trusted,
                               const struct client_address *peer);

/*
 * Go on through one X-Forwarded-For, from its right end; of several headers, the last comes first.
 *
 * Each proxy has added the address that it was asked from, so the way ends at the first that is no
 * trusted proxy: what stands left of it, anybody may have written. If all are trusted, the leftmost is
 * the client. An element on the way that is no address (it may have a port) makes it the peer.
 */
void client_address_walk_list(struct client_walk *walk, const char *list);

/* For logs: "10.0.0.7", "2001:db8::1". Returns out. */
const char *client_address_show(const struct client_address *address, char out[CLIENT_TEXT_SIZE]);

/* Equal for clients that are counted as one: the IPv4 address, or the /64. */
uint64_t client_address_key(const struct client_address *address);

/*
 * The name under which a client is counted: its IPv4 address, or its /64, all of which one subscriber
 * has. Returns out.
 */
const char *client_address_group(const struct client_address *address, char out[CLIENT_TEXT_SIZE]);

#endif
