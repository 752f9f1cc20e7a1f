/*
 * The client's session with the ensemble, and one question on it. libzookeeper's blocking calls wait without end and can hang;
 * these give up at a deadline.
 */
#ifndef LKI_ZOOKEEPER_SESSION_H
#define LKI_ZOOKEEPER_SESSION_H

#define THREADED
#include <zookeeper.h>

#include "call/context.h"

/* Who is told of what is heard; on libzookeeper's thread. */
struct zookeeper_callbacks {
    void (*alarm)(lk_client *client);    /* holds are to be doubted */
    void (*wake_all)(lk_client *client); /* the connection is another one */
    void (*changed)(lk_client *client, unsigned long node, const char *path, bool is_gone);
};

struct zookeeper_session {
    const struct zookeeper_callbacks *callbacks; /* set before init */
    char *hosts;                                 /* owned; as libzookeeper takes them */
    int64_t asked_ms;                            /* the time-out that is asked for */
    pthread_mutex_t mutex;                       /* guards the rest, and what zookeeper.h says */
    pthread_cond_t changed;
    zhandle_t *handle; /* owned; NULL: none just now */
    bool is_connected;
    bool has_expired;        /* the handle is of no use any more */
    int64_t disconnected_at; /* the handle was made, or last lost its connection */
    int64_t timeout_ms;      /* as the server granted it; 0: not known yet */
    /* The last write that counts as a proof: sent, and answered. */
    int64_t sent_at, answered_at;
    bool is_proving; /* a proof is under way */
    /* Without the mutex: */
    _Atomic int64_t id;          /* 0: there is none */
    _Atomic int64_t valid_until; /* before this the ensemble has not ended it */
};

enum zookeeper_verb {
    ZOOKEEPER_CREATE,
    ZOOKEEPER_DELETE,
    ZOOKEEPER_EXISTS,
    ZOOKEEPER_CHILDREN,
    ZOOKEEPER_GET,
    ZOOKEEPER_SET,
    ZOOKEEPER_CHECK, /* by the whole ensemble: it is there */
    ZOOKEEPER_SYNC,  /* what is asked next on this connection is of no earlier state */
};

struct zookeeper_question {
    enum zookeeper_verb verb;
    const char *path;
    const char *data; /* of CREATE and SET [none] */
    int len;
    int mode;             /* of CREATE */
    int32_t next_version; /* of SET and DELETE: what is there is the one before [any] */
    unsigned long node; /* of GET and CHILDREN: whom to wake when that changes, or ends [nobody] */
};

struct zookeeper_answer {
    int code;                   /* ZOK, ZNONODE, ZNODEEXISTS, ZBADVERSION: what the server says */
    int64_t session;            /* in which it was asked */
    char *path;                 /* owned: CREATE's; of GET the data */
    int len;                    /* ...of GET, their length */
    int32_t version;            /* of GET and EXISTS */
    int64_t czxid;              /* of CREATE and EXISTS */
    struct String_vector names; /* owned: CHILDREN's */
};

/* Statuses of lk_client_open(). hosts is taken. */
LK_MUST_CHECK lk_status zookeeper_session_init(lk_client *client, char *hosts, int64_t asked_ms,
                                               struct lk_error *err);
/* The client's, once init was called for it. */
void zookeeper_session_done(lk_client *client);

/* A new handle in place of one that has expired, or of none. Only one thread does that. */
LK_MUST_CHECK lk_status zookeeper_session_renew(lk_client *client, struct lk_error *err);
/* End it: the ensemble deletes what is ours. */
void zookeeper_session_close(lk_client *client);
/* Have the ensemble confirm it, unless it just has. Waits for nothing. When to come back. */
int64_t zookeeper_session_prove(lk_client *client);
/* Wait until it is proven to live: OK; UNREACHABLE: the deadline came. */
LK_MUST_CHECK lk_status zookeeper_session_await_valid(lk_client *client, int64_t deadline,
                                                      struct lk_error *err);
/*
 * Ask, waiting for a connection if there is none.
 *
 * Owns     on OK *out is yours: zookeeper_answer_done(); of UNKNOWN the session alone is in it.
 * Returns  OK; UNREACHABLE: nothing was sent; UNKNOWN; SERVER, and why; NO_MEMORY.
 */
LK_MUST_CHECK lk_status zookeeper_ask(lk_client *client, const struct zookeeper_question *question,
                                      int64_t deadline, struct zookeeper_answer *out,
                                      struct lk_error *err);
/* The same, and the answer is no staler than the ensemble was when this was called. */
LK_MUST_CHECK lk_status zookeeper_ask_latest(lk_client *client,
                                             const struct zookeeper_question *question,
                                             int64_t deadline, struct zookeeper_answer *out,
                                             struct lk_error *err);
/* What was not answered may be asked again: UNREACHABLE in place of UNKNOWN. */
static inline lk_status zookeeper_ask_again(lk_status status, struct lk_error *err)
{
    if (status != LK_UNKNOWN) return status;
    if (err) err->code = LK_UNREACHABLE;
    return LK_UNREACHABLE;
}
/* Watch a node of ours, without waiting; zookeeper_node_changed() tells. */
void zookeeper_watch_own(lk_client *client, const char *path, unsigned long node);
void zookeeper_answer_done(struct zookeeper_answer *answer);

#endif
