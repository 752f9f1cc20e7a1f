/*
 * One of several servers that are asked at the same time.
 */
#ifndef LKI_QUORUM_SERVER_H
#define LKI_QUORUM_SERVER_H

#include "call/eval.h"
#include "wire/redis.h"

struct lki_pending_undo;
struct lki_pool;

enum { LKI_QUORUM_SERVERS_MAX = 15 };

/* What a server does. */
enum lki_quorum_phase {
    LKI_QUORUM_IDLE,
    LKI_QUORUM_WAITING, /* for a connection: all are lent, or parked */
    LKI_QUORUM_CONNECTING,
    LKI_QUORUM_CHECKING, /* who the server is */
    LKI_QUORUM_ASKED,
};

/* One server. Zero but for client and pool to begin with; it may keep a connection between two
   rounds. */
struct lki_quorum_server {
    lk_client *client;     /* borrowed */
    struct lki_pool *pool; /* the client's */
    enum lki_quorum_phase phase;
    struct lki_redis *redis; /* lent to us, or being made; NULL: none */
    uint64_t ticket;         /* of one that is parked, with an answer to come; 0: none */
    unsigned unanswered;     /* answers to come, of which the last one counts */
    struct lki_pending_undo
        *undo;                   /* owned; what was undone before, unanswered yet; NULL: nothing */
    short events;                /* what poll() shall wait for */
    struct lki_request *request; /* owned; the question of this round */
    int64_t begun_at;
    int64_t sent_at;       /* the question; 0: not sent */
    int64_t round_trip_ns; /* -1: no answer */
    lk_reply *reply;       /* the answer; owned until the next round */
    struct lk_error why;   /* OK: answered, or (no reply) asked and not answered yet */
};

/* What an answer, or the news that none will come, is to the round. */
enum lki_quorum_state {
    LKI_QUORUM_UNDECIDED,
    LKI_QUORUM_DECIDED, /* the others need not answer */
};

struct lki_quorum {
    struct lki_quorum_server *servers;
    size_t count;
    int64_t deadline;
    unsigned
        parked_answers_max; /* a parked connection that owes more is left where it is [0: none is] */
    void *arg;
    /* The question for one server, which is the server's to free; NULL: no memory. False: it is not asked.
       Without this nothing is asked, only checked. */
    bool (*ask)(void *arg, size_t place, struct lki_request **out);
    /* Whether a server may be asked at all, from what it says of itself. NULL: any may. */
    lk_status (*check)(void *arg, size_t place, const struct lki_identity *identity,
                       struct lk_error *err);
    enum lki_quorum_state (*settle)(void *arg, size_t place);
    /* How many more answers it takes at least, before the round can be over. NULL: 1. */
    size_t (*missing)(void *arg);
};

/* It is asked anew: with the connection that it kept or parked, or another one. */
enum lki_quorum_state lki_quorum_server_begin(struct lki_quorum *quorum, size_t i);
/* Its socket is ready. */
enum lki_quorum_state lki_quorum_server_go_on(struct lki_quorum *quorum, size_t i);

/*
 * Let go of a server's connection: to the pool when it has answered; else it is parked until the moment
 * given, and the server keeps the ticket.
 *
 * Owns     takes the undo (pending.h), which is about the last request; NULL: none.
 */
void lki_quorum_server_detach(struct lki_quorum_server *server, struct lki_pending_undo *undo,
                              int64_t until);

/* Whether a question was sent and not answered (yet). */
bool lki_quorum_server_is_unanswered(const struct lki_quorum_server *server);
/* The answer of the last round; NULL: none. Borrowed. */
const lk_reply *lki_quorum_server_answer(const struct lki_quorum_server *server);

/* What an error answer says: as lki_exchange_fail(), or why its script was not taken there; its client
   learns of it too. For settle(), while the connection is still the server's. */
lk_status lki_quorum_server_fail(const struct lki_quorum_server *server, struct lk_error *err);

/* From what INFO server and INFO replication tell; empty texts: it does not tell. */
void lki_quorum_server_read_identity(struct lki_identity *out, struct lk_bytes server,
                                     struct lk_bytes replication);

#endif
