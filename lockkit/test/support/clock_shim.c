/*
 * A wall clock that jumps, for one program: loaded with LD_PRELOAD, it adds to the time of day what the
 * file CLOCK_SHIM_FILE says, in nanoseconds (an int64_t, read anew each time). The monotonic clocks
 * stay as they are, as in the world.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const _Atomic int64_t *offset_ns;

__attribute__((constructor)) static void map_offset(void)
{
    const char *path =
        getenv("CLOCK_SHIM_FILE"); /* NOLINT(concurrency-mt-unsafe): no threads yet */
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *map = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *offset_ns, PROT_READ, MAP_SHARED, fd, 0);

    if (map != MAP_FAILED) offset_ns = map;
    if (fd >= 0) (void)close(fd);
}

/* Declared with names that are the C library's own.
   NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */

int clock_gettime(clockid_t clock, struct timespec *out)
{
    enum { NS = 1000000000 };
    int status = (int)syscall(SYS_clock_gettime, clock, out);

    if (status != 0 || !offset_ns || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
        return status;
    int64_t now = (int64_t)out->tv_sec * NS + out->tv_nsec + atomic_load(offset_ns);
    out->tv_sec = now / NS;
    out->tv_nsec = now % NS;
    return 0;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec now = {0};

    (void)zone;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    *out = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *out)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
