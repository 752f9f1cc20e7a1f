/*
 * The hub's subscriber connections, one to each server that has channels for it. The hub thread's
 * alone; nothing here waits, but for a host's name to be found.
 */
#ifndef LKI_PUBSUB_CONN_H
#define LKI_PUBSUB_CONN_H

#include "base/backoff.h"
#include "channel.h"
#include "servers/topology.h"

enum { LKI_PUBSUB_BATCH_MAX = 64 }; /* not answered yet, by one server */

/* What is to be sent at the end of a turn. */
struct lki_pubsub_batch {
    struct lk_bytes words[LKI_PUBSUB_BATCH_MAX][2]; /* borrowed from the channels */
    struct lk_command commands[LKI_PUBSUB_BATCH_MAX];
    size_t count;
};

struct lki_pubsub_conn {
    struct lki_pubsub_conn *next;
    struct lki_node *node;                   /* owned: a reference */
    const struct lk_client_options *options; /* borrowed */
    bool is_sharded;                         /* SSUBSCRIBE, in place of SUBSCRIBE */
    struct lki_redis *redis;                 /* owned; NULL: not even about to connect */
    bool is_open;                            /* connected and logged in */
    short events;                            /* of poll(): what its socket is waited for */
    bool has_reported;                       /* the hook, that a channel is refused */
    bool is_pinged;                          /* a PING is not answered yet */
    int64_t ping_at;                         /* meaningful while open */
    int64_t began_at;                        /* the attempt to connect; it is given up... */
    int64_t connect_by;                      /* ...at this moment */
    int64_t connect_at;                      /* no attempt before */
    struct lki_backoff backoff;              /* none once the server has answered us */
    size_t channel_count;                    /* routed to it */
    int64_t idle_since;                      /* meaningful without channels */
    size_t unanswered;
    struct lki_pubsub_batch batch;
};

/* How a connection fares. */
enum lki_pubsub_event {
    PUBSUB_UNCHANGED,
    PUBSUB_CONNECTED, /* it can be asked now */
    PUBSUB_LOST,      /* the connection ended, or none was made: all its subscriptions are gone */
};

/* Called with each message or error from the server. */

/* Takes the reference to the node, also when it fails (NULL: out of memory). */
struct lki_pubsub_conn *lki_pubsub_conn_new(const struct lk_client_options *options,
                                            struct lki_node *node, bool is_sharded);
void lki_pubsub_conn_free(struct lki_pubsub_conn *conn);

/* How many channels may still be asked for. */
size_t lki_pubsub_conn_room(const struct lki_pubsub_conn *conn);
/* Have its server told, at the end of the turn, of a channel that stays until then; there is room. */
void lki_pubsub_conn_subscribe(struct lki_pubsub_conn *conn, const struct lki_channel *channel);
void lki_pubsub_conn_unsubscribe(struct lki_pubsub_conn *conn, const struct lki_channel *channel);
/* The server has answered one of these: it lets us in. */
void lki_pubsub_conn_answered(struct lki_pubsub_conn *conn);

/* When lki_pubsub_conn_tick() next has something to do; INT64_MAX: not by itself. */
int64_t lki_pubsub_conn_due(const struct lki_pubsub_conn *conn);
/* Send what was asked for, and do what is due: connect, give up, see whether it lives. After PUBSUB_LOST
   it is closed. */
enum lki_pubsub_event lki_pubsub_conn_tick(struct lki_pubsub_conn *conn);
/* The socket is ready: go on connecting, or receive a message, which is yours; *out NULL: there is no more.
   After PUBSUB_LOST it is closed. */
enum lki_pubsub_event lki_pubsub_conn_receive(struct lki_pubsub_conn *conn, lk_reply **out);

#endif
