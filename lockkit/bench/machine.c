/*
 * /proc, uname, git. One thread.
 */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* What stands between `label` and the end of the word, in the first line that has it. */
static void find_line(FILE *file, const char *label, const char *until, char *out)
{
    char line[512];
    const char *found = NULL;

    while (file && !found && fgets(line, sizeof line, file))
        found = strstr(line, label);
    if (found) found += strlen(label);
    size_t len = found ? strcspn(found, until) : 0;
    (void)snprintf(out, MACHINE_TEXT_MAX, "%.*s", len ? (int)len : 1, len ? found : "?");
}

static void read_file(const char *path, const char *label, const char *until, char *out)
{
    FILE *file = fopen(path, "re");

    find_line(file, label, until, out);
    if (file) (void)fclose(file); /* read only */
}

/* Of the repository we are in; git may not be there. */
static void read_commit(char *out)
{
    FILE *pipe = popen("git --no-optional-locks describe --always --abbrev=40 --dirty "
                       "--exclude='*' 2>/dev/null",
                       "re");

    find_line(pipe, "", "\n", out);
    if (pipe) (void)pclose(pipe);
}

void machine_read(struct machine *out, const struct bare *bare)
{
    struct utsname system;

    out->cores = sysconf(_SC_NPROCESSORS_ONLN);
    out->memory_mib = sysconf(_SC_PHYS_PAGES) / 1024 * (sysconf(_SC_PAGESIZE) / 1024);
    (void)snprintf(out->kernel, sizeof out->kernel, "?");
    if (uname(&system) == 0)
        (void)snprintf(out->kernel, sizeof out->kernel, "%.30s %.90s", system.sysname,
                       system.release);
    read_file("/proc/cpuinfo", "model name\t: ", "\n", out->cpu);
    read_file("/proc/self/maps", "/libhiredis.so.", " \n", out->hiredis);
    bare_info(bare, "redis_version", out->redis, sizeof out->redis);
    read_commit(out->commit);
}

double machine_load(void)
{
    double load = -1;

    return getloadavg(&load, 1) == 1 ? load : -1;
}
