/*
 * Between the actors and Redis: every actor connects to a socket of its own here, and what it says
 * is passed on to the server. So a run knows each real command and reply, and can stop an actor right
 * before one of its exchanges, whatever code it runs and in whatever process. An exchange is a
 * pipeline: what a client sends before it waits for answers.
 *
 * What a connection says by itself is not shown and never stopped: its greeting, the loading of
 * scripts, subscriptions (but see tap_let_wait()), a watchdog's looks at its holds, and its
 * renewals (those are counted).
 *
 * There may be more servers than one. Then an actor has a wire for each that it speaks to; it asks some of
 * them at once, and what they answer comes in any order. What is shown has one order all the same:
 * tap_take_calls().
 */
#ifndef SECKILL_LAB_TAP_H
#define SECKILL_LAB_TAP_H

#include <sched.h>
#include <stdint.h>

#include "base/start_error.h"
#include "labels.h"

struct tap; /* opaque */

/* X(value, name, protocol): all servers that there may be; the first is the shop's. */
#define TAP_SERVER_LIST(X)                                                                         \
    X(TAP_SHOP, "shop", protocol_redis)                                                            \
    X(TAP_REDIS_1, "redis-1", protocol_redis)                                                      \
    X(TAP_REDIS_2, "redis-2", protocol_redis)                                                      \
    X(TAP_REDIS_3, "redis-3", protocol_redis)                                                      \
    X(TAP_POSTGRES, "postgres", protocol_postgres)                                                 \
    X(TAP_ZOOKEEPER, "zookeeper", protocol_zookeeper)

#define TAP_SERVER_VALUE(value, name, protocol) value,
enum tap_server_number { TAP_SERVER_LIST(TAP_SERVER_VALUE) TAP_SERVERS_MAX };
#undef TAP_SERVER_VALUE

const char *tap_server_name(unsigned server);

enum { TAP_WIRES_MAX = 20, TAP_POINT_SIZE = 64 };

/* As a point: any command. */
#define TAP_ANY "*"

/* One command that was passed on, and its reply; owned strings. */
struct tap_call {
    char *command;
    char *reply;     /* NULL: none came */
    unsigned server; /* of TAP_SERVER_LIST */
    char *script;    /* the Lua text that it ran; NULL: none that is known */
};

struct tap_calls {
    struct tap_call *list; /* owned */
    size_t count;
};

void tap_call_free(const struct tap_call *call); /* its strings */
void tap_calls_free(struct tap_calls *calls);
/* Takes its strings, also when it fails for want of memory. */
bool tap_calls_add(struct tap_calls *calls, struct tap_call call);
/* One that was made behind the tap, by whatever the format says. */
void tap_calls_show(struct tap_calls *calls, unsigned server, const char *reply, const char *format,
                    ...) __attribute__((format(printf, 4, 5)));

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
                     struct start_error *why);
/* On which cores that thread runs. */
void tap_gather(struct tap *tap, const cpu_set_t *cores);
/* NULL is fine. All actors must have ended. */
void tap_close(struct tap *tap);

/*
 * A wire for an actor: it connects to tap_url(). Its name is borrowed. -1 with *why filled.
 * A wire is there until the tap is closed or tap_forget() forgets it: all but the first so many, whose
 * connections go on.
 */
int tap_add_wire(struct tap *tap, const char *name, struct start_error *why);
/* Likewise for a client of whatever kind: at a port of 127.0.0.1. */
int tap_add_port(struct tap *tap, const char *name, struct start_error *why);
const char *tap_url(const struct tap *tap, int wire);
void tap_forget(struct tap *tap, size_t kept);

/* Another server, from 1: where it listens from now on; NULL: it is down, its connections break. */
void tap_set_server(struct tap *tap, unsigned server, const char *socket);

/* Whoever has reached the one server reaches the other now. */
void tap_move(struct tap *tap, unsigned from, unsigned to);

/* One more wire of the actor with that wire, to another server. Otherwise as tap_add_wire(). */
int tap_add_branch(struct tap *tap, int wire, unsigned server, struct start_error *why);

