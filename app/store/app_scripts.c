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

lk_script *app_scripts_join(const char *const *names)
{
    lk_script *script = NULL;
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    for (size_t i = 0; file && names[i]; i++)
        (void)fputs(app_scripts_named(names[i])->source, file);
    if (file && fclose(file) == 0)
        script = lk_script_new(&(struct lk_script_source){.name = names[0], .source = text});
    free(text);
    return script;
}
