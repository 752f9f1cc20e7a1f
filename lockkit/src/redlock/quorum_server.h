/*
 * One server of a quorum call: its connection, its request, its answer.
 */
#ifndef LKI_QUORUM_SERVER_H
#define LKI_QUORUM_SERVER_H

#include "call/eval.h"
#include "wire/redis.h"

struct lki_pending_undo;
struct lki_pool;

enum { LKI_QUORUM_SERVERS_MAX = 15 };

enum lki_quorum_phase {
    LKI_QUORUM_IDLE,
    LKI_QUORUM_WAITING, /* for a connection: all of the pool are lent or parked */
    LKI_QUORUM_CONNECTING,
    LKI_QUORUM_CHECKING, /* INFO was sent: its run id and role are awaited */
    LKI_QUORUM_ASKED,    /* the request was sent */
};

/* The caller sets client and pool, and zeroes the rest. A connection may be kept between two calls. */
struct lki_quorum_server {
    lk_client *client;     /* borrowed */
    struct lki_pool *pool; /* the client's */
    enum lki_quorum_phase phase;
    struct lki_redis *redis; /* borrowed from the pool, or being connected; NULL: none */
    uint64_t ticket;         /* of the parked connection; 0: none is parked */
    unsigned unanswered;     /* commands without an answer yet; the request is the last of them */
    struct lki_pending_undo *undo; /* owned; sent, and not answered yet; NULL: none */
    short events;                  /* for poll() */
    struct lki_request *request;   /* owned; of this call */
    int64_t begun_at;
    int64_t sent_at;       /* the request; 0: not sent */
    int64_t round_trip_ns; /* -1: no answer */
    lk_reply *reply;       /* owned until the next call */
    struct lk_error why;   /* OK: it was answered, or is not answered yet (no reply) */
};

/* Whether the outcome of the call is known, so that the remaining answers need not be awaited. */
enum lki_quorum_state { LKI_QUORUM_UNDECIDED, LKI_QUORUM_DECIDED };

struct lki_quorum {
    struct lki_quorum_server *servers;
    size_t count;
    int64_t deadline;
    /* A parked connection with more unanswered commands than this is not used [0: no limit]. */
    unsigned parked_answers_max;
    void *arg; /* of the callbacks; place: the index of the server */
    /* Make the request for one server, which takes it; NULL: no memory. False: this server is left
       out. Without this callback the servers are only connected and checked. */
    bool (*ask)(void *arg, size_t place, struct lki_request **out);
    /* Whether a server with this identity may be asked. NULL: any may. */
    lk_status (*check)(void *arg, size_t place, const struct lki_identity *identity,
                       struct lk_error *err);
    /* A server has answered, or has failed. */
    enum lki_quorum_state (*settle)(void *arg, size_t place);
    /* The least number of further answers that can decide the call. NULL: 1. */
    size_t (*missing)(void *arg);
};

/* Begin with one server: on the connection that it kept or parked, else on another one. */
enum lki_quorum_state lki_quorum_server_begin(struct lki_quorum *quorum, size_t i);
/* The socket is ready: connect further, or read answers. */
enum lki_quorum_state lki_quorum_server_go_on(struct lki_quorum *quorum, size_t i);

/*
 * Give the connection back to the pool; while answers are outstanding it is parked, until that moment
 * at most, and the server keeps the ticket.
 *
 * Owns     takes the undo of the last request (wire/pending_undo.h); NULL: none.
 */
void lki_quorum_server_detach(struct lki_quorum_server *server, struct lki_pending_undo *undo,
                              int64_t until);

/* Whether the request was sent and has no answer (yet). */
bool lki_quorum_server_is_unanswered(const struct lki_quorum_server *server);
/* The answer to the last request; NULL: none. Borrowed. */
const lk_reply *lki_quorum_server_answer(const struct lki_quorum_server *server);

/* The status of an error answer: as lki_exchange_fail(), or why its script could not be loaded. The topology
   of the client learns of it. For settle(), while the server still has its connection. */
lk_status lki_quorum_server_fail(const struct lki_quorum_server *server, struct lk_error *err);

/* Parse the answers to INFO server and INFO replication, which may be empty. */
void lki_quorum_server_read_identity(struct lki_identity *out, struct lk_bytes server,
                                     struct lk_bytes replication);

#endif
