/*
 * The tap from behind: tap.c has the thread and the waits, tap_wires.c the sockets at which actors knock,
 * link.c the connections and what passes through, tap_calls.c what is shown of it.
 * Everything here is called with the tap's mutex held.
 */
#ifndef SECKILL_LAB_TAP_INTERNAL_H
#define SECKILL_LAB_TAP_INTERNAL_H

#include <limits.h>
#include <pthread.h>

#include "protocol.h"
#include "tap.h"

enum {
    TAP_LINKS_MAX = 64,
    TAP_PENDING_MAX = 256, /* commands of a link without an answer */
    CALL_NOT_SHOWN = -1,
};

/* Bytes on their way in one direction. */
struct buffer {
    char *data; /* owned */
    size_t len;
};

/* A request that was sent: where its reply goes. */
struct pending {
    int call;      /* index of calls; CALL_NOT_SHOWN */
    char *request; /* owned; NULL: there was no memory */
    size_t request_len;
};

struct link {
    int client; /* -1: it has hung up (the last replies are awaited), or was cut off */
    int server; /* -1: the link is free */
    int wire;
    struct buffer up, down;
    bool is_held;     /* `up` waits for tap_let() */
    bool is_stuck;    /* `up` waits for tap_deliver() */
    bool is_over;     /* the server has hung up, and the actor shall not know before it goes on */
    bool is_deaf;     /* replies are not passed on; closed after the last */
    bool is_silent;   /* subscriptions: passed on, not shown; relays: passed on unread */
    bool is_watchdog; /* passed on, not shown; its renewals are counted */
    bool passes_next; /* the exchange at hand was let go */
    size_t pending_count;
    struct pending pending[TAP_PENDING_MAX];
};

/* What tap_let_wait() is about. */
enum wire_wait { WIRE_GOES_ON, WIRE_IS_TO_WAIT, WIRE_WAITS };

struct wire {
    const char *name; /* borrowed */
    int lead;         /* the first wire of its actor; itself */
    unsigned server;
    bool is_relay;
    bool is_on_port; /* at a port of 127.0.0.1, for clients of whatever kind */
    bool is_cut;
    bool is_still;
    bool is_kept;        /* its connections may outlast its actor's end */
    int listener;        /* -1: nobody answers */
    int port;            /* at which it does; 0: at its path */
    char path[PATH_MAX]; /* of the socket */
    char url[PATH_MAX + 64];
    char point[TAP_POINT_SIZE]; /* of the first wire: of all; "": none */
    enum tap_state told;        /* by tap_report(), of the first wire */
    unsigned renewals;          /* of its watchdog, that were granted */
    struct tap_call renewal;    /* owned: the last one, without a reply */
    enum wire_wait wait;
    bool has_asked;     /* tap_has_asked() */
    unsigned channels;  /* subscribed to */
    char *message;      /* owned: the last that came to it, as a call; NULL: none */
    unsigned messenger; /* the server that it came from */
    char memo[PROTOCOL_MEMO_SIZE];
};

struct tap {
    char *dir;             /* owned */
    struct labels *labels; /* borrowed */
    pthread_t thread;
    int wake; /* eventfd */
    pthread_cond_t changed;
    pthread_mutex_t mutex; /* guards all below, and the labels */
    bool is_closing;
    char servers[TAP_SERVERS_MAX][PATH_MAX]; /* their sockets; "": down, or there is none */
    unsigned hang_ups[TAP_SERVERS_MAX];      /* of each, that were seen */
    size_t wire_count;
    struct wire wires[TAP_WIRES_MAX];
    struct link links[TAP_LINKS_MAX];
    struct tap_calls calls;
};

/* ---- tap_wires.c ----------------------------------------------------------------------------------- */

/* The list of sockets has changed: the thread looks at it anew. */
void tap_nudge(struct tap *tap);
/* Whether it is that wire, or one of its branches. */
bool tap_is_part(const struct tap *tap, int part, int wire);
/* Nobody answers there any more; its connections break. */
void tap_wire_close(struct tap *tap, int wire);

/* ---- link.c ----------------------------------------------------------------------------------- */

/* Somebody knocks at the wire there. */
void link_accept(struct tap *tap, int at);
void link_close(struct link *link);
/* To a server that has started again, if its client is owed nothing by the old one. */
void link_renew(struct tap *tap, struct link *link);
/* Whether an answer to what is shown is still to come. */
bool link_is_asking(const struct link *link);
/* Whether what its client has sent, or that it has hung up, is still to be read. */
bool link_is_behind(const struct link *link);
/* There is something to read from its client, or from its server. */
void link_serve(struct tap *tap, struct link *link, bool is_server);
/* Pass its client's bytes on, unless the actor is to stop before them. */
void link_handle_requests(struct tap *tap, struct link *link);
/* The first request of those bytes, as it is shown; owned, or NULL. */
char *link_first(struct tap *tap, const struct link *link);
/* Its client's bytes will not arrive, not now: show them, and why. */
void link_show_lost(struct tap *tap, const struct link *link, const char *why);
/* A socket of this path, or of this port "127.0.0.1:PORT": to listen at, or connected. -1: errno tells. */
int link_socket(const char *path, bool is_listener);
/* A socket that listens at a free port of 127.0.0.1. */
int link_port(int *out_port);

/* ---- tap_calls.c ---------------------------------------------------------------------------------- */

/* Show a call; takes its strings. Its index. */
int tap_add_call(struct tap *tap, struct tap_call call);
/* Whether a redlock takes back what it asked for in vain: that belongs to the try, nobody stops there. */
bool tap_calls_is_undo(const char *command);
/* As tap_take_calls() says. */
void tap_calls_order(struct tap_calls *calls);

#endif
