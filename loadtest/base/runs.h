/*
 * The folders that runs leave behind, run-TIME-PID: the newest are kept.
 */
#ifndef LOADTEST_RUNS_H
#define LOADTEST_RUNS_H

enum { RUNS_KEPT = 10 };

/* Removes all but the newest RUNS_KEPT in `out`, and none whose process still runs. Returns how many. */
int runs_drop_old(const char *out);

#endif
