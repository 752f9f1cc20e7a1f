/*
 * The table of guards. Any thread.
 */
#include "guard.h"

#include <string.h>

static const struct guard *const guards[] = {
#define GUARD_ENTRY(name) &guard_##name,
    GUARD_LIST(GUARD_ENTRY)
#undef GUARD_ENTRY
};

const struct guard *guard_at(size_t index)
{
    return index < sizeof guards / sizeof guards[0] ? guards[index] : NULL;
}

const struct guard *guard_find(const char *name)
{
    for (size_t i = 0; guard_at(i); i++) {
        if (strcmp(guard_at(i)->name, name) == 0) return guard_at(i);
    }
    return NULL;
}
