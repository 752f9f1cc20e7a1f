/*
 * Paths relative to /proc/self/exe. One thread.
 */
#include "programs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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

bool programs_find(const char *const folders[], const char *name, char out[RUN_PATH_MAX],
                   struct failure *failure)
{
    char dir[RUN_PATH_MAX];

    if (!programs_dir(dir, failure)) return false;
    for (size_t i = 0; folders[i]; i++) {
        (void)snprintf(out, RUN_PATH_MAX, "%.900s/%.60s/%.40s", dir, folders[i], name);
        if (access(out, R_OK) == 0) return true;
    }
    return failure_set(failure, "no %s near %s", name, dir);
}

bool programs_seckilld(char out[RUN_PATH_MAX], struct failure *failure)
{
    static const char *const folders[] = {".", "../sbin", NULL};

    return programs_find(folders, "seckilld", out, failure);
}

bool programs_ours(const char *name, char out[RUN_PATH_MAX], struct failure *failure)
{
    static const char *const folders[] = {".", NULL};
    char installed[64];

    (void)snprintf(installed, sizeof installed, "seckill-%.40s", name);
    return programs_find(folders, name, out, NULL) ||
           programs_find(folders, installed, out, failure);
}

bool programs_tool(const char *name, char out[RUN_PATH_MAX], struct failure *failure)
{
    static const char *const folders[] = {"../share/seckill", "../../lockkit/tools",
                                          "../../../../../../lockkit/tools", /* of a test */
                                          NULL};

    return programs_find(folders, name, out, failure);
}

bool programs_make_folders(const char *words, const char *path, struct failure *failure)
{
    char part[RUN_PATH_MAX];

    if (strlen(path) >= sizeof part - 64)
        return failure_set(failure, "--out: the path is too long");
    for (size_t i = 1;; i++) {
        if (path[i] != '/' && path[i] != '\0') continue;
        (void)snprintf(part, sizeof part, "%.*s", (int)i, path);
        if (mkdir(part, 0755) != 0 && errno != EEXIST)
            return failure_set(failure, "%s%s: %s", words, part, failure_errno_text());
        if (path[i] == '\0') return true;
    }
}
