/*
 * A speed run: purchases per second against GETs per second of one page of the same server, in
 * alternating rounds with the same kind of wrk script. Nothing is recorded but counts; purchases
 * count only when Redis shows that many units sold.
 */
#ifndef LOADTEST_SPEED_H
#define LOADTEST_SPEED_H

#include "base/spread.h"
#include "run/drive.h"

struct speed_pair {
    struct speed_count purchase, page;
};

struct speed_step {
    long connections;
    int rounds;
    struct speed_pair pairs[ROUNDS_MAX];
    struct repeats purchases_per_s, pages_per_s, ratio;
};

struct speed_run {
    struct speed_step *steps; /* owned: one per --connections */
    int step_count;
    char doubt[400]; /* why the numbers are not worth their name; or "" */
};

/* false: could not be done, or was interrupted; free it either way. */
bool speed_measure(const struct drive_target *target, struct speed_run *out_run,
                   struct failure *failure);
void speed_free(struct speed_run *run);

#endif
