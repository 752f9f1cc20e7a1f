/*
 * What the bench found, for a person (two tables) and for programs (result.json).
 */
#ifndef LOADTEST_BENCH_REPORT_H
#define LOADTEST_BENCH_REPORT_H

#include <stdio.h>

#include "bench_run.h"

void bench_report_screen(FILE *to, const struct bench *bench);

/* Write `path` whole or not at all. */
bool bench_report_write(const char *path, const struct options *options, const struct bench *bench,
                        struct failure *failure);

#endif
