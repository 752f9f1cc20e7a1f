/*
 * One seed: a torture whose processes, server and network are simulated.
 */
#ifndef LK_SIM_ROUND_H
#define LK_SIM_ROUND_H

#include "torture/torture_verdict.h"

struct sim_round {
    struct torture_plan
        plan;       /* kind, seed, run_ms, quiet_ms, processes, threads; the rest is filled in */
    int history_fd; /* of a file that is emptied first */
};

struct sim_totals {
    long seeds, taken, faults;
    long lost, unknown;
};

/* Run it, print what happened, add it to the totals. Of two runs of a seed *out_trace is the same. */
enum torture_verdict sim_round_run(struct sim_round *round, struct sim_totals *totals,
                                   uint64_t *out_trace);

#endif
