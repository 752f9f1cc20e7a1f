/*
 * What a run found, for a person (one screen) and for programs (result.json).
 */
#ifndef LOADTEST_REPORT_H
#define LOADTEST_REPORT_H

#include <stdio.h>

#include <jansson.h>

#include "measure/speed.h"
#include "run/options.h"
#include "run/service.h"
#include "run/verify.h"

/* The run a reader must look at: the first that failed, else the first void one, else the last. */
const struct verify_run *report_worst(const struct verify_run *runs, int count);

/* "PASS", "FAIL", "VOID" */
const char *report_verdict(audit_verdict verdict);

void report_screen(FILE *to, const struct drive_target *target, const struct verify_run *run);
void report_speed_screen(FILE *to, const struct drive_target *target, const struct speed_run *run);

/* Write `path` whole or not at all. */
bool report_json_write(const char *path, const struct drive_target *target,
                       const struct verify_run *runs, int count, struct failure *failure);
bool report_json_write_speed(const char *path, const struct drive_target *target,
                             const struct speed_run *run, struct failure *failure);

/* Parts that a comparison has, too. */
/* Everything about one run, into `object`. */
void report_json_put_run(json_t *object, const struct verify_run *run);

/* The "machine" that a file has. */
json_t *report_json_host(const struct bench_machine *machine);

/* "settings", "versions" and "machine". */
void report_json_put_place(json_t *object, const struct options *options,
                           const struct service *service, const struct verify_run *run);

#endif
