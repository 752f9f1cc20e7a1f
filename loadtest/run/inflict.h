/*
 * Brings one fault (fault.h) while the buyers run: when the guard waits for it, or at the moment that was asked for.
 */
#ifndef LOADTEST_INFLICT_H
#define LOADTEST_INFLICT_H

#include "drive.h"
#include "monitor.h"

enum { INFLICT_WORDS_MAX = 160 };

struct inflict {
    const struct drive_target *target; /* borrowed; its options name the fault, NULL: none */
    long count;                        /* how often it came */
    bool is_on;                        /* it lasts */
    int64_t since_ms;                  /* then: since when; else of the end of the last one */
    char words[INFLICT_WORDS_MAX];     /* what was done first, for a person; or "" */
};

/* One look. What goes wrong goes into `trouble`. */
void inflict_tick(struct inflict *inflict, const struct monitor *monitor, struct failure *trouble);

/* End what lasts; after the last look. */
void inflict_end(struct inflict *inflict, struct failure *trouble);

#endif
