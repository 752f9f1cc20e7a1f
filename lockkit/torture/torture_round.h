/*
 * One round of a torture: a kind, a seed, some seconds; and the verdict.
 */
#ifndef LK_TORTURE_ROUND_H
#define LK_TORTURE_ROUND_H

#include <signal.h>

#include "torture_verdict.h"

struct torture_round {
    struct torture_plan plan; /* kind, seed, run_ms, processes, threads; the rest is filled in */
    const char *url;          /* of a server of the caller's; NULL: a private one */
    const char *history_path; /* all rounds' lines are added to it; NULL: kept when found only */
    bool shows_progress;
    const volatile sig_atomic_t *is_interrupted;
};

/* Run it, print what happened. Needs a process without threads. */
enum torture_verdict torture_round_run(struct torture_round *round);

#endif
