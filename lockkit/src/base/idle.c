/*
 * /proc/loadavg counts the threads that run or want to, those of the whole machine: "0.31 0.22 0.18 2/395 4711". The
 * loads themselves are means of a minute, and say nothing of this moment. A quota stops all threads of a cgroup until the
 * next period once it is used up, however idle the machine is. Threads: any.
 */
#include "idle.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a small file says, cut; "" when it cannot be read. */
static void read_text(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, out, size - 1);

    if (fd >= 0) (void)close(fd);
    out[len > 0 ? len : 0] = '\0';
}

/* -1: not told */
static long count_running(void)
{
    char text[96];

    read_text("/proc/loadavg", text, sizeof text);
    const char *slash = strchr(text, '/');
    while (slash && slash > text && slash[-1] != ' ')
        slash--;
    return slash ? strtol(slash, NULL, 10) : -1;
}

static void read_in(const char *folder, const char *name, char *out, size_t size)
{
    char path[PATH_MAX + 32];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    read_text(path, out, size);
}

/* The quota of one cgroup: "150000 100000", or "max 100000"; of version 1 the two are in a file each. */
static int quota_at(const char *folder)
{
    char text[64];
    char *rest = text;

    read_in(folder, "cpu.max", text, sizeof text);
    if (!text[0]) {
        read_in(folder, "cpu.cfs_quota_us", text, sizeof text / 2);
        read_in(folder, "cpu.cfs_period_us", text + strlen(text), sizeof text / 2);
    }
    long long quota = strtoll(text, &rest, 10);
    long long period = strtoll(rest, NULL, 10);
    return quota > 0 && period > 0 && quota / period < INT_MAX ? (int)(quota / period) : INT_MAX;
}

int lki_idle_quota(const char *proc, const char *root)
{
    char lines[4096];
    char path[PATH_MAX];
    char *next = lines;
    int least = INT_MAX;

    read_text(proc, lines, sizeof lines);
    for (char *line = NULL;
         (line = strsep(&next, "\n"));) { /* "4:cpu,cpuacct:/a/b", or "0::/a/b" */
        const char *number = strsep(&line, ":");
        const char *tree = strsep(&line, ":");

        if (!*number || !tree || !line) continue;
        int top = snprintf(path, sizeof path, "%s/%s", root, tree);
        if (top < 0 || strlen(line) >= sizeof path - (size_t)top) continue;
        for (char *end = stpcpy(path + top, line); end; end = strrchr(path + top, '/')) {
            *end = '\0';
            int own = quota_at(path);
            if (own < least) least = own;
        }
    }
    return least;
}

static int most_beside_one; /* set once */

static void find_most(void)
{
    cpu_set_t set;
    int quota = lki_idle_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : INT_MAX;

    most_beside_one = (count < quota ? count : quota) - 1;
}

int lki_idle_of(int ours, int most)
{
    long running = count_running();
    long idle = sysconf(_SC_NPROCESSORS_ONLN) - running + ours;

    if (running < 1) return INT_MIN;
    return idle < most ? (int)idle : most;
}

int lki_idle_processors(int ours)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, find_most);
    return lki_idle_of(ours, most_beside_one);
}
