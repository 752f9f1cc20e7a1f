/*
 * The watchdog's connection to one server, and the round of queries under way on it. How those are said
 * is the backend's: renewal_conn.c speaks to Redis. Nothing here waits. The watchdog's thread only.
 */
#ifndef LKI_RENEWAL_CONN_H
#define LKI_RENEWAL_CONN_H

#include <poll.h>

#include "hold.h"
#include "servers/topology.h"

enum { LKI_ROUND_MAX = 256 }; /* queries per pipeline */

/* What became of a query. */
enum lki_verdict {
    LKI_OURS,      /* renewed; or, of a check, held */
    LKI_GONE,      /* not ours any more */
    LKI_SILENT,    /* not asked, or not answered */
    LKI_REFUSED,   /* an error that says nothing of the lock */
    LKI_NOT_NOW,   /* the server cannot tell just now */
    LKI_ELSEWHERE, /* another server can */
};

struct lki_query {
    lk_lock *lock;            /* borrowed: its lease is_taken */
    bool is_check;            /* is it ours? Prolongs nothing. Else a renewal */
    bool is_asking;           /* tell the server first that an ASK has sent us */
    bool is_reported;         /* the hold has ended before the answer came, and its holder knows */
    enum lki_verdict verdict; /* once the round is over */
    lk_reply *reply;          /* owned; NULL: none yet. Redis' alone */
    struct lki_renewal_conn *next; /* of an ASK: who can tell */
};

struct lki_round {
    struct lki_query queries[LKI_ROUND_MAX];
    size_t count;
    int64_t sent_at;
    int64_t deadline;
    int64_t ends_at; /* the next of these holds */
};

struct lki_renewal_conn {
    const struct lki_renewal_conn_ops *ops;
    lk_client *client;       /* borrowed */
    struct lki_node *node;   /* ours: a reference */
    struct lki_redis *redis; /* owned; NULL: none */
    bool is_open;            /* connected and logged in */
    bool is_borrowed;        /* from the pool, for this round: none could be made */
    bool is_gone;            /* the server is no part of the topology any more */
    bool has_ended;          /* a connection of its own; the watchdog takes note */
    short events;            /* what to poll() for; 0: nothing is under way */
    int64_t began_at;        /* the connecting, then the exchange */
    int64_t connected_at;    /* ...the connecting */
    struct lki_round round;
    struct lki_exchange *exchange;  /* owned; what was and will be sent */
    struct lki_renewal_conn *next;  /* of all connections */
    struct lki_lease *first, *last; /* guarded by the watchdog's mutex: they wait for a round */
};

/* What a backend's connections can do. */
struct lki_renewal_conn_ops {
    /* Ask what stands in connection->round. Not while a round is under way. */
    void (*start)(struct lki_renewal_conn *conn);
    /* Go on with the round as far as goes without waiting, or give it up past its deadline. */
    void (*go_on)(struct lki_renewal_conn *conn);
    /* Give up what is not answered yet, and the connection. */
    void (*give_up)(struct lki_renewal_conn *conn);
    /* Between rounds: the socket is ready, so it has ended. */
    void (*check_idle)(struct lki_renewal_conn *conn);
    /* Whether its connection is one that was begun before this moment, and stands. */
    bool (*is_open_since)(struct lki_renewal_conn *conn, int64_t moment);
    /* Its connection's descriptor; -1: there is none. */
    int (*fd)(const struct lki_renewal_conn *conn);
    enum lki_verdict (*verdict)(const struct lki_query *query);
    /* Forget the round; its answers go with it. */
    void (*clear)(struct lki_renewal_conn *conn);
    void (*free)(struct lki_renewal_conn *conn);
};

/* To a server of Redis. Takes the reference to the node. NULL: no memory. */
struct lki_renewal_conn *lki_renewal_conn_new(lk_client *client, struct lki_node *node);
/* Until when the round waits. */
int64_t lki_renewal_conn_until(const struct lki_renewal_conn *conn);

static inline bool lki_renewal_conn_is_under_way(const struct lki_renewal_conn *conn)
{
    return conn->events != 0;
}

/* Whether all has been answered that ever will be. */
static inline bool lki_renewal_conn_is_done(const struct lki_renewal_conn *conn)
{
    return conn->round.count > 0 && conn->events == 0;
}

/* As the hook is told. */
lk_status lki_renewal_conn_status(enum lki_verdict verdict);

#endif
