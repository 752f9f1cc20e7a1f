/*
 * What a figure depends on besides the code.
 */
#ifndef LOCKKIT_BENCH_MACHINE_H
#define LOCKKIT_BENCH_MACHINE_H

#include "bare.h"

enum { MACHINE_TEXT_MAX = 128 };

struct machine {
    char cpu[MACHINE_TEXT_MAX];
    long cores, memory_mib;
    char kernel[MACHINE_TEXT_MAX];
    char redis[MACHINE_TEXT_MAX];
    char hiredis[MACHINE_TEXT_MAX];
    char commit[MACHINE_TEXT_MAX];  /* "-dirty" when files differ from it */
    double load_before, load_after; /* runnable processes, the minute before; -1: not known */
};

/* What cannot be found out is "?". Not the loads. */
void machine_read(struct machine *out, const struct bare *bare);
double machine_load(void);

#endif
