/*
 * The kind that has servers of its own in the simulated world: a redlock on all of them.
 */
#ifndef LK_SIM_REDLOCK_H
#define LK_SIM_REDLOCK_H

#include "torture/torture_seat.h"

extern const struct torture_kind sim_redlock;

#endif
