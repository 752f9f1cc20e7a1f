/*
 * Moments and spans at the edges of their range, on a clock that stands still.
 * link: -Wl,--wrap=clock_gettime -Wl,--wrap=pthread_cond_clockwait
 */
#include <limits.h>
#include <time.h>

#include "base/clock.h"
#include "test/support/testing.h"

enum { NS_PER_S = 1000000000 };

static struct {
    int64_t boot_ns;
    int64_t monotonic_ns;
    int64_t waited_until_ns; /* what the condition variable was given; 0: it was not asked */
} fake;

FAKE(int, clock_gettime, clockid_t clock, struct timespec *out)
{
    int64_t now = clock == CLOCK_BOOTTIME ? fake.boot_ns : fake.monotonic_ns;

    *out = (struct timespec){.tv_sec = now / NS_PER_S, .tv_nsec = now % NS_PER_S};
    return 0;
}

FAKE(int, pthread_cond_clockwait, pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
     const struct timespec *until)
{
    assert_int_equal(clock, CLOCK_MONOTONIC);
    assert_in_range(until->tv_nsec, 0, NS_PER_S - 1);
    fake.waited_until_ns = (int64_t)until->tv_sec * NS_PER_S + until->tv_nsec;
    return 0;
}

static void set_clocks(int64_t boot_ns, int64_t monotonic_ns)
{
    fake.boot_ns = boot_ns;
    fake.monotonic_ns = monotonic_ns;
    fake.waited_until_ns = 0;
}

TEST(now_counts_suspend)
{
    set_clocks(7 * (int64_t)NS_PER_S + 5, 1);

    assert_int_equal(lki_clock_now(), 7 * (int64_t)NS_PER_S + 5);
}

TEST(a_span_of_any_length_gives_a_moment_without_overflow)
{
    enum { NOW = 1000000000 };
    static const struct {
        int64_t ms;
        int64_t expected;
    } rows[] = {
        {0, NOW},
        {1, NOW + NS_PER_MS},
        {-1, NOW - NS_PER_MS},
        {-1000, 0},
        {-1001, 0},
        {INT64_MIN, 0},
        {INT64_MAX, INT64_MAX},
        {INT64_MAX / NS_PER_MS, INT64_MAX},
        {(INT64_MAX - NOW) / NS_PER_MS, NOW + (INT64_MAX - NOW) / NS_PER_MS * NS_PER_MS},
        {(INT64_MAX - NOW) / NS_PER_MS + 1, INT64_MAX},
    };

    set_clocks(NOW, NOW);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(lki_clock_after_ms(rows[i].ms), rows[i].expected);
}

TEST(what_is_left_is_rounded_up_and_never_negative)
{
    static const struct {
        int64_t left_ns;
        int expected_ms;
    } rows[] = {
        {0, 0},
        {-1, 0},
        {-NS_PER_MS, 0},
        {-5000 * (int64_t)NS_PER_MS, 0},
        {1, 1}, /* poll(0) here would spin */
        {NS_PER_MS - 1, 1},
        {NS_PER_MS, 1},
        {NS_PER_MS + 1, 2},
        {INT_MAX * (int64_t)NS_PER_MS, INT_MAX},
        {INT_MAX * (int64_t)NS_PER_MS + 1, INT_MAX},
    };

    set_clocks(10000 * (int64_t)NS_PER_MS, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(lki_clock_left_ms(fake.boot_ns + rows[i].left_ns), rows[i].expected_ms);
    assert_int_equal(lki_clock_left_ms(INT64_MAX), INT_MAX);
}

TEST(a_wait_is_given_the_span_that_is_left_on_the_other_clock)
{
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

    set_clocks(100 * (int64_t)NS_PER_S, 3 * (int64_t)NS_PER_S + 999999999);
    assert_true(lki_clock_wait(&cond, &mutex, fake.boot_ns + 2));

    assert_int_equal(fake.waited_until_ns, 4 * (int64_t)NS_PER_S + 1);
}

TEST(a_wait_for_ever_does_not_overflow)
{
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

    set_clocks(1, 100 * (int64_t)NS_PER_S); /* monotonic ahead: the sum would pass INT64_MAX */
    assert_true(lki_clock_wait(&cond, &mutex, INT64_MAX));

    assert_int_equal(fake.waited_until_ns, INT64_MAX);
}

TEST(a_passed_deadline_waits_not_at_all)
{
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

    set_clocks(1000, 1000);
    assert_false(lki_clock_wait(&cond, &mutex, 1000));
    assert_false(lki_clock_wait(&cond, &mutex, 999));
    assert_false(lki_clock_wait(&cond, &mutex, 0));

    assert_int_equal(fake.waited_until_ns, 0);
}
