/*
 * The books of acceptor.c: which connections are at which stage, whose they are, and who is next, to
 * enter or to leave. A fair share is max-min: the address that has least comes first, the one that has
 * most gives. No descriptor is touched here, and no time is asked.
 *
 * Threads  the caller holds the acceptor's mutex; what is atomic is any thread's.
 */
#ifndef SECKILL_CROWD_H
#define SECKILL_CROWD_H

#include <stdatomic.h>
#include <sys/types.h>

#include "client_address.h"

typedef enum crowd_stage {
    NOWHERE,
    OUTSIDE, /* has not yet said a whole request */
    READY,   /* has, and waits for a place */
    HANDED,  /* over to civetweb, which has not taken it yet */
    INSIDE,
    STREAMING,
    STAGE_COUNT
} crowd_stage;

/* Those of one address. */
struct crowd_group {
    uint64_t key;             /* client_address_key() */
    bool is_proxy;            /* speaks for many: waits behind nobody */
    unsigned outside;         /* and ready */
    unsigned ready;           /* of these */
    unsigned inside;          /* and handed */
    unsigned streams;         /* of events */
    struct crowd_group *next; /* of its chain in the table */
};

/* A connection from accept() to close(). */
struct guest {
    struct acceptor *owner;
    struct crowd_group *group;
    struct guest *previous; /* of those in the same stage, the oldest first */
    struct guest *next;
    ino_t socket;
    struct client_address peer;
    int64_t since_ms;                /* it is outside */
    _Atomic int64_t spared_until_ms; /* it is its client's turn, in a crowd until then; 0: ours */
    crowd_stage stage;
    atomic_int turn;  /* inside_turn */
    bool has_begun;   /* to speak */
    bool is_watched;  /* by the acceptor's epoll set, while it is outside */
    bool is_served;   /* its thread knows its descriptor */
    bool is_given_up; /* has been told to go */
};

struct crowd_list {
    struct guest *first, *last;
    unsigned count;
    unsigned leaving; /* of them, given up */
};

enum { CROWD_CHAINS = 1024 };

struct crowd {
    unsigned places; /* inside */
    unsigned address_places;
    unsigned streams;
    unsigned address_streams; /* 0: no bound of its own, of these two */
    bool is_to_leave;         /* all of them, whether somebody waits or not */
    struct crowd_list list[STAGE_COUNT];
    struct crowd_group *groups[CROWD_CHAINS];
};

/*
 * Those of an address. A group without guests goes with its last one, or by crowd_forget().
 *
 * Returns  NULL when out of memory.
 */
struct crowd_group *crowd_group(struct crowd *self, const struct client_address *address,
                                bool is_proxy);
void crowd_forget(struct crowd *self, struct crowd_group *group);

/* To a stage, and perhaps to another address's share; NOWHERE: it is no more. */
void crowd_place(struct crowd *self, struct guest *guest, crowd_stage to,
                 struct crowd_group *group);

/* Who enters next: of those that are ready the oldest of the address that has least inside. */
struct guest *crowd_next(const struct crowd *self);

/*
 * Whether somebody who is ready should have the place of one of these: of the same address, or of one
 * that has less inside.
 */
bool crowd_wants_place_of(const struct crowd *self, const struct crowd_group *group);

/*
 * Who is to leave, so that somebody can enter: a client that lets others wait for longer than it may,
 * of the address that has most inside; NULL: none. Proxies may be idle (INSIDE_CLIENT_IDLE) for
 * `proxy_ms` longer.
 */
struct guest *crowd_idle(const struct crowd *self, int64_t now_ms, int64_t proxy_ms);

/* Who is to leave when too many are outside: the oldest silent one of the address with most there. */
struct guest *crowd_surplus(const struct crowd *self);

/*
 * Whether a client may have one more stream.
 *
 * Returns  with true, in *out_instead, whose stream has to end for it (NULL: nobody's): the oldest of
 *          the address that has most of them.
 */
bool crowd_has_stream(const struct crowd *self, const struct crowd_group *client,
                      struct guest **out_instead);

/* Note that it was told to go. */
void crowd_note_given_up(struct crowd *self, struct guest *guest);

#endif
