/*
 * The hand of a torture: one process that speaks to the server itself. It sets up what the kind needs,
 * does what can be done to a server by commands, notices when the server has no turn, and in the end
 * tells the history what was left behind.
 */
#ifndef LK_TORTURE_HAND_H
#define LK_TORTURE_HAND_H

#include "torture_seat.h"

/*
 * Call it in a new process that has no threads yet; it goes by the board's phases, and sets PHASE_RUN
 * and PHASE_OVER.
 *
 * Returns  the process' exit status: EXIT_FAILURE when the server cannot be had.
 */
int torture_hand_main(const struct torture_plan *plan, struct torture_board *board);

#endif
