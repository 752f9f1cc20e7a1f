/*
 * What a bench or a sweep found, for a person (tables) and for programs (result.json).
 */
#ifndef LOADTEST_BENCH_REPORT_H
#define LOADTEST_BENCH_REPORT_H

#include <stdio.h>

#include "measure/bench.h"

void bench_report_screen(FILE *to, const struct bench *bench);

/* Write `path` whole or not at all. */
bool bench_report_write(const char *path, const struct options *options, const struct bench *bench,
                        struct failure *failure);
bool bench_report_write_sweep(const char *path, const struct options *options,
                              const struct bench *bench, struct failure *failure);

#endif
