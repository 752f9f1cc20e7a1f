/*
 * The only file that reads clocks. Moments are of CLOCK_BOOTTIME, as CLOCK_MONOTONIC stops while the machine is
 * suspended and leases do not; condition variables only have CLOCK_MONOTONIC, so they get the time that is left.
 * Threads: any.
 */
#include "clock.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <time.h>

enum { NS_PER_S = 1000000000 };

static int64_t read_clock(clockid_t clock)
{
    struct timespec t = {0};

    (void)clock_gettime(clock, &t); /* cannot fail with these clocks and a valid address */
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

int64_t lki_clock_now(void)
{
    return read_clock(CLOCK_BOOTTIME);
}

int64_t lki_clock_after_ms(int64_t ms)
{
    int64_t now = lki_clock_now();

    if (ms > (INT64_MAX - now) / NS_PER_MS) return INT64_MAX;
    if (ms < -now / NS_PER_MS) return 0; /* before the clock began: as passed as can be */
    return now + ms * NS_PER_MS;
}

int lki_clock_left_ms(int64_t deadline)
{
    int64_t left = deadline - lki_clock_now();
    int64_t ms = left / NS_PER_MS + (left % NS_PER_MS > 0);

    if (left <= 0) return 0;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

bool lki_clock_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline)
{
    int64_t left = deadline - lki_clock_now();
    int64_t now = read_clock(CLOCK_MONOTONIC);

    if (left <= 0) return false;
    if (left > INT64_MAX - now) left = INT64_MAX - now;
    struct timespec until = {.tv_sec = (now + left) / NS_PER_S, .tv_nsec = (now + left) % NS_PER_S};
    (void)pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &until);
    return true;
}

void lki_clock_sleep_ms(int64_t ms)
{
    struct timespec span = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * NS_PER_MS};

    while (nanosleep(&span, &span) != 0 && errno == EINTR) {}
}

bool lki_clock_poll(int fd, short events, int64_t deadline)
{
    struct pollfd poll_fd = {.fd = fd, .events = events};
    int ready = 0;

    do {
        ready = poll(&poll_fd, 1, lki_clock_left_ms(deadline));
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) errno = ETIMEDOUT;
    return ready > 0;
}
