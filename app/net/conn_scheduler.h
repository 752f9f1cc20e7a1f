/*
 * The books of acceptor.c: which connections are at which stage, whose they are, and who is next, to
 * enter or to leave. A fair share is max-min: the address that has least comes first, the one that has
 * most gives. No descriptor is touched here, and no time is asked.
 *
 * Threads  the caller holds the acceptor's mutex; what is atomic is any thread's.
 */
#ifndef SECKILL_CONN_SCHEDULER_H
#define SECKILL_CONN_SCHEDULER_H

#include <stdatomic.h>
#include <sys/types.h>

#include "client_address.h"

typedef enum conn_stage {
    CONN_NONE,
    CONN_PENDING,     /* has not yet said a whole request */
    CONN_READY,       /* has, and waits for a place */
    CONN_HANDED_OVER, /* over to civetweb, which has not taken it yet */
    CONN_SERVED,
    CONN_STREAMING,
    CONN_STAGE_COUNT
} conn_stage;

/* Those of one address. */
struct conn_scheduler_group {
    uint64_t key;                      /* client_address_key() */
    bool is_proxy;                     /* speaks for many: waits behind nobody */
    unsigned pending;                  /* and ready */
    unsigned ready;                    /* of these */
    unsigned served;                   /* and handed */
    unsigned streams;                  /* of events */
    struct conn_scheduler_group *next; /* of its chain in the table */
};

/* A connection from accept() to close(). */
struct client_conn {
    struct acceptor *owner;
    struct conn_scheduler_group *group;
    struct client_conn *previous; /* of those in the same stage, the oldest first */
    struct client_conn *next;
    ino_t socket;
    struct client_address peer;
    int64_t since_ms;               /* it is outside */
    _Atomic int64_t grace_until_ms; /* it is its client's turn, in a crowd until then; 0: ours */
    conn_stage stage;
    atomic_int turn; /* conn_turn */
    bool has_sent;   /* to speak */
    bool is_polled;  /* by the acceptor's epoll set, while it is outside */
    bool is_handled; /* its thread knows its descriptor */
    bool is_evicted; /* has been told to go */
};

struct conn_list {
    struct client_conn *first, *last;
    unsigned count;
    unsigned closing; /* of them, given up */
};

enum { CONN_SCHEDULER_CHAINS = 1024 };

struct conn_scheduler {
    unsigned places; /* inside */
    unsigned address_places;
    unsigned streams;
    unsigned address_streams; /* 0: no bound of its own, of these two */
    bool is_draining;         /* all of them, whether somebody waits or not */
    struct conn_list list[CONN_STAGE_COUNT];
    struct conn_scheduler_group *groups[CONN_SCHEDULER_CHAINS];
};

/*
 * Those of an address. A group without connections goes with its last one, or by conn_scheduler_drop_group().
 *
 * Returns  NULL when out of memory.
 */
struct conn_scheduler_group *conn_scheduler_group(struct conn_scheduler *self,
                                                  const struct client_address *address,
                                                  bool is_proxy);
void conn_scheduler_drop_group(struct conn_scheduler *self, struct conn_scheduler_group *group);

/* To a stage, and perhaps to another address's share; NOWHERE: it is no more. */
void conn_scheduler_move(struct conn_scheduler *self, struct client_conn *conn, conn_stage to,
                         struct conn_scheduler_group *group);

/* Who enters next: of those that are ready the oldest of the address that has least inside. */
struct client_conn *conn_scheduler_next(const struct conn_scheduler *self);

/*
 * Whether somebody who is ready should have the place of one of these: of the same address, or of one
 * that has less inside.
 */
bool conn_scheduler_wants_place_of(const struct conn_scheduler *self,
                                   const struct conn_scheduler_group *group);

/*
 * Who is to leave, so that somebody can enter: a client that lets others wait for longer than it may,
 * of the address that has most inside; NULL: none. Proxies may be idle (CONN_CLIENT_IDLE) for
 * `proxy_ms` longer.
 */
struct client_conn *conn_scheduler_idle(const struct conn_scheduler *self, int64_t now_ms,
                                        int64_t proxy_ms);

/* Who is to leave when too many are outside: the oldest silent one of the address with most there. */
struct client_conn *conn_scheduler_surplus(const struct conn_scheduler *self);

/*
 * Whether a client may have one more stream.
 *
 * Returns  with true, in *out_instead, whose stream has to end for it (NULL: nobody's): the oldest of
 *          the address that has most of them.
 */
bool conn_scheduler_has_stream(const struct conn_scheduler *self,
                               const struct conn_scheduler_group *client,
                               struct client_conn **out_instead);

/* Note that it was told to go. */
void conn_scheduler_note_evicted(struct conn_scheduler *self, struct client_conn *conn);

#endif
