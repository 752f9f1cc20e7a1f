/*
 * How far a sequence is from being sorted: pairs that stand the wrong way round. Pure.
 */
#ifndef LOADTEST_INVERSIONS_H
#define LOADTEST_INVERSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Count the pairs whose earlier number is the greater one; equal numbers are no inversion.
 * O(n log n). Sorts `numbers`.
 *
 * Shape    `spare` has room for `count` numbers.
 */
uint64_t inversions_count(int64_t *numbers, int64_t *spare, size_t count);

/* All pairs there are. */
uint64_t inversions_pairs(size_t count);

#endif
