/*
 * Calls that a step makes and that are not what it is about.
 */
#ifndef SECKILL_LAB_ASIDE_H
#define SECKILL_LAB_ASIDE_H

#include "lab/run.h"

/* What such a call of a step is about, in a few words; NULLs: the step is about it. */
struct lab_text aside_of(const struct lab_run *run, const struct lab_step *step,
                         const struct tap_call *call);

#endif
