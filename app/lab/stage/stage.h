/*
 * What a scenario does with its actors: moves, each a step of the timeline.
 *
 * A move after which the actor is not where the scenario wants it ends the scenario: what follows does nothing, and
 * the run carries the reason. So a scenario needs no checks, and reads from top to bottom.
 */
#ifndef SECKILL_LAB_STAGE_H
#define SECKILL_LAB_STAGE_H

#include "actor.h"
#include "lab/run.h"

/* Add an actor, which does nothing yet; its index. */
int stage_add(struct stage *stage, const struct stage_cast *cast);
/* Put the sale up. */
void stage_sell(struct stage *stage, long long units);
/* So many further servers, empty, for locks: before any actor. The sale's lock is shown on each. */
void stage_servers(struct stage *stage, unsigned count);
/* Likewise the one that is no Redis; all actors reach it. */
void stage_beside(struct stage *stage, enum tap_server_number which);
/* All of this that a scenario names, and then its moves. */
void stage_play(struct stage *stage, const struct lab_scenario *scenario);

/* A move: what an actor does, or what befalls a server. */
typedef void stage_verb(struct stage *stage, const struct stage_move *move);

struct stage_move {
    stage_verb *verb;
    int actor;         /* index; LAB_TIME */
    unsigned number;   /* of a server, of renewals; a tap_fate */
    const char *point; /* with what the next exchange begins; a key */
    struct lab_text did;
};

#define STAGE_MOVE(verb, actor, number, point, en, zh)                                             \
    {                                                                                              \
        (verb), (actor), (number), (point),                                                        \
        {                                                                                          \
            (en), (zh)                                                                             \
        }                                                                                          \
    }
#define STAGE_DO(stage, ...)             stage_do((stage), &(const struct stage_move)__VA_ARGS__)

/* It runs until its next exchange with a command that begins with `point`; that is not sent yet. */
#define UNTIL(actor, point, en, zh)      STAGE_MOVE(stage_until, actor, TAP_PASS, point, en, zh)
/* It runs to its end. */
#define FINISH(actor, en, zh)            STAGE_MOVE(stage_until, actor, TAP_PASS, NULL, en, zh)
/* A process that was stopped before an exchange dies there (SIGKILL); a thread never goes on, and its buyer is told nothing. */
#define CRASH(actor, en, zh)             STAGE_MOVE(stage_crash, actor, 0, NULL, en, zh)
/* A lease runs out, and nobody does anything meanwhile. */
#define LAPSE(key, en, zh)               STAGE_MOVE(stage_lapse, LAB_TIME, 0, key, en, zh)
/* Likewise the place of the next one in the queue of a fair lock. */
#define LAPSE_PLACE(key, en, zh)         STAGE_MOVE(stage_lapse_place, LAB_TIME, 0, key, en, zh)

/*
 * It runs until it waits for a message: it asked in vain, subscribed, and asked again; once per actor.
 * Whatever it asks next, it is not sent yet.
 */
#define WAIT(actor, en, zh)              STAGE_MOVE(stage_wait, actor, 0, NULL, en, zh)
/* A message wakes it; it has asked nothing meanwhile, and runs until `point`: what it asks first. */
#define WAKE(actor, point, en, zh)       STAGE_MOVE(stage_wake, actor, 0, point, en, zh)
/* Likewise, but its timer may have been sooner, so that it was about to ask already. */
#define HEAR(actor, point, en, zh)       STAGE_MOVE(stage_receive, actor, 0, point, en, zh)

/* The exchange before which it was stopped: the reply, or all of it, is lost; it runs until `point`. */
#define LOSE(actor, fate, point, en, zh) STAGE_MOVE(stage_until, actor, fate, point, en, zh)
/* What was lost on its way arrives at last. */
#define DELIVER(actor, en, zh)           STAGE_MOVE(stage_deliver, actor, 0, NULL, en, zh)

/* A server is killed; it starts again, and has forgotten all. */
#define KILL_SERVER(server, en, zh)      STAGE_MOVE(stage_kill_server, LAB_TIME, server, NULL, en, zh)
#define START_SERVER(server, en, zh)     STAGE_MOVE(stage_start_server, LAB_TIME, server, NULL, en, zh)
/* The link between primary and replica breaks; it is mended, and the replica catches up. */
#define BREAK_LINK(en, zh)               STAGE_MOVE(stage_break_link, LAB_TIME, 0, NULL, en, zh)
#define MEND_LINK(en, zh)                STAGE_MOVE(stage_mend_link, LAB_TIME, 0, NULL, en, zh)
/* The primary is killed, and the replica takes its place. */
#define FAIL_OVER(en, zh)                STAGE_MOVE(stage_fail_over, LAB_TIME, 0, NULL, en, zh)

/* Its watchdog has renewed the lease so many times from now on. */
#define RENEWALS(actor, count, en, zh)   STAGE_MOVE(stage_await_renewals, actor, count, NULL, en, zh)
/* A process runs until it stands still at its guard's pause (SIGSTOP); it goes on (SIGCONT). */
#define PAUSE(actor, en, zh)             STAGE_MOVE(stage_pause, actor, 0, NULL, en, zh)
#define RESUME(actor, en, zh)            STAGE_MOVE(stage_resume, actor, 0, NULL, en, zh)

/* The session that has the lock beside is ended by its server. */
#define END_SESSION(en, zh)              STAGE_MOVE(stage_end_session, LAB_TIME, 0, NULL, en, zh)

stage_verb stage_end_session, stage_until, stage_crash, stage_lapse, stage_lapse_place, stage_wait,
    stage_wake, stage_receive, stage_deliver, stage_kill_server, stage_start_server,
    stage_break_link, stage_mend_link, stage_fail_over, stage_await_renewals, stage_pause,
    stage_resume, stage_stop, stage_continue;

/* The scenario ends here. The first reason stays. */
void stage_fail(struct stage *stage, const char *what, const char *whom);
/* Make this move: a step of the timeline. */
void stage_do(struct stage *stage, const struct stage_move *move);
/* All run until their first exchange, which is no step. */
void stage_ready(struct stage *stage);
/* It runs until its next exchange, whichever, or to its end; whether it is at an exchange. No verb needed;
   number: a tap_fate of the one that it is at. */
bool stage_step(struct stage *stage, const struct stage_move *move);

#endif
