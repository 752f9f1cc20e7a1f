/*
 * The faults that a load test can bring, and which guard falls by which: the one table of both. Pure.
 */
#ifndef LOADTEST_FAULT_H
#define LOADTEST_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/failure.h"

enum { FAULT_GUARDS_MAX = 6, FAULT_FLAGS_MAX = 7, FAULT_PAUSE_MS = 500 };

typedef enum fault_kind {
    FAULT_PAUSE, /* a holder sleeps for longer than its lease */
    FAULT_KILL,  /* kill -9 of the last instance, while it holds the lock; it comes back */
    FAULT_STOP,  /* SIGSTOP of the last instance, while it holds the lock; then SIGCONT */
    FAULT_CUT,   /* the last instance loses its connections to Redis, and gets none for a moment */
    FAULT_SLOW,  /* bytes between instances and Redis take some milliseconds */
    FAULT_COUNT
} fault_kind;

struct fault {
    fault_kind kind;
    const char *name, *what;
    const char *flawed[FAULT_GUARDS_MAX]; /* guards that it brings down */
    const char *spared[FAULT_GUARDS_MAX]; /* guards that it cannot touch */
    const char *all[FAULT_FLAGS_MAX];     /* flags of seckilld: of each instance */
    const char *last[FAULT_FLAGS_MAX];    /* ... and of the last one besides */
    long batch, pace, stock;              /* unless something else is said; pace 0: none */
    long lasts_ms, times;                 /* so long, so often; 0: to the end */
    bool has_proxy;                       /* between instances and Redis */
};

extern const struct fault fault_list[FAULT_COUNT];

/* Which faults a run is told to bring. */
struct fault_wish {
    bool is_said, is_all;
    bool kinds[FAULT_COUNT];
    long when_ms; /* after the first buyer; 0: when the guard waits for it */
};

/* "all", "none", or NAME[:WHEN] with commas between. */
bool fault_wish_read(const char *text, struct fault_wish *out_wish, struct failure *failure);

/* The first that is wished for; NULL: none is. */
const struct fault *fault_wish_first(const struct fault_wish *wish);

/* The one that brings this guard down; of a sound one the first that touches it. */
const struct fault *fault_of_guard(const char *guard);
bool fault_brings_down(const struct fault *fault, const char *guard);
bool fault_touches(const struct fault *fault, const char *guard);

#endif
