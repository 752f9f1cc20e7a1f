/*
 * What all result files share: members, spreads, and being written whole or not at all; and files of lines.
 */
#ifndef LOADTEST_JSON_FILE_H
#define LOADTEST_JSON_FILE_H

#include <jansson.h>

#include "common/failure.h"
#include "spread.h"

/* Takes `value`; NULL leaves the member out. */
void json_file_put(json_t *object, const char *name, json_t *value);
/* Median, least, most and all repeats; what is not known is null, and so is the whole when there are none. */
json_t *json_file_repeats(const struct repeats *repeats);
json_t *json_file_numbers(const struct repeats *repeats); /* these alone */
json_t *json_file_words_or_null(const char *words);       /* "": null */

/* Takes `object`. A reader never sees half of the file. */
bool json_file_write(const char *path, json_t *object, struct failure *failure);

/* ---- files of JSON lines: one object each, at most 4 KiB ---- */

typedef bool json_lines_take(void *arg, json_t *line, struct failure *why);

/*
 * Hand each line to `take` until it returns false; what it puts into `why` is told as FILE:LINE. A
 * last line without its newline was cut short and counts as not written.
 *
 * Returns  false   unreadable, a line that is no object, or `take` said so.
 */
bool json_file_read_lines(const char *path, json_lines_take *take, void *arg,
                          struct failure *failure);

/* A member that must be a non-empty string; NULL when it is not. */
const char *json_file_lines_text(const json_t *line, const char *name);

#endif
