/*
 * The stage from behind: what its files share. stage.c has the verbs, actor.c runs actors, observe.c
 * looks at Redis, promises.c judges what it sees.
 */
#ifndef SECKILL_LAB_STAGE_INSIDE_H
#define SECKILL_LAB_STAGE_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include "lab/stage.h"

enum {
    STAGE_LIMIT_MS = 30000, /* of one step, and of whatever an actor waits for */
    STAGE_CODE_DONE = 16,   /* exit status of an actor's process: this + outcome... */
    STAGE_CODE_NOT = 64,    /* ...or this + guard_status */
};

struct stage_actor {
    struct stage_cast cast;
    struct stage *stage; /* borrowed */
    int wire;
    bool has_started;
    bool is_joined;
    pthread_t thread;
    _Atomic pid_t pid; /* of its process; 0: it has none, or it is over */
    lk_client *client; /* owned by its thread */
    char order_id[ORDER_ID_MAX];
    /* Written by its thread, read once that is joined. */
    guard_status status;
    outcome outcome;
    const char *told;  /* what its buyer was told; NULL: nothing */
    bool is_dead;      /* its process was killed */
    _Atomic int wants; /* index of a lock without which it cannot go on; -1: none */
};

struct stage {
    struct tap *tap;     /* borrowed */
    lk_client *observer; /* borrowed */
    struct lab_run *run; /* borrowed */
    struct stage_actor actors[LAB_ACTORS_MAX];
};

/* ---- actor.c ----------------------------------------------------------------------------------- */

bool actor_start(struct stage_actor *self, struct refusal *why);
/* Kill its process; its thread ends soon. */
void actor_kill(struct stage_actor *self);
void actor_join(struct stage_actor *self);

/* Buy a unit as guards do. Also what an actor's process does. */
struct guard_result actor_buy(lk_client *client, const struct stage_cast *cast,
                              const char *order_id, struct purchase *out);
/* What the buyer is told of it. */
const char *actor_answer(guard_status status, outcome which);

/* ---- observe.c --------------------------------------------------------------------------------- */

bool observe(struct stage *stage, struct lab_state *out);
/* Let the lease of a key run out, and see that it has; the call that did it is *out. */
bool observe_lapse(struct stage *stage, const char *key, struct tap_call *out);

/* ---- promises.c -------------------------------------------------------------------------------- */

/* The actor of an owner's label ("A#1", or "A"); -1: none of them. */
int promise_owner(const struct stage *stage, const char *label);
/* What the last step of the run has broken that held before; into the step and into run->breaks. */
void promise_judge(struct stage *stage);

#endif
