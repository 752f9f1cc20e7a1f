/*
 * Finds an embedded script in the table that embed.awk made. Any thread.
 */
#include "app_scripts.h"

#include <assert.h>
#include <string.h>

extern const struct lk_script_source app_scripts[];

const struct lk_script_source *app_script_named(const char *name)
{
    const struct lk_script_source *source = app_scripts;

    while (source->name && strcmp(source->name, name) != 0)
        source++;
    assert(source->name);
    return source;
}
