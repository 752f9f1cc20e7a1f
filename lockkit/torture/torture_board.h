/*
 * What the processes of a torture share: the plan of a round, what happened, and who is inside.
 *
 * Whoever holds a lock for certain stands on the board, with the moment its lease ends at the latest
 * by its own clock. Whoever looks counts those who stood there all at one moment, none of them past
 * its end: more than the lock admits is a fault of the lock, however the processes were paused or
 * killed. (A dead one stands until its lease ends: it has sent no release.)
 */
#ifndef LK_TORTURE_BOARD_H
#define LK_TORTURE_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lockkit/error.h"

enum {
    TORTURE_PROCESSES_MAX = 32,
    TORTURE_THREADS_MAX = 32,
    TORTURE_KEYS_MAX = 1024, /* that owners are told apart of */
    TORTURE_KEYS_HELD = 3,   /* by one hold */
};

#define TORTURE_FAULT_LIST(X)                                                                      \
    X(FAULT_KILL, "kill")                 /* SIGKILL of a worker; another takes its place */       \
    X(FAULT_PAUSE, "pause")               /* SIGSTOP of a worker, mostly past its leases */        \
    X(FAULT_CUT, "cut")                   /* its connections end */                                \
    X(FAULT_HOLD, "hold")                 /* its link stands still, then delivers all */           \
    X(FAULT_DEAF, "deaf")                 /* its requests arrive, the answers are lost */          \
    X(FAULT_SERVER_PAUSE, "server-pause") /* SIGSTOP of the server */                              \
    X(FAULT_EMPTY, "server-empty")        /* its SIGKILL; it comes back empty */                   \
    X(FAULT_RESTART, "server-restart")    /* ...or with its data, and is LOADING for a moment */   \
    X(FAULT_CLOCK_AHEAD, "clock-ahead")   /* its clock jumps */                                    \
    X(FAULT_CLOCK_BACK, "clock-back")                                                              \
    X(FAULT_FULL, "server-full")          /* -OOM */                                               \
    X(FAULT_READONLY, "server-readonly")  /* -READONLY */                                          \
    X(FAULT_CLIENT_PAUSE, "client-pause") /* CLIENT PAUSE: it answers nobody */                    \
    X(FAULT_CLIENT_KILL, "client-kill")   /* CLIENT KILL of all, or of all subscribers */          \
    X(FAULT_FLUSH, "script-flush")        /* SCRIPT FLUSH */

enum torture_fault {
#define TORTURE_FAULT_VALUE(value, name) value,
    TORTURE_FAULT_LIST(TORTURE_FAULT_VALUE)
#undef TORTURE_FAULT_VALUE
        FAULT_COUNT
};

/* The hold of one thread, as others see it. */
struct torture_entry {
    atomic_uint turn;         /* odd: it is inside; grows with every change */
    _Atomic int64_t asked_ns; /* its acquire was begun */
    _Atomic int64_t until_ns;
    atomic_uint weight;
    atomic_uint keys[TORTURE_KEYS_HELD]; /* numbers from 1; 0: none */
};

struct torture_board {
    struct torture_entry entries[TORTURE_PROCESSES_MAX][TORTURE_THREADS_MAX];
    atomic_uint owners[TORTURE_KEYS_MAX]; /* per key number: processes that held it, as bits */
    atomic_int phase;                     /* enum torture_phase */
    atomic_uint latch_rounds;             /* latches so far... */
    atomic_uint latch_round;              /* ...and the one that is set; 0: none */
    _Atomic int64_t latch_begun_ns;       /* when the newest one was begun */
    atomic_uint latch_tickets[TORTURE_KEYS_MAX]; /* of each: count-downs that may have begun */
    _Atomic int64_t emptied_ns;                  /* what was asked for before is not certain */
    _Atomic int64_t full_ns;                     /* ...may be refused: -OOM */
    atomic_long acquires[LK_STATUS_COUNT];
    atomic_long releases[LK_STATUS_COUNT];
    atomic_long quiet_taken; /* acquires before the first fault */
    atomic_long reentries;
    atomic_long renewals; /* by hand */
    atomic_long cancels;
    atomic_long losses; /* that holders were told of */
    atomic_long looks;
    atomic_long crowded; /* looks that saw somebody else, where that is allowed */
    atomic_long faults[FAULT_COUNT];
    atomic_long late_ms;   /* longest time that the one who starts all had no turn */
    atomic_int meetings;   /* violations of those who stood there together */
    atomic_int violations; /* all */
    char first_violation[512];
};

enum torture_phase {
    PHASE_SET_UP,
    PHASE_RUN,
    PHASE_STOP,  /* workers come to their end */
    PHASE_SWEEP, /* no worker is left: what have they left behind? */
    PHASE_OVER,
};

/* Shared with all processes that are forked afterwards; NULL with errno set. */
struct torture_board *torture_board_new(void);
void torture_board_free(struct torture_board *board);

/* CLOCK_BOOTTIME, as histories have it. */
int64_t torture_now_ns(void);

/* A fault of the lock; the first one's words are kept. */
__attribute__((format(printf, 2, 3))) void torture_violation(struct torture_board *board,
                                                             const char *format, ...);

/* ---- who is inside ------------------------------------------------------------------------------- */

/* A thread's place on the board, and what it holds there. */
struct torture_place {
    struct torture_board *board;
    unsigned process;
    unsigned thread;
    int64_t asked_ns; /* the acquire of the present hold was begun */
};

struct torture_claim {
    unsigned keys[TORTURE_KEYS_HELD]; /* numbers from 1; 0: none */
    unsigned weight;
    unsigned limit; /* weights together on one key */
};

/* Inside from now until torture_leave(), and not past this moment (INT64_MAX: no lease). */
void torture_enter(const struct torture_place *place, const struct torture_claim *claim,
                   int64_t until_ns);
void torture_prolong(const struct torture_place *place, int64_t until_ns);
void torture_leave(const struct torture_place *place);

/* Look who is inside; a violation if it is too many at one moment. */
void torture_look(const struct torture_place *place, const struct torture_claim *claim);

/* ---- chance --------------------------------------------------------------------------------------- */

uint32_t torture_random(uint32_t *seed);
uint32_t torture_seed(uint32_t seed, uint32_t a, uint32_t b);
bool torture_chance(uint32_t *seed, unsigned percent);
int64_t torture_between(uint32_t *seed, int64_t from, int64_t to);

#endif
