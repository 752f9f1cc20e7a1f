/*
 * A lock in words, on a line, or as JSON.
 */
#ifndef LOCKCTL_SHOW_H
#define LOCKCTL_SHOW_H

#include <stdbool.h>

#include "lockkit/inspect.h"

#include "note.h"

/* server: NULL when there is only one. notes: of the holders; NULL: they are not told. */
void show_in_words(const struct lk_inspection *found, const char *server, const struct note *notes);
void show_on_a_line(const struct lk_inspection *found, const char *server);
void show_as_json(const struct lk_inspection *found, const char *server, const struct note *notes);

/* Whether somebody holds it, now. */
bool show_is_held(const struct lk_inspection *found);

/* Everything written is out; else it complains. Gives an exit status: `status` when all is well. */
int show_end(int status);

#endif
