/*
 * What must be true of a history, whatever happened to the processes that wrote it. Only what is
 * certain counts: a hold is certain from the end of its acquire to the beginning of its release or the
 * end of its lease by the holder's clock, whichever is first; if its process was killed, to the last
 * renewal, for it may have been given back untold. So a finding is a fault of the lock, never of the
 * scheduling; what a paused holder wrongly believed is only counted.
 */
#ifndef LK_HISTORY_JUDGE_H
#define LK_HISTORY_JUDGE_H

#include "finding.h"

/* All checks, in O(n log n). False when out of memory. One thread. */
bool history_check(const struct history *history, const struct history_check_options *options,
                   struct history_report *out);

#endif
