/*
 * The runs of a comparison, and what they found for a person (one table) and for programs
 * (result.json, field "comparison").
 */
#ifndef LOADTEST_COMPARE_RUN_H
#define LOADTEST_COMPARE_RUN_H

#include <stdio.h>

#include "compare.h"

struct compare_cell {
    int guard;  /* in `guards` */
    long round; /* from 1 */
    struct verify_run run;
};

struct compare {
    uint64_t seed;
    struct guard_list guards; /* those that are compared */
    struct compare_row rows[GUARDS_MAX];
    struct compare_cell *cells; /* owned: in the order in which they ran */
    int cell_count;
    struct service service; /* of the last cell, stopped: for its versions */
    double seconds;         /* the whole run */
};

/*
 * Run what --guard names, each guard in each round on instances and a Redis of its own; with
 * --redis on that one, a fresh sale each. The guard redlock gets lock servers of its own, too, unless
 * --redlock names some.
 *
 * Returns  false   it could not be done, or was interrupted. Free it either way.
 */
bool compare_run(struct compare *compare, const struct options *options, const char *run_dir,
                 struct failure *failure);
void compare_run_free(struct compare *compare);

/* Of all guards, the worst. */
compare_verdict compare_run_verdict(const struct compare *compare);

void compare_report_screen(FILE *to, const struct options *options, const struct compare *compare);

/* Write `path` whole or not at all. */
bool compare_report_write(const char *path, const struct options *options,
                          const struct compare *compare, struct failure *failure);

#endif
