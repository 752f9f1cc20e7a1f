/*
 * A play whose next step somebody else chooses, and the name of such a play: a schedule, one or two
 * characters per choice. It begins with all actors stopped before their first exchange.
 *
 *   A B C D     that actor goes on by one exchange
 *   +A          what is stuck of its arrives
 *   )A          its process goes on (SIGCONT)
 *   t u w       the lease of the first, second, third shown lock ends; a fault, as all that follow
 *   a b c d     it is killed there
 *   >A          its request is executed, the reply is lost
 *   <A          its request is stuck on its way, the connection breaks
 *   (A          its process stands still (SIGSTOP), and with it its watchdog
 *   !1 -1       a server of its lock dies; starts again, empty
 *   ^1 ~1       it dies, and its replica takes its place; the link between them breaks, or is mended
 *
 * Nothing is kept between two plays: to go on, or back, is to play a longer or a shorter schedule.
 */
#ifndef SECKILL_LAB_SCHEDULE_H
#define SECKILL_LAB_SCHEDULE_H

#include "lab/run.h"
#include "schedule_state.h"

struct lab;

enum {
    SCHEDULE_CHOICES_MAX = 64,
    SCHEDULE_SIZE = 2 * SCHEDULE_CHOICES_MAX + 1,
    SCHEDULE_FAULTS_MAX = 8,
    SCHEDULE_ENABLED_MAX = 32,
    SCHEDULE_NEXT_SIZE = 96,
};

struct schedule_choice {
    char text[3];
    int actor;  /* LAB_TIME: none */
    char fault; /* "tklspr": lease, kill, lost reply, stuck request, pause, server; 0: it is none */
    struct lab_text did;
    char next[SCHEDULE_NEXT_SIZE]; /* the actor's next command; "": it has none */
};

struct schedule {
    /* What is wanted; strings are borrowed. */
    const struct guard *guard;
    const char *text;
    unsigned actors; /* 0: two */
    long long units; /* 0: one */
    bool
        in_threads; /* faster, and always so for guards of the lab alone; who is killed never goes on */
    size_t seen_from; /* steps before are neither looked at nor judged */
    bool has_key;     /* it is wanted */
    /* Called behind the last choice, while it stands there; true: it goes on by the first step that is enabled, as
       long as there is one, and this is called again. NULL: it ends there. */
    bool (*at)(struct schedule *self, void *arg);
    void *at_arg;

    /* What came of it. */
    struct lab_scenario scenario;
    struct lab_run *run; /* owned; NULL: no memory */
    size_t len; /* of the text, as far as it was played; there is a bad choice, or its end */
    char went[SCHEDULE_SIZE]; /* all that was played */
    unsigned faults;
    size_t choice_count;
    struct schedule_choice choices[SCHEDULE_ENABLED_MAX]; /* that are enabled now */
    struct schedule_key key;                              /* of the state it is in */
};

/* Why this guard cannot be played so; NULL: it can. */
const char *schedule_refusal(const struct guard *guard);

/* Play it: schedule_done(). False: it did not come to its end, self->run->failure tells. */
bool schedule_play(struct schedule *self, struct lab *lab);
void schedule_done(struct schedule *self);

/* How long the first choice of a text is; 0: it is none. */
size_t schedule_choice_length(const char *text);
/* Its kind of fault, as of schedule_choice.fault. */
char schedule_choice_fault(const char *text);

/* As JSON: the run's (render.h), and choices and faultsLeft (owned, NULL: no memory). */
char *schedule_json(const struct schedule *self, enum lab_language language);

#endif
