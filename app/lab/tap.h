/*
 * Between the actors and Redis: every actor connects to a socket of its own here, and what it says
 * is passed on to the server. So a run knows each real command and reply, and can stop an actor right
 * before one of its exchanges, whatever code it runs and in whatever process. An exchange is a
 * pipeline: what a client sends before it waits for answers.
 *
 * What a connection says by itself is not shown and never stopped: its greeting, the loading of
 * scripts, subscriptions, the renewals of a watchdog (those are counted).
 */
#ifndef SECKILL_LAB_TAP_H
#define SECKILL_LAB_TAP_H

#include <stdint.h>

#include "lab/labels.h"
#include "refusal.h"

struct tap; /* opaque */

enum { TAP_WIRES_MAX = 8, TAP_POINT_SIZE = 64 };

/* One command that was passed on, and its reply; owned strings. */
struct tap_call {
    char *command;
    char *reply; /* NULL: none came */
};

struct tap_calls {
    struct tap_call *list; /* owned */
    size_t count;
};

void tap_calls_free(struct tap_calls *calls);

/* What becomes of the exchange at which an actor was stopped. */
enum tap_fate {
    TAP_PASS,
    TAP_LOSE_REPLY,   /* it is executed; the connection breaks before the reply */
    TAP_LOSE_REQUEST, /* the connection breaks, and the bytes are stuck on their way: tap_deliver() */
};

/*
 * Listen in `dir` for actors, for the server at this socket.
 *
 * Owns     the result is yours; end it with tap_close(). Borrows labels.
 * Threads  starts one, which ends with tap_close(); all below may be called from any thread.
 */
struct tap *tap_open(const char *dir, const char *server, struct labels *labels,
                     struct refusal *why);
/* NULL is fine. All actors must have ended. */
void tap_close(struct tap *tap);

/*
 * A wire for an actor: it connects to tap_url(). Its name is borrowed. -1 with *why filled.
 * A wire is there until the tap is closed or tap_forget() forgets all.
 */
int tap_add_wire(struct tap *tap, const char *name, struct refusal *why);
const char *tap_url(const struct tap *tap, int wire);
void tap_forget(struct tap *tap);

/*
 * Let an actor go on to the next exchange with a command that begins with `point` (NULL: for good),
 * and decide what becomes of the one at which it is stopped now.
 */
void tap_let(struct tap *tap, int wire, const char *point, enum tap_fate fate);

enum tap_state {
    TAP_RUNS,
    TAP_IS_STOPPED, /* before an exchange */
    TAP_IS_PAUSED,  /* its process stands still (SIGSTOP) */
    TAP_HAS_ENDED,
};

/* What whoever runs the actor has seen: it runs again, is paused, or has ended. */
void tap_tell(struct tap *tap, int wire, enum tap_state state);

/* Wait until the actor does not run any more; TAP_RUNS: not in time, or interrupted. */
enum tap_state tap_wait(struct tap *tap, int wire, int64_t limit_ms);

/* Wait until the watchdog behind this wire has been granted so many renewals from now on; they are
   shown as one call. */
bool tap_wait_renewals(struct tap *tap, int wire, unsigned count, int64_t limit_ms);

/* What was stuck arrives; true once the server has answered. */
bool tap_deliver(struct tap *tap, int wire, int64_t limit_ms);

/* The actor is dead: its connections break, what was not passed on is gone. */
void tap_cut(struct tap *tap, int wire);

/* What was passed on since the last call. Owns: yours, tap_calls_free(). */
struct tap_calls tap_take_calls(struct tap *tap);

/* Print text with its tokens renamed, as in the calls. */
void tap_print(struct tap *tap, const char *actor, struct lk_bytes text, FILE *out);

/* All waits end at once from now on; safe in a signal handler. */
void tap_interrupt(void);
bool tap_is_interrupted(void);

#endif
