/*
 * Who came first, was served first? Of all pairs of orders: how many were recorded in Redis in the
 * other order than their buyers had asked. Pure; from facts, no word of the service.
 *
 * A purchase came when its client sent it first; orders stand in the order of the ledger stream, and
 * within an entry in the order of its fields. An order nobody is known to have asked for is in no
 * pair.
 */
#ifndef LOADTEST_FAIRNESS_H
#define LOADTEST_FAIRNESS_H

#include "base/failure.h"
#include "evidence/facts.h"

struct fairness {
    size_t orders; /* compared */
    uint64_t pairs, inversions;
};

/* false: out of memory. */
bool fairness_count(const struct facts *facts, struct fairness *out_fairness,
                    struct failure *failure);

/* inversions / pairs, from 0 (first come, first served) to 1 (the other way round); 0 without. */
double fairness_share(const struct fairness *fairness);

#endif
