/*
 * What a way survives: one holds the lock and writes, another one waits, and something happens.
 */
#ifndef LOCKKIT_BENCH_COMPARE_FATES_H
#define LOCKKIT_BENCH_COMPARE_FATES_H

#include "way.h"

/* What was seen, in ms after it happened; below 0: never, while it lasted. */
struct fate_seen {
    double free_ms; /* the other one has the lock */
    double told_ms; /* the holder knows */
    unsigned stale; /* writes of the first one let in after the other one took the lock */
    unsigned refused;
    char why[160]; /* the other one gave up; "": it did not */
};

struct fate {
    const char *name, *words;
};
extern const struct fate fates[];
extern const unsigned fate_count;

/* Whether it can happen to this way at all. */
bool fates_can_be(unsigned fate, const struct way *way);
LK_MUST_CHECK lk_status fates_play(unsigned fate, const struct way *way, struct fate_seen *out,
                                   struct lk_error *err);

#endif
