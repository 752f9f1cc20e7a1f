/*
 * What was measured, as a table and as JSON in the shape of the load test's result.json.
 */
#ifndef LOCKKIT_BENCH_REPORT_H
#define LOCKKIT_BENCH_REPORT_H

#include <stdio.h>

#include "arguments.h"
#include "machine.h"
#include "stage.h"

struct report {
    const struct arguments *arguments;
    const struct plan *plan;
    const struct stage *stage;
    struct machine machine;
    double seconds; /* the whole run */
};

void report_print(FILE *to, const struct report *report);

LK_MUST_CHECK lk_status report_write(const char *path, const struct report *report,
                                     struct lk_error *err);

/* Whether a row is missing for another reason than a rival that is not installed. */
bool report_is_void(const struct plan *plan);

#endif
