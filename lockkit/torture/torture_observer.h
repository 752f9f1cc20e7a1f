/*
 * The observer of a torture: one process that reads the keys of the round again and again, and tells
 * the history whom they name.
 */
#ifndef LK_TORTURE_OBSERVER_H
#define LK_TORTURE_OBSERVER_H

#include "torture_seat.h"

/*
 * Call it in a new process that has no threads yet; it looks until the workers have ended.
 *
 * Returns  the process' exit status: EXIT_FAILURE when the server cannot be had.
 */
int torture_observer_main(const struct torture_plan *plan, const struct torture_board *board);

#endif
