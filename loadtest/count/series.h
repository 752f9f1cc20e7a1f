/*
 * One run over time: how many replies of each kind came in each slice of it, and when the last unit
 * was sold.
 */
#ifndef LOADTEST_SERIES_H
#define LOADTEST_SERIES_H

#include "evidence/facts.h"

enum { SERIES_SLICES_MAX = 120 };

struct series {
    int64_t slice_ms; /* 10, 20, 50, 100, ...: the shortest that is enough for the whole run */
    int count;        /* slices; the first begins with the first request. 0: no reply came */
    uint32_t replies[ANSWER_COUNT][SERIES_SLICES_MAX];
    double
        sold_out_ms; /* since the first request: the last unit's buyer was told; -1: units left */
};

void series_count(const struct facts *facts, struct series *out_series);

#endif
