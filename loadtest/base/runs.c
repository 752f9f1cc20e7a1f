/*
 * Names sort by time. What cannot be removed stays. One thread.
 */
#include "runs.h"

#include <dirent.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/folder.h"
#include "programs.h"

/* run-YYYYMMDD-HHMMSS-PID */
static int is_run(const struct dirent *entry)
{
    return fnmatch("run-[0-9]*-[0-9]*-[0-9]*", entry->d_name, 0) == 0;
}

static bool is_running(const char *name)
{
    return kill((pid_t)strtol(strrchr(name, '-') + 1, NULL, 10), 0) == 0;
}

int runs_drop_old(const char *out)
{
    struct dirent **found = NULL;
    char path[RUN_PATH_MAX];
    int count = scandir(out, &found, is_run, alphasort);
    int removed = 0;

    for (int i = 0; i < count; i++) {
        (void)snprintf(path, sizeof path, "%.700s/%.255s", out, found[i]->d_name);
        if (i + RUNS_KEPT < count && !is_running(found[i]->d_name)) {
            folder_remove(path);
            removed++;
        }
        free(found[i]);
    }
    free(found);
    return removed;
}
