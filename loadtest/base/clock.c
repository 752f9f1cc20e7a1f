/*
 * Clock and sleep, in one place. Any thread.
 */
#include "clock.h"

#include <time.h>

int64_t clock_ns(void)
{
    struct timespec now = {.tv_sec = 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail on Linux */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t clock_ms(void)
{
    return clock_ns() / 1000000;
}

void clock_sleep_ms(int64_t span_ms)
{
    struct timespec span = {.tv_sec = span_ms / 1000, .tv_nsec = span_ms % 1000 * 1000000};
    (void)nanosleep(&span, NULL);
}

static struct tm utc_now(void)
{
    time_t now = time(NULL);
    struct tm utc = {.tm_year = 0};

    (void)gmtime_r(&now, &utc);
    return utc;
}

void clock_file_stamp(char *out, size_t size)
{
    struct tm utc = utc_now();
    if (strftime(out, size, "%Y%m%d-%H%M%S", &utc) == 0) out[0] = '\0';
}

void clock_rfc3339(char *out, size_t size)
{
    struct tm utc = utc_now();
    if (strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0) out[0] = '\0';
}
