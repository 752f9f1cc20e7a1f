/*
 * A subscriber connection of the hub to one server. The hub's thread only; nothing here blocks, except
 * the look-up of a host name.
 */
#ifndef LKI_PUBSUB_CONN_H
#define LKI_PUBSUB_CONN_H

#include "base/backoff.h"
#include "channel.h"
#include "servers/topology.h"

enum { LKI_PUBSUB_BATCH_MAX = 64 }; /* unanswered commands of one connection */

/* Commands that are sent together, by lki_pubsub_conn_tick(). */
struct lki_pubsub_batch {
    struct lk_bytes words[LKI_PUBSUB_BATCH_MAX][2]; /* borrowed from the channels */
    struct lk_command commands[LKI_PUBSUB_BATCH_MAX];
    size_t count;
};

struct lki_pubsub_conn {
    struct lki_pubsub_conn *next;
    struct lki_node *node;                   /* owned: a reference */
    const struct lk_client_options *options; /* borrowed */
    bool is_sharded;                         /* SSUBSCRIBE in place of SUBSCRIBE */
    struct lki_redis *redis;                 /* owned; NULL: not connected, nor connecting */
    bool is_open;                            /* connected and logged in */
    short events;                            /* for poll() */
    bool has_reported;                       /* LK_EVENT_REFUSED was emitted */
    bool is_pinged;                          /* a PING is not answered yet */
    int64_t ping_at;                         /* valid while open */
    int64_t began_at;                        /* when the attempt to connect began... */
    int64_t connect_by;                      /* ...and its deadline */
    int64_t connect_at;                      /* no attempt before this */
    struct lki_backoff backoff;              /* reset when the server has answered */
    size_t channel_count;                    /* channels that are routed to it */
    int64_t idle_since;                      /* valid without channels */
    size_t unanswered;                       /* commands without an answer yet */
    struct lki_pubsub_batch batch;
};

/* What a call here has changed. */
enum lki_pubsub_event {
    PUBSUB_UNCHANGED,
    PUBSUB_CONNECTED,
    PUBSUB_LOST, /* closed, or it could not be connected: all its subscriptions are gone */
};

/* Takes the reference to the node, also when it fails (NULL: out of memory). */
struct lki_pubsub_conn *lki_pubsub_conn_new(const struct lk_client_options *options,
                                            struct lki_node *node, bool is_sharded);
void lki_pubsub_conn_free(struct lki_pubsub_conn *conn);

size_t lki_pubsub_conn_room(const struct lki_pubsub_conn *conn);
/* Add a command to the batch; there is room. The channel must exist until the batch is sent. */
void lki_pubsub_conn_subscribe(struct lki_pubsub_conn *conn, const struct lki_channel *channel);
void lki_pubsub_conn_unsubscribe(struct lki_pubsub_conn *conn, const struct lki_channel *channel);
void lki_pubsub_conn_answered(struct lki_pubsub_conn *conn);

/* The next timeout of lki_pubsub_conn_tick(); INT64_MAX: none. */
int64_t lki_pubsub_conn_due(const struct lki_pubsub_conn *conn);
/* Send the batch, and handle timeouts: connect, give up, ping. After PUBSUB_LOST it is closed. */
enum lki_pubsub_event lki_pubsub_conn_tick(struct lki_pubsub_conn *conn);
/* The socket is ready: continue to connect, or receive a message, which is yours. *out is NULL: there is no more.
   After PUBSUB_LOST it is closed. */
enum lki_pubsub_event lki_pubsub_conn_receive(struct lki_pubsub_conn *conn, lk_reply **out);

#endif
