/*
 * The client's session with the ensemble, and requests on it. libzookeeper's blocking calls can hang; these give up at a
 * deadline.
 */
#ifndef LKI_ZOOKEEPER_SESSION_H
#define LKI_ZOOKEEPER_SESSION_H

#define THREADED
#include <zookeeper.h>

#include "call/context.h"

/* Called on libzookeeper's thread. */
struct zookeeper_callbacks {
    void (*alarm)(lk_client *client);    /* all holds are suspect */
    void (*wake_all)(lk_client *client); /* there is a new connection */
    void (*changed)(lk_client *client, unsigned long node, const char *path, bool is_gone);
};

struct zookeeper_session {
    const struct zookeeper_callbacks *callbacks; /* set before init */
    char *hosts;                                 /* owned; as libzookeeper takes them */
    int64_t asked_ms;                            /* the requested time-out */
    pthread_mutex_t mutex;                       /* guards the rest, and what zookeeper.h names */
    pthread_cond_t changed;
    zhandle_t *handle; /* owned; NULL: none */
    bool is_connected;
    bool has_expired;        /* the handle cannot be used any more */
    int64_t disconnected_at; /* when the handle was made, or last lost its connection */
    int64_t timeout_ms;      /* as granted by the server; 0: not known yet */
    /* Of the last write that counts as a proof. */
    int64_t sent_at, answered_at;
    bool is_proving; /* a proof is under way */
    /* Without the mutex: */
    _Atomic int64_t id;          /* 0: there is none */
    _Atomic int64_t valid_until; /* before this moment the ensemble does not end it */
};

enum zookeeper_verb {
    ZOOKEEPER_CREATE,
    ZOOKEEPER_DELETE,
    ZOOKEEPER_EXISTS,
    ZOOKEEPER_CHILDREN,
    ZOOKEEPER_GET,
    ZOOKEEPER_SET,
    ZOOKEEPER_CHECK, /* the whole ensemble confirms that the node exists */
    ZOOKEEPER_SYNC,  /* the next request on this connection sees the present state or a later one */
};

struct zookeeper_question {
    enum zookeeper_verb verb;
    const char *path;
    const char *data; /* of CREATE and SET [none] */
    int len;
    int mode;             /* of CREATE */
    int32_t next_version; /* of SET and DELETE: the expected version plus one [0: any] */
    unsigned long
        node; /* of GET and CHILDREN: the waiter to wake when it changes or ends [0: none] */
};

struct zookeeper_answer {
    int code;                   /* ZOK, ZNONODE, ZNODEEXISTS, ZBADVERSION */
    int64_t session;            /* of the request */
    char *path;                 /* owned: of CREATE; of GET the data */
    int len;                    /* of GET, the length of the data */
    int32_t version;            /* of GET and EXISTS */
    int64_t czxid;              /* of CREATE and EXISTS */
    struct String_vector names; /* owned: CHILDREN's */
};

/* Statuses of lk_client_open(). hosts is taken. */
LK_MUST_CHECK lk_status zookeeper_session_init(lk_client *client, char *hosts, int64_t asked_ms,
                                               struct lk_error *err);
/* End it; after init was called, also when that failed. */
void zookeeper_session_done(lk_client *client);

/* Make a new handle in place of one that has expired, or of none. One thread does this. */
LK_MUST_CHECK lk_status zookeeper_session_renew(lk_client *client, struct lk_error *err);
/* Close it: the ensemble deletes our nodes. */
void zookeeper_session_close(lk_client *client);
/* Send a proof, unless there was one just now. Does not block. Returns when to call it again. */
int64_t zookeeper_session_prove(lk_client *client);
/* Wait until it is proven: OK; UNREACHABLE: not before the deadline. */
LK_MUST_CHECK lk_status zookeeper_session_await_valid(lk_client *client, int64_t deadline,
                                                      struct lk_error *err);
/*
 * Send a request, and wait for the answer; waits for a connection if there is none.
 *
 * Owns     on OK *out is yours: zookeeper_answer_done(); after UNKNOWN only its session is set.
 * Returns  OK; UNREACHABLE: nothing was sent; UNKNOWN; SERVER; NO_MEMORY.
 */
LK_MUST_CHECK lk_status zookeeper_ask(lk_client *client, const struct zookeeper_question *question,
                                      int64_t deadline, struct zookeeper_answer *out,
                                      struct lk_error *err);
/* The same; the answer is that of the ensemble's state at the time of this call, or later. */
LK_MUST_CHECK lk_status zookeeper_ask_latest(lk_client *client,
                                             const struct zookeeper_question *question,
                                             int64_t deadline, struct zookeeper_answer *out,
                                             struct lk_error *err);
/* Of a request that may be repeated: UNREACHABLE in place of UNKNOWN. */
static inline lk_status zookeeper_ask_again(lk_status status, struct lk_error *err)
{
    if (status != LK_UNKNOWN) return status;
    if (err) err->code = LK_UNREACHABLE;
    return LK_UNREACHABLE;
}
/* Watch our own node, without blocking; zookeeper_node_changed() is called. */
void zookeeper_watch_own(lk_client *client, const char *path, unsigned long node);
void zookeeper_answer_done(struct zookeeper_answer *answer);

#endif
