/*
 * What a scenario does with its actors. Each verb below is a step of the timeline, but the first four.
 *
 * A verb after which the actor is not where the scenario wants it ends the scenario: what follows does nothing, and
 * the run carries the reason. So a scenario needs no checks, and reads from top to bottom.
 */
#ifndef SECKILL_LAB_STAGE_H
#define SECKILL_LAB_STAGE_H

#include "guard.h"
#include "lab/lab.h"

#define STAGE_SALE      "lamp"
#define STAGE_KEY(name) "seckill:{" STAGE_SALE "}:" name

struct stage_actor; /* opaque to scenarios; to bodies see below */

/* Who an actor is. Strings are borrowed. */
struct stage_cast {
    const char *name;                       /* "A" */
    const struct guard *guard;              /* it buys one unit this way... */
    const char *buyer;                      /* ...for this buyer; NULL: its name */
    int64_t lease_ms;                       /* 0: 30000 */
    bool is_process;                        /* in a process of its own, not in a thread */
    void (*body)(struct stage_actor *self); /* instead of a guard: in a thread, it does this */
};

/* Add an actor, which does nothing yet; its index. */
int stage_add(struct stage *stage, const struct stage_cast *cast);
/* Put the sale up. */
void stage_sell(struct stage *stage, long long units);
/* Show these locks instead of the sale's; second may be NULL. */
void stage_show_locks(struct stage *stage, const char *first, const char *second);

/* It runs until its next exchange with a command that begins with `point`; that is not sent yet. */
void stage_until(struct stage *stage, int actor, const char *point, struct lab_text did);
/* It runs to its end. */
void stage_finish(struct stage *stage, int actor, struct lab_text did);
/* A process that was stopped before an exchange dies there (SIGKILL). */
void stage_crash(struct stage *stage, int actor, struct lab_text did);
/* A lease runs out, and nobody does anything meanwhile. */
void stage_lapse(struct stage *stage, const char *key, struct lab_text did);

/* The exchange before which it was stopped: the reply, or all of it, is lost; it runs until `point`. */
void stage_lose(struct stage *stage, int actor, enum tap_fate fate, const char *point,
                struct lab_text did);
/* What was lost on its way arrives at last. */
void stage_deliver(struct stage *stage, int actor, struct lab_text did);

/* Its watchdog has renewed the lease so many times from now on. */
void stage_await_renewals(struct stage *stage, int actor, unsigned count, struct lab_text did);
/* A process runs until it stands still at its way's pause (SIGSTOP); it goes on (SIGCONT). */
void stage_pause(struct stage *stage, int actor, struct lab_text did);
void stage_resume(struct stage *stage, int actor, struct lab_text did);

/* For bodies: the actor's client; and that it cannot go on before that lock is free. */
lk_client *stage_client(struct stage_actor *self);
void stage_wants(struct stage_actor *self, const char *key);

#endif
