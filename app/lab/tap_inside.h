/*
 * The tap from behind: tap.c has wires and waits, tap_links.c the connections and what passes through.
 * Everything here is called with the tap's mutex held.
 */
#ifndef SECKILL_LAB_TAP_INSIDE_H
#define SECKILL_LAB_TAP_INSIDE_H

#include <limits.h>
#include <pthread.h>

#include "lab/tap.h"

enum {
    TAP_LINKS_MAX = 32,
    TAP_PENDING_MAX = 256, /* commands of a link without an answer */
    CALL_NOT_SHOWN = -1,
};

/* Bytes on their way in one direction. */
struct buffer {
    char *data; /* owned */
    size_t len;
};

/* A command that was sent: where its reply goes. */
struct pending {
    int call; /* index of calls; CALL_NOT_SHOWN */
    char verb[16];
    char *script; /* owned: text of SCRIPT LOAD, digest of EVALSHA; else NULL */
};

struct link {
    int client; /* -1: it has hung up, or was cut off */
    int server; /* -1: the link is free */
    int wire;
    struct buffer up, down;
    bool is_held;     /* `up` waits for tap_let() */
    bool is_stuck;    /* `up` waits for tap_deliver() */
    bool is_deaf;     /* replies are not passed on; closed after the last */
    bool is_silent;   /* subscriptions: passed on unread */
    bool is_watchdog; /* passed on, counted, not shown */
    bool passes_next; /* the exchange at hand was let go */
    size_t pending_count;
    struct pending pending[TAP_PENDING_MAX];
};

struct wire {
    const char *name; /* borrowed */
    int listener;     /* -1: dead */
    char url[PATH_MAX];
    char point[TAP_POINT_SIZE]; /* "": none */
    enum tap_state told;        /* by tap_tell() */
    unsigned renewals;          /* of its watchdog, that were granted */
    char *renewal;              /* owned: the last one's command */
    char unknown[41]; /* digest of the last EVALSHA that the server did not know; "": none */
};

struct tap {
    char dir[PATH_MAX];
    char server[PATH_MAX];
    struct labels *labels; /* borrowed */
    pthread_t thread;
    int wake; /* eventfd */
    pthread_cond_t changed;
    pthread_mutex_t mutex; /* guards all below, and the labels */
    bool is_closing;
    size_t wire_count;
    struct wire wires[TAP_WIRES_MAX];
    struct link links[TAP_LINKS_MAX];
    struct tap_calls calls;
};

/* Somebody knocks at this wire. */
void link_accept(struct tap *tap, int wire);
void link_close(struct link *link);
/* There is something to read from its client, or from its server. */
void link_serve(struct tap *tap, struct link *link, bool is_server);
/* Pass its client's bytes on, unless the actor is to stop before them. */
void link_look_up(struct tap *tap, struct link *link);
/* Its client's bytes will not arrive, not now: show them. */
void link_show_stuck(struct tap *tap, const struct link *link);
/* A socket of this path: to listen at, or connected. -1: errno tells. */
int link_socket(const char *path, bool is_listener);

/* Show a call; takes both strings. Its index. */
int tap_add_call(struct tap *tap, char *command, char *reply);

#endif
