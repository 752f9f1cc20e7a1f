/*
 * One line per order; audit.c says which. One thread.
 */
#include "lost.h"

#include <errno.h>

#include <jansson.h>

#include "audit.h"

static bool write_line(const struct ask *ask, void *arg)
{
    FILE *file = arg;
    json_t *line = json_pack("{s:s,s:s,s:s,s:s,s:I}", "e", "lost", "order", ask->order, "buyer",
                             ask->buyer, "rid", ask->rid, "t", (json_int_t)ask->answered_ns);

    (void)json_dumpf(line, file, JSON_COMPACT); /* ferror() tells later */
    (void)fputc('\n', file);
    json_decref(line);
    return true;
}

bool lost_write(const struct facts *facts, const char *path, struct failure *failure)
{
    FILE *file = fopen(path, "we");

    if (!file) return failure_set(failure, "%s: %s", path, failure_errno_text());
    bool is_listed = audit_each_lost(facts, write_line, file, failure);
    bool is_written = !ferror(file);
    is_written = fclose(file) == 0 && is_written;
    return is_listed && (is_written || failure_set(failure, "%s: could not be written", path));
}
