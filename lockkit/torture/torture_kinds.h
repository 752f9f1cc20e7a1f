/*
 * The kinds that are tortured. A new kind is a row of the table.
 */
#ifndef LK_TORTURE_KINDS_H
#define LK_TORTURE_KINDS_H

#include "torture_seat.h"

extern const struct torture_kind *const torture_kinds[];
extern const size_t torture_kind_count;

/* Rows of other files. */
extern const struct torture_kind torture_semaphore, torture_semaphore_spared, torture_permits;
extern const struct torture_kind torture_latch;
extern const struct torture_kind torture_flawed_release, torture_flawed_acquire,
    torture_flawed_answer;

/* NULL: there is none of that name. */
const struct torture_kind *torture_kind_named(const char *name);

#endif
