/*
 * The door in front of civetweb. It accepts the connections of one port's addresses, keeps outside
 * who has not yet said a whole request, and lets in who comes next: of those that wait, the address
 * that has least inside. So a client that says nothing costs a descriptor, not a thread, and one that
 * opens thousands waits behind itself alone.
 */
#ifndef SECKILL_ACCEPTOR_H
#define SECKILL_ACCEPTOR_H

#include "base/start_error.h"
#include "client_address.h"
#include "listen_address.h"

struct acceptor; /* opaque */

typedef enum acceptor_refusal {
    ACCEPTOR_TOO_SLOW, /* it said too little for too long */
    ACCEPTOR_TOO_MANY, /* it said enough, but too many wait */
} acceptor_refusal;

struct acceptor_options {
    struct listen_addresses addresses; /* one at least; port 0 takes a free one */
    unsigned places;                   /* inside at the same time */
    unsigned address_places;           /* of them for one address (IPv6: its /64); 0: all */
    unsigned streams;                  /* of events, besides */
    unsigned address_streams;          /* likewise */
    size_t body_max;                   /* a longer body is refused, and need not be waited for */
    const struct networks *trusted;    /* proxies: they speak for many, and wait behind nobody */
    void (*refuse)(int fd,
                   acceptor_refusal why); /* tell a client that it does not get in; no waiting */
};

enum { ACCEPTOR_PENDING_MAX = 1024 }; /* outside, besides those for whom there is a place */

/*
 * Listen. Nobody is accepted before acceptor_start().
 *
 * Owns     options are copied, but what they point to.
 * Returns  NULL and one line in *why: address in use, no memory.
 */
struct acceptor *acceptor_open(const struct acceptor_options *options, struct start_error *why);

/* The addresses with the ports that were taken. Lives as long as the acceptor. */
const char *acceptor_address(const struct acceptor *self);

/* Begin to accept. False when there is no thread to be had. */
bool acceptor_start(struct acceptor *self);

/*
 * Accept nobody any more, and lose nobody: who has connected by now is served; who connects later is
 * refused by the kernel. Idle clients are asked to leave.
 */
void acceptor_drain(struct acceptor *self);

/* Connections; 0 only after acceptor_drain(), when the last has left. */
unsigned acceptor_connections(struct acceptor *self);

/* How many wait for a place. Any thread, cheap. */
unsigned acceptor_waiting(const struct acceptor *self);

/* The library is stopped; NULL is fine. */
void acceptor_close(struct acceptor *self);

#endif
