/*
 * The lab inside a service: a thread that opens it at the first run, plays one run at a time, and
 * closes it when nobody has asked for a while. (A thread of its own, since the kernel ends the lab's
 * Redis with the thread that opened it.)
 */
#ifndef SECKILL_LAB_RUNNER_H
#define SECKILL_LAB_RUNNER_H

#include "lab/lab.h"
#include "lab/schedule/explore.h"

enum {
    LAB_RUNNER_LIMIT_MS = 120000,
    LAB_RUNNER_SCHEDULE_MS = 10000,
    LAB_RUNNER_IDLE_MS = 60000,
    LAB_RUNNER_JSON_MAX = 128 * 1024 /* bytes of a run */
};

struct lab_runner; /* opaque */

struct lab_runner_options {
    int64_t limit_ms; /* a run that takes longer is interrupted; 0: LAB_RUNNER_LIMIT_MS */
    int64_t idle_ms;  /* then the lab is closed; 0: LAB_RUNNER_IDLE_MS */
    int64_t
        turn_ms; /* who comes while another run plays waits so long for his turn; 0: not at all */
};

/* Starts the thread. NULL when there is no memory or no thread. One per process (tap_interrupt()). */
struct lab_runner *lab_runner_new(const struct lab_runner_options *options);

/* Interrupt what plays; nothing is played from now on. NULL is fine. Threads: any. */
void lab_runner_stop(struct lab_runner *self);

/* Stop, and wait until the lab is closed. Nobody may ask any more. NULL is fine. */
void lab_runner_free(struct lab_runner *self);

typedef enum lab_runner_status {
    LAB_RUNNER_PLAYED,      /* it came to its end, whatever the verdict */
    LAB_RUNNER_BUSY,        /* another run plays */
    LAB_RUNNER_STOPPED,     /* by lab_runner_stop(), before its end */
    LAB_RUNNER_UNAVAILABLE, /* the lab could not be opened, or lacks a server: why */
    LAB_RUNNER_FAILED,      /* it did not come to its end: why. The next one gets a new lab */
} lab_runner_status;

struct lab_runner_answer {
    char *json; /* PLAYED: as of render_json(); yours to free() */
    struct start_error why;
    bool is_broken; /* PLAYED: a promise was */
};

/* What is to be played: one of the three; borrowed. */
struct lab_wish {
    const struct lab_scenario *scenario;
    struct schedule *schedule; /* its run is not kept, the rest of what came of it is there */
    struct explore *search;    /* the answer is explore_json()'s */
    enum lab_language language;
};

/*
 * Play it and wait for it: a scenario for limit_ms, a schedule for LAB_RUNNER_SCHEDULE_MS, a search for its own limit and
 * that.
 *
 * Units    comes back within that and what it takes to put an interrupted run away.
 * Threads  any; who has to wait is served in the order of coming, or told BUSY.
 */
lab_runner_status lab_runner_play(struct lab_runner *self, const struct lab_wish *wish,
                                  struct lab_runner_answer *out);

#endif
