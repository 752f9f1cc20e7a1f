/*
 * How a server and its clients speak, read as it passes by: where a piece ends, and what it says in words. One more
 * system is one more of these, and a row of TAP_SERVER_LIST. Knows no sockets; called with the tap's mutex held.
 */
#ifndef SECKILL_LAB_PROTOCOL_H
#define SECKILL_LAB_PROTOCOL_H

#include <stdbool.h>
#include <stdio.h>

#include "labels.h"

enum { PROTOCOL_MEMO_SIZE = 128 };

/* What a request is to the tap. */
enum protocol_kind {
    PROTOCOL_SHOWN,
    PROTOCOL_OWN,        /* what a connection says by itself: neither shown nor stopped at */
    PROTOCOL_UNANSWERED, /* likewise, and there is no reply */
    PROTOCOL_RENEWS,     /* this connection is a watchdog's */
    PROTOCOL_LISTENS,    /* this connection has events alone, from now on */
};

/* What a server says unasked. */
enum protocol_event {
    PROTOCOL_REPLY, /* nothing: it was asked */
    PROTOCOL_JOINED,
    PROTOCOL_LEFT,
    PROTOCOL_MESSAGE,
    PROTOCOL_FIRED, /* likewise, and there will be no other of its kind */
    PROTOCOL_NOISE,
};

/* Who speaks. */
struct protocol_speaker {
    struct labels *labels; /* borrowed, as the others */
    const char *actor;
    char *memo; /* PROTOCOL_MEMO_SIZE bytes that a protocol keeps for this wire; "" at first */
};

struct protocol {
    /* Bytes of the first request, or reply, or event; 0: not whole yet; -1: nothing we understand. */
    long (*request)(const char *bytes, size_t len);
    long (*reply)(const char *bytes, size_t len);
    /* text: what print_request() prints. */
    enum protocol_kind (*kind)(const struct protocol_speaker *who, struct lk_bytes request,
                               const char *text);
    void (*print_request)(const struct protocol_speaker *who, struct lk_bytes request, FILE *out);
    void (*print_reply)(const struct protocol_speaker *who, struct lk_bytes request,
                        struct lk_bytes reply, FILE *out);
    /* The Lua text that it runs; owned; NULL: none that is known. A NULL function: there are no scripts. */
    char *(*script)(const struct protocol_speaker *who, struct lk_bytes request);
    /* Take note of a request that goes up (reply.data is NULL), and of what was replied. True: from now on a message
       may come because of it. */
    bool (*learn)(const struct protocol_speaker *who, struct lk_bytes request,
                  struct lk_bytes reply);
    /* Change a request, in place, that would lead to what we do not understand; NULL: there is none. */
    void (*tame)(char *bytes, struct lk_bytes request);
    /* What it is, and in words if out is not NULL. only_events: of a connection that listens. NULL: a reply, always;
       what comes unasked comes with the next one. */
    enum protocol_event (*event)(const struct protocol_speaker *who, struct lk_bytes piece,
                                 bool only_events, FILE *out);
};

extern const struct protocol protocol_redis, protocol_postgres, protocol_zookeeper;

#endif
