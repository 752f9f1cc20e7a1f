/*
 * What was measured, as a table and as JSON in the shape of the load test's result.json.
 */
#ifndef LOCKKIT_BENCH_REPORT_H
#define LOCKKIT_BENCH_REPORT_H

#include <stdio.h>

#include "arguments.h"
#include "stage.h"

/* What a figure depends on besides the code; what cannot be found out is "?". */
enum { MACHINE_TEXT_MAX = 128 };

struct machine {
    char cpu[MACHINE_TEXT_MAX];
    long cores, memory_mib;
    char kernel[MACHINE_TEXT_MAX];
    char redis[MACHINE_TEXT_MAX];
    char hiredis[MACHINE_TEXT_MAX];
    char commit[MACHINE_TEXT_MAX];  /* "-dirty" when files differ from it */
    double load_before, load_after; /* runnable processes, the minute before; -1: not known */
};

struct report {
    const struct arguments *arguments;
    const struct plan *plan;
    const struct stage *stage;
    struct machine machine;
    int64_t begin_ns;
    double seconds; /* the whole run */
};

/* Before and after it is measured. */
void report_begin(struct report *report);
void report_end(struct report *report);

void report_print(FILE *to, const struct report *report);

LK_MUST_CHECK lk_status report_write(const char *path, const struct report *report,
                                     struct lk_error *err);

/* Whether a row is missing for another reason than a rival that is not installed. */
bool report_is_void(const struct plan *plan);

#endif
