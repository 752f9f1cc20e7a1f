/*
 * Connections inside: with civetweb, which serves them.
 */
#ifndef SECKILL_SERVED_H
#define SECKILL_SERVED_H

#include "acceptor.h"

struct client_conn; /* conn_scheduler.h */

/*
 * Put our hand-over in the place of a socket on which civetweb listens: its accept() (ours, see
 * served.c) gives it who was let in. Before civetweb's first poll of it.
 *
 * Returns  false when this process listens on no such port.
 */
bool served_take_over_listener(struct acceptor *self, int library_port);

/* Whether civetweb comes to ask us for connections: within a second, once it was nudged. */
bool served_is_accepting(struct acceptor *self);

/* Wake whoever polls the socket that was taken over. */
void served_wake_library(struct acceptor *self);

/* It is no longer this one's. */
void served_give_back_listener(struct acceptor *acceptor);

/* A connection that is ready gets a place. */
void served_admit_locked(struct acceptor *self, struct client_conn *conn);
/* Some wait, the places are taken: make as many free as there are clients that can be given up. */
void served_evict_idle_locked(struct acceptor *self, int64_t now_ms);

/* ---- a connection inside, by its descriptor; its own thread, or who writes its answer ------------ */

/* Civetweb tells this descriptor as the client's port: an address that cannot be wrong. */

/* Its other end, while the connection is open. */
const struct client_address *served_peer(int fd);

/* Its first request is there. */
void served_note_handled(int fd);

typedef enum conn_turn {
    CONN_SERVER_WORKS, /* it is for us to do something */
    CONN_CLIENT_IDLE,  /* the client may ask something: in a crowd, at once; a proxy, soon */
    CONN_CLIENT_SENDS, /* the client has to go on with what it says: in a crowd, at once */
    CONN_CLIENT_READS, /* the client has to read what is written: in a crowd, soon */
} conn_turn;

/* Whose turn it is. A client that lets a crowd wait is given up: what it has said is still read. */
void served_set_turn(int fd, conn_turn turn);

/* Until then (monotonic) this thread waits for a client, in all that civetweb reads; 0: as long as that does. */
void served_set_read_deadline(int64_t until_ms);

/*
 * It becomes a stream of events, to its end: its place is another's. When all streams are taken, one of
 * the address that has most of them ends, unless that has no more than this client's.
 *
 * Returns  false when no stream is left for this client.
 */
bool served_begin_stream(int fd, const struct client_address *client);

/* Whether one who waits could have the place of this connection inside. */
bool served_is_place_wanted(struct acceptor *self, int fd);

/* Civetweb is about to close it; fd -1: has closed one that was never served. */
void served_note_closed(struct acceptor *self, int fd);

#endif
