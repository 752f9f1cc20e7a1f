/*
 * The door in front of civetweb. It accepts the connections of one listening address, keeps outside
 * who has not yet said a whole request, and lets in who comes next: of those that wait, the address
 * that has least inside. So a client that says nothing costs a descriptor, not a thread, and one that
 * opens thousands waits behind itself alone.
 */
#ifndef SECKILL_ACCEPTOR_H
#define SECKILL_ACCEPTOR_H

#include "base/refusal.h"
#include "client_address.h"

struct acceptor; /* opaque */

typedef enum acceptor_refusal {
    ACCEPTOR_TOO_SLOW, /* it said too little for too long */
    ACCEPTOR_TOO_MANY, /* it said enough, but too many wait */
} acceptor_refusal;

struct acceptor_options {
    const char *address;            /* "127.0.0.1:8080"; port 0 takes a free one */
    unsigned places;                /* inside at the same time */
    unsigned address_places;        /* of them for one address (IPv6: its /64); 0: all */
    unsigned streams;               /* of events, besides */
    unsigned address_streams;       /* likewise */
    size_t body_max;                /* a longer body is refused, and need not be waited for */
    const struct networks *trusted; /* proxies: they speak for many, and wait behind nobody */
    void (*refuse)(int fd,
                   acceptor_refusal why); /* tell a client that it does not get in; no waiting */
};

enum { ACCEPTOR_ROOM = 1024 }; /* outside, besides those for whom there is a place */

/*
 * Listen. Nobody is accepted before acceptor_start().
 *
 * Owns     options are copied, but what they point to.
 * Returns  NULL and one line in *why: address in use, no memory.
 */
struct acceptor *acceptor_open(const struct acceptor_options *options, struct refusal *why);

/* The address with the port that was taken. Lives as long as the acceptor. */
const char *acceptor_address(const struct acceptor *self);

/*
 * Put our hand-over in the place of a socket on which civetweb listens: its accept() (ours, see
 * acceptor.c) gives it who was let in. Before civetweb's first poll of it.
 *
 * Returns  false when this process listens on no such port.
 */
bool acceptor_take_over(struct acceptor *self, int library_port);

/* Begin to accept. False when there is no thread to be had. */
bool acceptor_start(struct acceptor *self);

/*
 * Accept nobody any more, and lose nobody: who has connected by now is served; who connects later is
 * refused by the kernel. Idle clients are asked to leave.
 */
void acceptor_shut(struct acceptor *self);

/* Connections; 0 only after acceptor_shut(), when the last has left. */
unsigned acceptor_guests(struct acceptor *self);

/* How many wait for a place. Any thread, cheap. */
unsigned acceptor_waiting(const struct acceptor *self);

/* Whether one of them could have the place of this connection inside. */
bool acceptor_is_wanted(struct acceptor *self, int fd);

/* Wake whoever polls the socket that was taken over. */
void acceptor_nudge(struct acceptor *self);

/* The library is stopped; NULL is fine. */
void acceptor_close(struct acceptor *self);

/* ---- a connection inside, by its descriptor; its own thread, or who writes its answer ------------ */

/* Civetweb tells this descriptor as the client's port: an address that cannot be wrong. */

/* Its first request is there. */
void acceptor_note_served(int fd);

typedef enum acceptor_turn {
    ACCEPTOR_OURS,          /* it is for us to do something */
    ACCEPTOR_CLIENT_IDLE,   /* the client may ask something: in a crowd, at once; a proxy, soon */
    ACCEPTOR_CLIENT_SPEAKS, /* the client has to go on with what it says: in a crowd, at once */
    ACCEPTOR_CLIENT_READS,  /* the client has to read what is written: in a crowd, soon */
} acceptor_turn;

/* Whose turn it is. A client that lets a crowd wait is given up: what it has said is still read. */
void acceptor_set_turn(int fd, acceptor_turn turn);

/*
 * It becomes a stream of events, to its end: its place is another's. When all streams are taken, one of
 * the address that has most of them ends, unless that has no more than this client's.
 *
 * Returns  false when no stream is left for this client.
 */
bool acceptor_begin_stream(int fd, const struct client_address *client);

/* Civetweb is about to close it; fd -1: has closed one that was never served. */
void acceptor_note_left(struct acceptor *self, int fd);

#endif
