/*
 * Inside a connection: what it consists of, how it begins, and the ways it ends. For
 * proxy_connection.c alone, which moves the bytes.
 */
#ifndef LOADTEST_PROXY_CONNECTION_LIFE_H
#define LOADTEST_PROXY_CONNECTION_LIFE_H

#include "proxy_connection.h"

typedef enum proxy_connection_state {
    PROXY_DIALLING, /* the server is not connected yet; the client is not read */
    PROXY_FLOWING,
    PROXY_SPOILED,  /* bytes were lost: read and throw away, write nothing */
    PROXY_DRAINING, /* the client is gone: deliver what it sent, wait for the server's end */
    PROXY_CLOSED,
} proxy_connection_state;

typedef proxy_direction proxy_side; /* PROXY_CLIENT, PROXY_SERVER */

struct proxy_end {
    struct proxy_watch watch; /* first: an event's watch is its end */
    struct proxy_connection *connection;
    proxy_side side;
};

/* pipes[PROXY_C2S] goes from ends[PROXY_CLIENT] to ends[PROXY_SERVER], pipes[PROXY_S2C] back. */
struct proxy_connection {
    struct proxy_corpse corpse; /* first */
    struct proxy_lane *lane;    /* borrowed */
    struct proxy_connection *next, *previous;
    uint64_t id;
    proxy_connection_state state;
    struct proxy_end ends[2];
    struct proxy_pipe pipes[2];
    struct proxy_timer timer;
    int64_t wake_at_ns;   /* when dialling: try again; when draining: give up */
    bool is_servers_turn; /* the client has spoken last */
    bool is_marked;       /* the next reply is to be eaten */
};

/* Put a new connection on the lane's list, dialling; its watches and timer call these functions.
 * Takes `client_fd`. NULL: no memory; the client was reset. */
struct proxy_connection *proxy_connection_new(struct proxy_lane *lane, int client_fd,
                                              void (*on_ready)(struct proxy_watch *watch,
                                                               uint32_t events),
                                              void (*on_time)(struct proxy_timer *timer));

/* Its next reply need not be eaten. */
void proxy_connection_unmark(struct proxy_connection *connection);

/* Close what is open; the memory goes at the end of the loop's round. A mark that ate nothing goes
 * to another connection. Harmless when it is closed. */
void proxy_connection_close(struct proxy_connection *connection);

/* The same, so that both peers get a reset; a unix socket knows no such thing. */
void proxy_connection_reset(struct proxy_connection *connection);

/* Reset one side. */
void proxy_end_reset(struct proxy_end *end);

/* Bytes were lost: nothing more can be delivered. */
void proxy_connection_spoil(struct proxy_connection *connection);

/* One side is dead. The other is reset, unless the fault keeps news from that side. */
void proxy_connection_break(struct proxy_connection *connection, proxy_side dead);

#endif
