/*
 * Files of JSON lines: one object each, at most 4 KiB.
 */
#ifndef LOADTEST_JSON_LINES_H
#define LOADTEST_JSON_LINES_H

#include <jansson.h>

#include "failure.h"

/*
 * Hand each line to `take` until it returns false; what it puts into `why` is told as FILE:LINE. A
 * last line without its newline was cut short and counts as not written.
 *
 * Returns  false   unreadable, a line that is no object, or `take` said so.
 */
bool json_lines_read(const char *path, bool (*take)(void *arg, json_t *line, struct failure *why),
                     void *arg, struct failure *failure);

/* A member that must be a non-empty string; NULL when it is not. */
const char *json_line_text(const json_t *line, const char *name);

#endif
