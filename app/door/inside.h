/*
 * Connections inside: with civetweb, which serves them.
 */
#ifndef SECKILL_INSIDE_H
#define SECKILL_INSIDE_H

#include "acceptor.h"

struct guest; /* crowd.h */

/*
 * Put our hand-over in the place of a socket on which civetweb listens: its accept() (ours, see
 * inside.c) gives it who was let in. Before civetweb's first poll of it.
 *
 * Returns  false when this process listens on no such port.
 */
bool inside_take_over(struct acceptor *self, int library_port);

/* Whether civetweb comes to ask us for connections: within a second, once it was nudged. */
bool inside_is_asked(struct acceptor *self);

/* Wake whoever polls the socket that was taken over. */
void inside_nudge(struct acceptor *self);

/* It is no longer this one's. */
void inside_give_back(struct acceptor *acceptor);

/* A guest that is ready gets a place. */
void inside_let_in_locked(struct acceptor *self, struct guest *guest);
/* Some wait, the places are taken: make as many free as there are clients that can be given up. */
void inside_make_room_locked(struct acceptor *self, int64_t now_ms);

/* ---- a connection inside, by its descriptor; its own thread, or who writes its answer ------------ */

/* Civetweb tells this descriptor as the client's port: an address that cannot be wrong. */

/* Its other end, while the connection is open. */
const struct client_address *inside_peer(int fd);

/* Its first request is there. */
void inside_note_served(int fd);

typedef enum inside_turn {
    INSIDE_OURS,          /* it is for us to do something */
    INSIDE_CLIENT_IDLE,   /* the client may ask something: in a crowd, at once; a proxy, soon */
    INSIDE_CLIENT_SPEAKS, /* the client has to go on with what it says: in a crowd, at once */
    INSIDE_CLIENT_READS,  /* the client has to read what is written: in a crowd, soon */
} inside_turn;

/* Whose turn it is. A client that lets a crowd wait is given up: what it has said is still read. */
void inside_set_turn(int fd, inside_turn turn);

/* Until then (monotonic) this thread waits for a client, in all that civetweb reads; 0: as long as that does. */
void inside_hear_until(int64_t until_ms);

/*
 * It becomes a stream of events, to its end: its place is another's. When all streams are taken, one of
 * the address that has most of them ends, unless that has no more than this client's.
 *
 * Returns  false when no stream is left for this client.
 */
bool inside_begin_stream(int fd, const struct client_address *client);

/* Whether one who waits could have the place of this connection inside. */
bool inside_is_wanted(struct acceptor *self, int fd);

/* Civetweb is about to close it; fd -1: has closed one that was never served. */
void inside_note_left(struct acceptor *self, int fd);

#endif
