/*
 * What was measured several times: its median, least and most. Pure.
 */
#ifndef LOADTEST_SPREAD_H
#define LOADTEST_SPREAD_H

enum { ROUNDS_MAX = 100, SPREAD_TEXT_MAX = 80 };

struct spread {
    double median, least, most;
};

/* In the order of the rounds; NAN: not known in that one. */
struct repeats {
    double values[ROUNDS_MAX];
    int count;
};

/* Of `count` > 0 numbers; sorts them. */
struct spread spread_of(double *numbers, int count);

/* A value behind ROUNDS_MAX is dropped. */
void spread_add(struct repeats *repeats, double value);
/* Of the values that are known; three times NAN: none is. */
struct spread spread_of_repeats(const struct repeats *repeats);
/* "median (least .. most)", one number when all are the same, or "?". Returns `out`. */
const char *spread_text(const struct repeats *repeats, int digits, char out[SPREAD_TEXT_MAX]);

#endif
