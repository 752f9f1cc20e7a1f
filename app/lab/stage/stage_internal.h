/*
 * The stage from behind: what its files share. stage.c has the verbs and calls the others: stage_servers.c lets
 * something befall servers, actor.c runs actors, observe.c looks at Redis, promises.c judges what it sees.
 */
#ifndef SECKILL_LAB_STAGE_INTERNAL_H
#define SECKILL_LAB_STAGE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "program.h"
#include "servers.h"

enum {
    STAGE_LIMIT_MS = 30000,       /* of one step, and of whatever an actor waits for */
    STAGE_STEP_LIMIT_MS = 10000,  /* of stage_step() */
    STAGE_START_LIMIT_MS = 20000, /* until the first exchange: of a program that is compiled then */
    STAGE_POLL_MS = 2 * STAGE_LIMIT_MS, /* so that who waits is not woken by a timer */
};

/* The connections of an actor that is a thread: they may outlive a run. */
struct stage_home {
    lk_client *client; /* owned; NULL: it has none */
    int wire;
    struct stage_actor *_Atomic actor; /* whose they are; NULL: nobody's now */
};

struct stage_actor {
    struct stage_cast cast;
    struct stage *stage;     /* borrowed */
    struct stage_home *home; /* borrowed */
    int wire;
    int branches[TAP_SERVERS_MAX]; /* to those of cast.servers */
    bool has_started;
    unsigned came; /* the step in which it started; 0: it has not */
    bool is_joined;
    pthread_t thread;
    _Atomic pid_t pid; /* of its process; 0: it has none, or it is over */
    lk_client *client; /* its home's, for its thread; NULL: not now */
    char order_id[ORDER_ID_MAX];
    /* Written by its thread, read once that is joined. */
    guard_status status;
    outcome outcome;
    const char *told;             /* what its buyer was told; NULL: nothing */
    struct start_error trouble;   /* why its program is none; "": nothing */
    bool is_dead;                 /* its process was killed, or died */
    bool is_gone;                 /* a thread in place of a process that was killed */
    int died_of;                  /* the signal */
    _Atomic int wants;            /* index of a lock without which it cannot go on; -1: none */
    _Atomic unsigned lost_rounds; /* of tries for what others want too */
    _Atomic bool has_won;         /* one of them */
    _Atomic unsigned holds;       /* as it believes: a bit for each index of a lock */
};

struct stage {
    struct tap *tap;               /* borrowed */
    lk_client *observer;           /* borrowed: of the shop's server */
    struct servers *servers;       /* borrowed */
    struct stage_home *homes;      /* borrowed: of each actor */
    struct lab_run *run;           /* borrowed */
    const struct program *program; /* borrowed: all actors'; NULL: they are ours */
    unsigned beside;               /* that server, no Redis, has the lock; 0: none */
    unsigned primary;              /* 0: nobody follows anybody */
    unsigned replica;
    int relay;                    /* between them */
    int port;                     /* where that is */
    bool is_torn;                 /* that is broken */
    struct tap_calls befell;      /* owned: what this move did to servers */
    bool has_lost;                /* an exchange */
    size_t seen_from;             /* steps before this one are neither looked at nor judged */
    unsigned woken;               /* one after the other, and nobody has done anything since */
    const char *told;             /* what a buyer was told in this move */
    _Atomic bool had_two_holders; /* of one lock, by what they were told and may act upon */
    struct stage_actor actors[LAB_ACTORS_MAX];
};

static inline bool stage_has_failed(const struct stage *stage)
{
    return stage->run->failure.text[0] != '\0';
}

/* ---- stage_servers.c --------------------------------------------------------------------------- */

/* One server follows another, and has all that it has. */
void stage_replicate(struct stage *stage, unsigned primary, unsigned replica);

/* ---- observe.c --------------------------------------------------------------------------------- */

bool observe(struct stage *stage, struct lab_state *out);
/* End the session of whoever has the lock beside, and see that it is over; likewise. */
bool observe_end_session(struct stage *stage, struct tap_calls *out);
/* Let the lease of a key run out wherever it has one, and see that it has; the calls that did it are *out. */
bool observe_lapse(struct stage *stage, const char *key, struct tap_calls *out);
/* Whether an order's time to be paid for is still to end. */
bool observe_due(struct stage *stage);
/* Let the time of the first one in the queue of a fair lock run out; likewise. */
bool observe_lapse_first(struct stage *stage, const char *key, struct tap_calls *out);

/* ---- promises.c -------------------------------------------------------------------------------- */

/* The actor of an owner's label ("A#1", or "A"; of "A#1,B#1" the first); -1: none of them. */
int promises_owner(const struct stage *stage, const char *label);
/* An actor, no process, was told that it holds a lock now; that it does so no more. Any thread. */
void promises_note_hold(struct stage_actor *actor, const char *key);
void promises_note_end(struct stage_actor *actor, const char *key);
/* The leases of this key have run out: nobody can believe any more that it is his. */
void promises_note_lapse(struct stage *stage, const char *key);
/* What the last step of the run has broken that held before; into the step and into run->breaks. */
void promises_judge(struct stage *stage);

#endif
