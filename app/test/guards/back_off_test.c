/*
 * back_off.c on a clock of its own.
 * link: -Wl,--wrap=clock_mono_ms,--wrap=clock_mono_ns,--wrap=clock_pause_ms
 */
#include "base/clock.h"
#include "guards/shared/back_off.h"
#include "test/support/testing.h"

static struct {
    int64_t now_ms;
    int64_t now_ns;
    int64_t pause_ms; /* the last; -1: none was made */
} world;

FAKE_RETURNS(int64_t, clock_mono_ms, (void), world.now_ms);
FAKE_RETURNS(int64_t, clock_mono_ns, (void), world.now_ns);

FAKE(void, clock_pause_ms, int64_t ms)
{
    world.pause_ms = ms;
}

/* The longest pause of many, after so many tries. */
static int64_t longest(unsigned tries, int64_t left_ms)
{
    int64_t most_ms = -1;

    for (world.now_ns = 0; world.now_ns < 10000; world.now_ns += 61) {
        world.pause_ms = -1;
        back_off(tries, world.now_ms + left_ms);
        if (world.pause_ms > most_ms) most_ms = world.pause_ms;
    }
    return most_ms;
}

TEST(pauses_grow_to_32_ms)
{
    static const int64_t most_ms[] = {1, 2, 4, 8, 16, 32, 32, 32};

    for (unsigned tries = 0; tries < sizeof most_ms / sizeof most_ms[0]; tries++)
        assert_int_equal(longest(tries, 1000), most_ms[tries]);
    assert_int_equal(longest(UINT32_MAX, 1000), 32);
}

TEST(they_are_not_all_alike)
{
    int64_t sum_ms = 0;

    for (world.now_ns = 0; world.now_ns < INT64_C(33) * 64; world.now_ns += 64) {
        back_off(9, world.now_ms + 1000);
        sum_ms += world.pause_ms;
    }
    assert_int_equal(sum_ms, 32 * 33 / 2); /* each of 0 .. 32 once */
}

TEST(none_goes_past_the_deadline)
{
    world.now_ms = 5000;
    assert_int_equal(longest(9, 3), 3);
    assert_int_equal(longest(9, 0), -1);
    assert_int_equal(longest(9, -10), -1);
}
