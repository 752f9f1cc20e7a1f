/*
 * Paths relative to /proc/self/exe. One thread.
 */
#include "programs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool programs_dir(char out_dir[RUN_PATH_MAX], struct failure *failure)
{
    ssize_t length = readlink("/proc/self/exe", out_dir, RUN_PATH_MAX - 1);
    if (length <= 0) return failure_set(failure, "/proc/self/exe: %s", failure_errno_text());
    out_dir[length] = '\0';
    char *slash = strrchr(out_dir, '/');
    if (slash) *slash = '\0';
    return true;
}

bool programs_find(const char *const places[], int access_mode, char out[RUN_PATH_MAX],
                   struct failure *failure)
{
    char dir[RUN_PATH_MAX];

    if (!programs_dir(dir, failure)) return false;
    for (size_t i = 0; places[i]; i++) {
        (void)snprintf(out, RUN_PATH_MAX, "%.900s/%.100s", dir, places[i]);
        if (access(out, access_mode) == 0) return true;
    }
    return failure_set(failure, "no %s near %s", places[0], dir);
}

bool programs_seckilld(char out[RUN_PATH_MAX], struct failure *failure)
{
    static const char *const places[] = {"seckilld", "../sbin/seckilld", NULL};

    return programs_find(places, X_OK, out, failure);
}
