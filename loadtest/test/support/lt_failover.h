/*
 * A course on Sentinel whose primary n1 falls silent. Asserts: main thread only.
 */
#ifndef LOADTEST_ITEST_LT_FAILOVER_H
#define LOADTEST_ITEST_LT_FAILOVER_H

#include "lt_course.h"

/* What a failover did. */
struct lt_failover {
    unsigned cut_off; /* purchases accepted, and answers unknown, while the replicas were cut off */
    unsigned sold;    /* when n1 was gone */
    int64_t outage_ms; /* until more was sold than could be on its way */
    char primary[8];
};

/* From now on no replica gets anything from n1. Wait until a counter has grown by so many. */
void lt_failover_cut_off(struct lt_course *run, struct lt_failover *out, const atomic_uint *counter,
                         unsigned many);

/* n1 gets that verb ("kill", "pause"); wait until another one is primary. */
void lt_failover_begin(struct lt_course *run, struct lt_failover *out, const char *verb);

/* Wait until it sells again. */
void lt_failover_await_sales(struct lt_course *run, struct lt_failover *out);

/* lt_course_end(), with what the failover did and `more`; void when too little was sold after it. */
void lt_failover_end(struct lt_course *run, const struct lt_failover *failover, const char *more);

#endif
