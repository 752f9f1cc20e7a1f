/*
 * The watchdog's connection to one server, and the round of queries under way on it. Nothing here
 * waits. The watchdog's thread only.
 */
#ifndef LKI_LINE_H
#define LKI_LINE_H

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
    lk_lock *lock;         /* borrowed: its lease is_taken */
    bool is_check;         /* is it ours? Prolongs nothing. Else a renewal */
    bool is_asking;        /* tell the server first that an ASK has sent us */
    bool is_told;          /* the hold has ended before the answer came, and its holder knows */
    lk_reply *reply;       /* owned; NULL: none yet */
    struct lki_line *next; /* of an ASK: who can tell */
};

struct lki_round {
    struct lki_query queries[LKI_ROUND_MAX];
    size_t count;
    int64_t sent_at;
    int64_t deadline;
    int64_t ends_at; /* the next of these holds */
};

struct lki_line {
    lk_client *client;       /* borrowed */
    int64_t connect_ms;      /* at most, of a round */
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
    struct lki_line *next;          /* of all lines */
    struct lki_lease *first, *last; /* guarded by the watchdog's mutex: they wait for a round */
};

/* Takes the reference to the node. NULL: no memory. */
struct lki_line *lki_line_new(lk_client *client, struct lki_node *node, int64_t connect_ms);
void lki_line_free(struct lki_line *line);

/* Ask what stands in line->round. Not while a round is under way. */
void lki_line_start(struct lki_line *line);
/* Go on with the round as far as goes without waiting, or give it up past its deadline. */
void lki_line_go_on(struct lki_line *line);
/* Give up what is not answered yet, and the connection. */
void lki_line_abort(struct lki_line *line);
/* Between rounds: the socket is ready, so it has ended. */
void lki_line_look(struct lki_line *line);
/* Whether its connection is one that was begun before this moment, and stands. */
bool lki_line_stands_since(struct lki_line *line, int64_t moment);
/* Until when the round waits. */
int64_t lki_line_until(const struct lki_line *line);
/* Forget the round; its answers go with it. */
void lki_line_clear(struct lki_line *line);

static inline bool lki_line_is_under_way(const struct lki_line *line)
{
    return line->events != 0;
}

/* Whether all has been answered that ever will be. */
static inline bool lki_line_is_done(const struct lki_line *line)
{
    return line->round.count > 0 && line->events == 0;
}

enum lki_verdict lki_line_verdict(const struct lki_query *query);
/* As the hook is told. */
lk_status lki_line_status(enum lki_verdict verdict);

#endif
