/*
 * One client, its connection to the server, and the two pipes between them, under the faults of
 * their link.
 *
 * What eat-reply guarantees. Nothing of the protocol is read. The first bytes a client sends after
 * the server spoke last (or after connecting) begin a request. While requests are to be eaten, the
 * connection on which the next one begins is marked. When the server's first bytes after that
 * arrive, none of them is passed on: the client gets a reset (RST; on a unix socket an end of
 * file), and what had come from it is still delivered to the server (up to a full buffer, for up to
 * five seconds), which then sees a normal end. So, for a client that waits for each reply before it
 * sends again, and a server that carries a request out before it answers, as Redis does:
 *   - the request was carried out, and its client has received no byte of the answer;
 *   - one request, one reply, one count. A connection that ends or is cut before the server
 *     answered counts nothing; the mark goes to another.
 * A client that pipelines loses the replies of the whole burst; of its commands the first was
 * carried out, the others may have been. Bytes the server sends unasked (a published message) count
 * as an answer. What a client says right after connecting (AUTH, HELLO, SELECT) is a request too.
 *
 * A stream from which a blackhole took bytes can never go on: such a connection stays silent and is
 * reset at the next `pass`. A connection of which neither end sent anything survives. The reset of
 * one side is passed to the other at once, past bytes that are still delayed, as TCP allows.
 */
#ifndef LOADTEST_PROXY_CONNECTION_H
#define LOADTEST_PROXY_CONNECTION_H

#include "proxy_address.h"
#include "proxy_command.h"
#include "proxy_history.h"
#include "proxy_loop.h"

struct proxy_counts {
    uint64_t accepted, accept_failed, connect_failed;
    uint64_t open;     /* connections now */
    uint64_t bytes[2]; /* delivered, by direction */
    uint64_t replies_eaten;
    uint64_t eat_pending; /* marked, not answered yet */
    uint64_t cuts;        /* connections reset by `cut` */
};

struct proxy_connection;

/* What the connections of a link share. */
struct proxy_lane {
    const char *name;                    /* borrowed */
    struct proxy_loop *loop;             /* borrowed */
    const struct proxy_history *history; /* borrowed */
    const struct proxy_address *server;  /* borrowed */
    struct proxy_faults faults;
    struct random random; /* of the jitter */
    struct proxy_counts counts;
    LIST_HEAD(proxy_connections, proxy_connection) connections; /* owned */
};

/* A client was accepted: connect to the server. Takes `client_fd`. false: no memory. */
bool proxy_connection_open(struct proxy_lane *lane, int client_fd);

/* The replies that are to be eaten but did not come yet may pass. */
void proxy_connections_unmark(struct proxy_lane *lane);

/* Reset both sides of every connection; how many there were. */
uint64_t proxy_connections_cut(struct proxy_lane *lane);

/* The faults have changed: let go what may go, hold what must be held. How many connections had to
 * be reset because a blackhole had taken bytes of theirs. */
uint64_t proxy_connections_reconsider(struct proxy_lane *lane);

#endif
