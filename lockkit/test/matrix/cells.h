/*
 * The fault matrix of a program, which has a table of topologies, and lines "link: -Wl,--wrap=..." for what those fake.
 */
#ifndef MATRIX_CELLS_H
#define MATRIX_CELLS_H

#include "cell.h"

/* Kinds that PostgreSQL does not have: a world's lacks. */
enum {
    CELLS_OF_REDIS = 1U << CELL_REDLOCK | 1U << CELL_FIRST_READ | 1U << CELL_FIRST_WRITE |
                     1U << CELL_FAIR_READ | 1U << CELL_FAIR_WRITE | 1U << CELL_LATCH |
                     1U << CELL_SEMAPHORE | 1U << LKS_ANY_READ | 1U << LKS_ANY_WRITE |
                     1U << LKS_ANY_PERMIT | 1U << LKS_ANY_MULTI | 1U << LKS_SPIN | 1U << LKS_FAIR,
};

void cells_start(void);
void cells_stop(void);
void cells_no_fault_breaks_a_rule(void);

#define CELLS_OF_WORLDS()                                                                          \
    BEFORE_ALL()                                                                                   \
    {                                                                                              \
        cells_start();                                                                             \
    }                                                                                              \
    AFTER_ALL()                                                                                    \
    {                                                                                              \
        cells_stop();                                                                              \
    }                                                                                              \
    TEST(no_fault_breaks_a_rule)                                                                   \
    {                                                                                              \
        cells_no_fault_breaks_a_rule();                                                            \
    }

#endif
