/*
 * A worker of a torture: one process, one client, several threads that take turns.
 */
#ifndef LK_TORTURE_WORKER_H
#define LK_TORTURE_WORKER_H

#include "torture_seat.h"

/*
 * Work until the board says stop. Call it in a new process that has no threads yet.
 *
 * Shape    life: how many have had this place before; it makes another seed.
 * Returns  the process' exit status: EXIT_FAILURE when it could not begin.
 */
int torture_worker_main(const struct torture_plan *plan, struct torture_board *board,
                        unsigned process, unsigned life);

/* Tell the history that a process (0: the server, or all) had no turn for a while, if it was long. */
void torture_note_noise(const struct history_writer *writer, long pid, int64_t from_ns,
                        int64_t to_ns);

#endif
