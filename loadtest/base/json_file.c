/*
 * A result goes to a file beside its place, then is moved there. One thread.
 */
#include "json_file.h"

#include <errno.h>
#include <stdio.h>

#include "programs.h"

void json_file_put(json_t *object, const char *name, json_t *value)
{
    (void)json_object_set_new(object, name, value); /* NULL is refused: the member is missing */
}

json_t *json_file_spread(const struct spread *spread)
{
    return json_pack("{s:f,s:f,s:f}", "median", spread->median, "least", spread->least, "most",
                     spread->most);
}

bool json_file_write(const char *path, json_t *object, struct failure *failure)
{
    char part[RUN_PATH_MAX + 16];

    (void)snprintf(part, sizeof part, "%.1000s.part", path);
    int failed = json_dump_file(object, part, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    json_decref(object);
    if (failed || rename(part, path) != 0)
        return failure_set(failure, "%s: %s", path, failure_errno_text());
    return true;
}
