/*
 * Of several measurements: their median, least and most. Pure.
 */
#ifndef LOADTEST_SPREAD_H
#define LOADTEST_SPREAD_H

struct spread {
    double median, least, most;
};

/* Of `count` > 0 numbers; sorts them. */
struct spread spread_of(double *numbers, int count);

#endif
