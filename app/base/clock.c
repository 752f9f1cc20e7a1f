/*
 * The app's clocks. Runs on any thread.
 */
#include "clock.h"

#include <assert.h>
#include <time.h>

static int64_t read_ns(clockid_t clock)
{
    struct timespec now = {0};
    int status = clock_gettime(clock, &now);

    assert(status == 0);
    (void)status;
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t clock_mono_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

int64_t clock_mono_ms(void)
{
    return read_ns(CLOCK_MONOTONIC) / 1000000;
}

int64_t clock_awake_or_not_ms(void)
{
    return read_ns(CLOCK_BOOTTIME) / 1000000;
}

int64_t clock_unix_ms(void)
{
    return read_ns(CLOCK_REALTIME) / 1000000;
}

void clock_pause_ms(int64_t ms)
{
    struct timespec rest = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    while (nanosleep(&rest, &rest) != 0)
        continue; /* a signal came: sleep the rest */
}
