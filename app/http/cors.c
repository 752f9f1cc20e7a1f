/*
 * See cors.h. Any thread.
 */
#include "cors.h"

#include <string.h>

/* scheme://host[:port], as browsers write it: lower case, nothing behind. */
static bool is_origin(const char *text, size_t len)
{
    static const char *const schemes[] = {"http://", "https://"};
    static const char host[] = "abcdefghijklmnopqrstuvwxyz0123456789.-:[]";

    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t skip = strlen(schemes[i]);

        if (len > skip && len < CORS_ORIGIN_SIZE && strncmp(text, schemes[i], skip) == 0)
            return strspn(text + skip, host) >= len - skip;
    }
    return false;
}

bool cors_read(const char *text, struct cors *out)
{
    struct cors read = {.allows_any = strcmp(text, "*") == 0};

    while (!read.allows_any) {
        size_t len = strcspn(text, ",");

        if (read.count == CORS_ORIGINS_MAX || !is_origin(text, len)) return false;
        memcpy(read.origin[read.count++], text, len);
        if (text[len] == '\0') break;
        text += len + 1;
    }
    *out = read;
    return true;
}

const char *cors_allowed(const struct cors *self, const char *origin)
{
    if (!origin) return NULL;
    if (self->allows_any) return "*";
    for (size_t i = 0; i < self->count; i++) {
        if (strcmp(self->origin[i], origin) == 0) return self->origin[i];
    }
    return NULL;
}
