/*
 * What a scenario does with its actors. Each verb below is a step of the timeline, but those before
 * stage_until().
 *
 * A verb after which the actor is not where the scenario wants it ends the scenario: what follows does nothing, and
 * the run carries the reason. So a scenario needs no checks, and reads from top to bottom.
 */
#ifndef SECKILL_LAB_STAGE_H
#define SECKILL_LAB_STAGE_H

#include "guards/base/guard.h"
#include "lab/lab.h"

#define STAGE_SALE           "lamp"
#define STAGE_KEY(name)      "seckill:{" STAGE_SALE "}:" name

/* A set of servers for locks: STAGE_SERVER(1) | STAGE_SERVER(3). */
#define STAGE_SERVER(number) (1U << (number))

enum { STAGE_LONG_MS = 90000 }; /* for leases and waits that no step shall outlast */

struct stage_actor; /* opaque to scenarios; to bodies see below */

/* Who an actor is. Strings are borrowed. */
struct stage_cast {
    const char *name;                       /* "A" */
    const struct guard *guard;              /* it buys one unit this way... */
    const char *buyer;                      /* ...for this buyer; NULL: its name */
    int64_t lease_ms;                       /* 0: 30000 */
    int64_t wait_ms;                        /* its guard waits for the lock; 0: it tries once */
    bool is_process;                        /* in a process of its own, not in a thread */
    bool stands_still;                      /* that stops at its guard's pause: stage_pause() */
    void (*body)(struct stage_actor *self); /* instead of a guard: in a thread, it does this */
    /* Threads alone; after stage_servers(): */
    unsigned servers; /* of its lock: an odd number of them; 0: the shop's Redis keeps the lock */
    unsigned cut_off; /* of these: it cannot reach them */
    int64_t sync_ms;  /* its lock waits so long for one replica; 0: for none */
};

/* Add an actor, which does nothing yet; its index. */
int stage_add(struct stage *stage, const struct stage_cast *cast);
/* Put the sale up. */
void stage_sell(struct stage *stage, long long units);
/* So many further servers, empty, for locks: before any actor. The sale's lock is shown on each. */
void stage_servers(struct stage *stage, unsigned count);
/* One of them follows another, and has all that it has. */
void stage_replicate(struct stage *stage, unsigned primary, unsigned replica);
/* It is promised that who comes first is served first. */
void stage_keep_order(struct stage *stage);
/* Show these locks instead of the sale's; second may be NULL. */
void stage_show_locks(struct stage *stage, const char *first, const char *second);

/* It runs until its next exchange with a command that begins with `point`; that is not sent yet. */
void stage_until(struct stage *stage, int actor, const char *point, struct lab_text did);
/* It runs until its next exchange, whichever, or to its end; whether it is at an exchange. */
bool stage_step(struct stage *stage, int actor, struct lab_text did);
/* It runs to its end. */
void stage_finish(struct stage *stage, int actor, struct lab_text did);
/* A process that was stopped before an exchange dies there (SIGKILL). */
void stage_crash(struct stage *stage, int actor, struct lab_text did);
/* A lease runs out, and nobody does anything meanwhile. */
void stage_lapse(struct stage *stage, const char *key, struct lab_text did);
/* Likewise the place of the next one in a fair lock's queue, of which `key` has the timeouts. */
void stage_lapse_place(struct stage *stage, const char *key, struct lab_text did);

/*
 * It runs until it waits for a message: it asked in vain, subscribed, and asked again; once per actor.
 * Whatever it asks next, it is not sent yet.
 */
void stage_wait(struct stage *stage, int actor, struct lab_text did);
/* A message wakes it; it has asked nothing meanwhile, and runs until `point`: what it asks first. */
void stage_wake(struct stage *stage, int actor, const char *point, struct lab_text did);
/* Likewise, but its timer may have been sooner, so that it was about to ask already. */
void stage_hear(struct stage *stage, int actor, const char *point, struct lab_text did);

/* The exchange before which it was stopped: the reply, or all of it, is lost; it runs until `point`. */
void stage_lose(struct stage *stage, int actor, enum tap_fate fate, const char *point,
                struct lab_text did);
/* A server is killed; it starts again, and has forgotten all. */
void stage_kill_server(struct stage *stage, unsigned server, struct lab_text did);
void stage_start_server(struct stage *stage, unsigned server, struct lab_text did);
/* The link between primary and replica breaks; it is mended, and the replica catches up. */
void stage_break_link(struct stage *stage, struct lab_text did);
void stage_mend_link(struct stage *stage, struct lab_text did);
/* The primary is killed, and the replica takes its place. */
void stage_fail_over(struct stage *stage, struct lab_text did);

/* What was lost on its way arrives at last. */
void stage_deliver(struct stage *stage, int actor, struct lab_text did);

/* Its watchdog has renewed the lease so many times from now on. */
void stage_await_renewals(struct stage *stage, int actor, unsigned count, struct lab_text did);
/* A process runs until it stands still at its guard's pause (SIGSTOP); it goes on (SIGCONT). */
void stage_pause(struct stage *stage, int actor, struct lab_text did);
void stage_resume(struct stage *stage, int actor, struct lab_text did);

/* For bodies: the actor's client; that it cannot go on before that lock is free; and that a round of
   tries is over. */
lk_client *stage_client(struct stage_actor *self);
void stage_wants(struct stage_actor *self, const char *key);
void stage_tried(struct stage_actor *self, bool has_won);

#endif
