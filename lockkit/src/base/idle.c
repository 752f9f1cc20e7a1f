/*
 * /proc/loadavg counts the threads that run or want to, those of the whole machine: "0.31 0.22 0.18 2/395 4711". The
 * loads themselves are means of a minute, and say nothing of this moment. Any thread.
 */
#include "idle.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -1: not told */
static long count_running(void)
{
    char text[96];
    int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

    if (fd >= 0) (void)close(fd);
    text[len > 0 ? len : 0] = '\0';
    const char *slash = strchr(text, '/');
    while (slash && slash > text && slash[-1] != ' ')
        slash--;
    return slash ? strtol(slash, NULL, 10) : -1;
}

int lki_idle_processors(void)
{
    long running = count_running();

    return running < 1 ? INT_MIN : (int)(sysconf(_SC_NPROCESSORS_ONLN) - running);
}
