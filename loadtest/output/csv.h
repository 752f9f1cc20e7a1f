/*
 * The table in a result file as CSV, for spreadsheets: a line per run, guard, setting, figure or number of connections.
 */
#ifndef LOADTEST_CSV_H
#define LOADTEST_CSV_H

#include <stdbool.h>

#include "common/failure.h"

/* Read the result, write the table. Members of members are named OUTER.INNER; lists are left out. */
bool csv_write(const char *path, const char *result_path, struct failure *failure);

#endif
