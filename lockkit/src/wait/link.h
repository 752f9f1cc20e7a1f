/*
 * The hub's subscriber connections, one to each server that has channels for it. The hub thread's
 * alone; nothing here waits, but for a host's name to be found.
 */
#ifndef LKI_LINK_H
#define LKI_LINK_H

#include "base/backoff.h"
#include "channel.h"
#include "servers/topology.h"

enum { LKI_ASKS_MAX = 64 }; /* not answered yet, by one server */

/* What is to be sent at the end of a turn. */
struct lki_asks {
    struct lk_bytes words[LKI_ASKS_MAX][2]; /* borrowed from the channels */
    struct lk_command commands[LKI_ASKS_MAX];
    size_t count;
};

struct lki_link {
    struct lki_link *next;
    struct lki_node *node;                   /* owned: a reference */
    const struct lk_client_options *options; /* borrowed */
    bool is_sharded;                         /* SSUBSCRIBE, in place of SUBSCRIBE */
    struct lki_redis *redis;                 /* owned; NULL: not even about to connect */
    bool is_open;                            /* connected and logged in */
    short events;                            /* of poll(): what its socket is waited for */
    bool has_told;                           /* the hook, that a channel is refused */
    bool is_pinged;                          /* a PING is not answered yet */
    int64_t ping_at;                         /* meaningful while open */
    int64_t began_at;                        /* the attempt to connect; it is given up... */
    int64_t connect_by;                      /* ...at this moment */
    int64_t connect_at;                      /* no attempt before */
    struct lki_backoff backoff;              /* none once the server has answered us */
    size_t channel_count;                    /* routed to it */
    int64_t idle_since;                      /* meaningful without channels */
    size_t unanswered;
    struct lki_asks asks;
};

/* How a link fares. */
enum lki_link_news {
    LINK_SAME,
    LINK_OPENED, /* it can be asked now */
    LINK_LOST,   /* the connection ended, or none was made: all its subscriptions are gone */
};

/* Called with each message or error from the server. */

/* Takes the reference to the node, also when it fails (NULL: out of memory). */
struct lki_link *lki_link_new(const struct lk_client_options *options, struct lki_node *node,
                              bool is_sharded);
void lki_link_free(struct lki_link *link);

/* How many channels may still be asked for. */
size_t lki_link_room(const struct lki_link *link);
/* Have its server told, at the end of the turn, of a channel that stays until then; there is room. */
void lki_link_subscribe(struct lki_link *link, const struct lki_channel *channel);
void lki_link_unsubscribe(struct lki_link *link, const struct lki_channel *channel);
/* The server has answered one of these: it lets us in. */
void lki_link_answered(struct lki_link *link);

/* When lki_link_tend() next has something to do; INT64_MAX: not by itself. */
int64_t lki_link_due(const struct lki_link *link);
/* Send what was asked for, and do what is due: connect, give up, see whether it lives. After LINK_LOST
   it is closed. */
enum lki_link_news lki_link_tend(struct lki_link *link);
/* The socket is ready: go on connecting, or receive a message, which is yours; *out NULL: there is no more.
   After LINK_LOST it is closed. */
enum lki_link_news lki_link_receive(struct lki_link *link, lk_reply **out);

#endif
