/*
 * PR_SET_CHILD_SUBREAPER, and the list of children in /proc. A whole tree is ended from its root: as
 * a parent ends, its children come to us. The main thread, to which the kernel gives them.
 */
#include "orphans.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static size_t read_children(pid_t out[ORPHANS_MAX])
{
    char path[64];
    char text[16 * ORPHANS_MAX];
    size_t count = 0;

    (void)snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    size_t len = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file); /* it was only read */
    text[len] = '\0';
    for (char *at = text; count < ORPHANS_MAX;) {
        char *end = NULL;
        long pid = strtol(at, &end, 10);

        if (end == at || pid <= 0) break;
        out[count++] = (pid_t)pid;
        at = end;
    }
    return count;
}

static bool is_in(const pid_t *list, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == pid) return true;
    return false;
}

void orphans_adopt(struct orphans *out)
{
    *out = (struct orphans){0};
    out->other_count = read_children(out->others);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* fails on no kernel that we run on */
}

void orphans_begin(struct orphans *orphans, pid_t told, int number)
{
    orphans->told[0] = told;
    orphans->count = 1;
    orphans->number = number;
}

size_t orphans_tell(struct orphans *orphans)
{
    pid_t children[ORPHANS_MAX];
    size_t count = read_children(children);
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (is_in(orphans->others, orphans->other_count, children[i])) continue;
        if (!is_in(orphans->told, orphans->count, children[i]))
            (void)kill(children[i], orphans->number); /* not waited for: its pid is nobody else's */
        children[kept++] = children[i];
    }
    memcpy(orphans->told, children, kept * sizeof children[0]);
    orphans->count = kept;
    return kept;
}
