/*
 * What the bench found, for a person (two tables) and for programs (result.json).
 */
#ifndef LOADTEST_BENCH_REPORT_H
#define LOADTEST_BENCH_REPORT_H

#include <stdio.h>

#include <jansson.h>

#include "measure/bench_run.h"

void bench_report_screen(FILE *to, const struct bench *bench);

/* Write `path` whole or not at all. */
bool bench_report_write(const char *path, const struct options *options, const struct bench *bench,
                        struct failure *failure);

/* Of the first `count` > 0, which stay in their order. */
struct spread bench_report_spread(const double values[ROUNDS_MAX], int count);

/* Parts that other result files have too: the machine; median, least, most and all repeats (null
 * when there are none). */
json_t *bench_report_machine(const struct bench_machine *machine);
json_t *bench_report_repeats(const double *values, int count);

void sweep_report_screen(FILE *to, const struct options *options, const struct bench *sweep);
bool sweep_report_write(const char *path, const struct options *options, const struct bench *sweep,
                        struct failure *failure);

#endif
