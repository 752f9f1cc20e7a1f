/*
 * Files of JSON lines: one object each, at most 4 KiB.
 */
#ifndef LOADTEST_JSON_LINES_H
#define LOADTEST_JSON_LINES_H

#include <jansson.h>

#include "failure.h"

typedef bool json_lines_take(void *arg, json_t *line, struct failure *why);

/*
 * Hand each line to `take` until it returns false; what it puts into `why` is told as FILE:LINE. A
 * last line without its newline was cut short and counts as not written.
 *
 * Returns  false   unreadable, a line that is no object, or `take` said so.
 */
bool json_lines_read(const char *path, json_lines_take *take, void *arg, struct failure *failure);

/* A member that must be a non-empty string; NULL when it is not. */
const char *json_lines_text(const json_t *line, const char *name);

#endif
