/*
 * What all result files share: members, spreads, and being written whole or not at all.
 */
#ifndef LOADTEST_JSON_FILE_H
#define LOADTEST_JSON_FILE_H

#include <jansson.h>

#include "failure.h"
#include "spread.h"

/* Takes `value`; NULL leaves the member out. */
void json_file_put(json_t *object, const char *name, json_t *value);
json_t *json_file_spread(const struct spread *spread);

/* Takes `object`. A reader never sees half of the file. */
bool json_file_write(const char *path, json_t *object, struct failure *failure);

#endif
