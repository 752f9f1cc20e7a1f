/*
 * Finds an embedded script in the table that embed.awk made. Any thread.
 */
#include "app_scripts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct lk_script_source app_scripts[];

const struct lk_script_source *app_scripts_named(const char *name)
{
    const struct lk_script_source *source = app_scripts;

    while (source->name && strcmp(source->name, name) != 0)
        source++;
    assert(source->name);
    return source;
}

lk_script *app_scripts_join(const char *first, const char *second)
{
    char *text = NULL;

    if (asprintf(&text, "%s%s", app_scripts_named(first)->source,
                 app_scripts_named(second)->source) < 0)
        return NULL;
    lk_script *script = lk_script_new(&(struct lk_script_source){.name = first, .source = text});
    free(text);
    return script;
}
