/*
 * The watchdog's connection to one server, and the round of queries under way on it. Each backend has its
 * own implementation: renewal_conn.c is the one of Redis. Nothing here blocks. The watchdog's thread only.
 */
#ifndef LKI_RENEWAL_CONN_H
#define LKI_RENEWAL_CONN_H

#include <poll.h>

#include "hold.h"
#include "servers/topology.h"

enum { LKI_ROUND_MAX = 256 }; /* queries per pipeline */

/* The result of a query. */
enum lki_verdict {
    LKI_OURS,      /* the hold was renewed; or, after a check, it stands */
    LKI_GONE,      /* the lock is not ours any more */
    LKI_SILENT,    /* the query was not sent, or not answered */
    LKI_REFUSED,   /* an error that says nothing about the lock */
    LKI_NOT_NOW,   /* a temporary error: the server may answer later */
    LKI_ELSEWHERE, /* a redirection: another server has the key */
};

struct lki_query {
    lk_lock *lock;            /* borrowed: its lease is_taken */
    bool is_check;            /* an owner check, which extends no lease; else a renewal */
    bool is_asking;           /* ASKING goes ahead of it, after an ASK redirection */
    bool is_reported;         /* the hold ended before the answer came, and its loss was reported */
    enum lki_verdict verdict; /* valid when the round is done */
    lk_reply *reply;          /* owned; NULL: none yet. Used by Redis alone */
    struct lki_renewal_conn *next; /* to the server that an ASK redirection names; else NULL */
};

struct lki_round {
    struct lki_query queries[LKI_ROUND_MAX];
    size_t count;
    int64_t sent_at;
    int64_t deadline;
    int64_t ends_at; /* the earliest end of these holds */
};

struct lki_renewal_conn {
    const struct lki_renewal_conn_ops *ops;
    lk_client *client;       /* borrowed */
    struct lki_node *node;   /* a reference */
    struct lki_redis *redis; /* owned; NULL: none */
    bool is_open;            /* connected and logged in */
    bool is_borrowed;        /* from the pool, for this round, as none could be made */
    bool is_gone;            /* its server is no longer part of the topology */
    bool has_ended;          /* an own connection was closed; the watchdog resets this */
    short events;            /* for poll(); 0: no round is under way */
    int64_t began_at;        /* when the attempt to connect began, or the exchange */
    int64_t connected_at;    /* when the attempt to connect began */
    struct lki_round round;
    struct lki_exchange *exchange;  /* owned; the commands of the round */
    struct lki_renewal_conn *next;  /* in the list of all connections */
    struct lki_lease *first, *last; /* guarded by the watchdog's mutex: queue for the next round */
};

/* The operations of a backend's connection. */
struct lki_renewal_conn_ops {
    /* Send the queries of conn->round. Not while a round is under way. */
    void (*start)(struct lki_renewal_conn *conn);
    /* Continue the round without blocking, or give it up past its deadline. */
    void (*go_on)(struct lki_renewal_conn *conn);
    /* Give up the unanswered queries, and close the connection. */
    void (*give_up)(struct lki_renewal_conn *conn);
    /* The socket became readable between two rounds, which means that it was closed. */
    void (*check_idle)(struct lki_renewal_conn *conn);
    /* Whether the connection is open, and was begun before this moment. */
    bool (*is_open_since)(struct lki_renewal_conn *conn, int64_t moment);
    /* The socket; -1: there is none. */
    int (*fd)(const struct lki_renewal_conn *conn);
    enum lki_verdict (*verdict)(const struct lki_query *query);
    /* Discard the round and its answers. */
    void (*clear)(struct lki_renewal_conn *conn);
    void (*free)(struct lki_renewal_conn *conn);
};

/* A connection to a Redis server. Takes the reference to the node. NULL: no memory. */
struct lki_renewal_conn *lki_renewal_conn_new(lk_client *client, struct lki_node *node);
/* The deadline of the current step: of connecting, or of the round. */
int64_t lki_renewal_conn_until(const struct lki_renewal_conn *conn);

static inline bool lki_renewal_conn_is_under_way(const struct lki_renewal_conn *conn)
{
    return conn->events != 0;
}

/* Whether no further answers of the round will come. */
static inline bool lki_renewal_conn_is_done(const struct lki_renewal_conn *conn)
{
    return conn->round.count > 0 && conn->events == 0;
}

lk_status lki_renewal_conn_status(enum lki_verdict verdict);

#endif
