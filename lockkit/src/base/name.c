/*
 * A name with a brace is taken to bring its own hash tag; whether it does is not looked at, because
 * Redisson does not either. Threads: any.
 */
#include "name.h"

#include <stdio.h>
#include <string.h>

char *lki_name_prefix(const char *prefix, const char *name)
{
    char *derived = NULL;
    int len = strchr(name, '{') ? asprintf(&derived, "%s:%s", prefix, name)
                                : asprintf(&derived, "%s:{%s}", prefix, name);

    return len < 0 ? NULL : derived;
}

char *lki_name_suffix(const char *name, const char *suffix)
{
    char *derived = NULL;
    int len = strchr(name, '{') ? asprintf(&derived, "%s:%s", name, suffix)
                                : asprintf(&derived, "{%s}:%s", name, suffix);

    return len < 0 ? NULL : derived;
}