/*
 * A port of 127.0.0.1 for somebody who is no actor, a replica: it is passed on to that server unread.
 * tap_cut() breaks it, tap_mend() mends it. The relay, a wire; -1 with *why filled.
 */
int tap_add_relay(struct tap *tap, unsigned server, int *out_port, struct start_error *why);
void tap_mend(struct tap *tap, int relay);

/*
 * Let an actor go on to the next exchange with a command that begins with `point` (NULL: for good),
 * and decide what becomes of the one at which it is stopped now. To another server than the first:
 * "redis-1> SET".
 */
void tap_let(struct tap *tap, int wire, const char *point, enum tap_fate fate);

/* What an actor is stopped at, its first command; owned; NULL: nothing. */
char *tap_next(struct tap *tap, int wire);

/*
 * Let an actor go on until it waits for a message: it is subscribed, and what it asked after that is
 * answered. From then on it is stopped at whatever it asks next, until tap_wake() or tap_let(). Its
 * subscription is shown.
 */
void tap_let_wait(struct tap *tap, int wire);

/* From now on it is stopped only at its point; nothing is passed on that it is stopped at. */
void tap_wake(struct tap *tap, int wire, const char *point);

/* Whether one who waits was stopped at something that it asked before a message came. */
bool tap_has_asked(struct tap *tap, int wire);

/* Wait until a message has come to one who waits; it is shown. */
bool tap_wait_message(struct tap *tap, int wire, int64_t limit_ms);

enum tap_state {
    TAP_RUNS,
    TAP_IS_STOPPED, /* before an exchange */
    TAP_IS_PAUSED,  /* its process stands still (SIGSTOP) */
    TAP_HAS_ENDED,
    TAP_WAITS, /* for a message: tap_let_wait() */
};

/* What whoever runs the actor has seen: it runs again, is paused, or has ended. */
void tap_report(struct tap *tap, int wire, enum tap_state state);

/* Wait until the actor does not run any more, and what it has asked is answered; TAP_RUNS: not in time,
   or interrupted. */
enum tap_state tap_wait(struct tap *tap, int wire, int64_t limit_ms);

/* Wait until the watchdog behind this wire has been granted so many renewals from now on; they are
   shown as one call. */
bool tap_wait_renewals(struct tap *tap, int wire, unsigned count, int64_t limit_ms);

/* How often a server has ended a connection of the actors; wait until that is more than `seen`. */
unsigned tap_hang_ups(struct tap *tap, unsigned server);
bool tap_wait_hang_up(struct tap *tap, unsigned server, unsigned seen, int64_t limit_ms);

/* What was stuck arrives; true once the server has answered. */
bool tap_deliver(struct tap *tap, int wire, int64_t limit_ms);

/* Subscriptions end, of all wires: who waits for a message looks at once whether it can go on. */
void tap_disturb(struct tap *tap);

/* Its branches stand still: nothing passes there any more, and nobody is told. */
void tap_still(struct tap *tap, int wire);

/* The actor is dead, or cut off from a server: its connections break, what was not passed on is gone,
   and new ones are refused. A branch is cut alone, the first wire with all its branches. */
void tap_cut(struct tap *tap, int wire);

/*
 * What was passed on since the last call. What servers were asked in parallel is in the order of their
 * numbers; and that a redlock undoes what had never been done (it asks where it had heard no answer in
 * time) is left out, as that is a matter of microseconds.
 *
 * Owns     yours, tap_calls_free().
 */
struct tap_calls tap_take_calls(struct tap *tap);

/* Print text with its tokens renamed, as in the calls. */
void tap_print(struct tap *tap, const char *actor, struct lk_bytes text, FILE *out);

/* All waits end at once from now on; safe in a signal handler. */
void tap_interrupt(void);
bool tap_is_interrupted(void);
/* Before a run after one that was interrupted: waits last again. */
void tap_forget_interrupt(void);

#endif
