/*
 * A redlock in the simulated world, on all of its servers.
 */
#ifndef LK_SIM_REDLOCK_H
#define LK_SIM_REDLOCK_H

#include "torture/torture_seat.h"

extern const struct torture_kind sim_redlock;

#endif
