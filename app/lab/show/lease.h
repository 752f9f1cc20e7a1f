/*
 * How long a lock's lease lasts, as it was granted: the time that the lab takes between two steps is nobody's.
 */
#ifndef SECKILL_LAB_LEASE_H
#define SECKILL_LAB_LEASE_H

#include "lab/run.h"

enum { LEASE_UNKNOWN = -1 };

/* What is left of this lock's lease after that step, from 0, in ms; 0: the step let it end. LEASE_UNKNOWN: it has none,
   or none that a command of the run tells. */
long long lease_ms(const struct lab_run *run, size_t step, size_t lock);

#endif
