/*
 * Parts of result.json that a verification run and a comparison share. Internal to report_json.c and
 * compare_report.c.
 */
#ifndef LOADTEST_REPORT_INSIDE_H
#define LOADTEST_REPORT_INSIDE_H

#include <jansson.h>

#include "report.h"

/* Everything about one run, into `object`. */
void report_json_put_run(json_t *object, const struct verify_run *run);

/* "settings", "versions" and "machine". */
void report_json_put_place(json_t *object, const struct options *options,
                           const struct service *service, const struct verify_run *run);

#endif
