/*
 * back_off.c on a clock of its own.
 * link: -Wl,--wrap=clock_mono_ms,--wrap=clock_mono_ns,--wrap=clock_pause_ms
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "guards/hand/back_off.h"

static struct {
    int64_t now_ms;
    int64_t now_ns;
    int64_t pause_ms; /* the last; -1: none was made */
} world;

/* The linker's names: NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming) */
int64_t __wrap_clock_mono_ms(void);
int64_t __wrap_clock_mono_ns(void);
void __wrap_clock_pause_ms(int64_t ms);

int64_t __wrap_clock_mono_ms(void)
{
    return world.now_ms;
}

int64_t __wrap_clock_mono_ns(void)
{
    return world.now_ns;
}

void __wrap_clock_pause_ms(int64_t ms)
{
    world.pause_ms = ms;
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

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

static void pauses_grow_to_32_ms(void **state)
{
    static const int64_t most_ms[] = {1, 2, 4, 8, 16, 32, 32, 32};

    (void)state;
    for (unsigned tries = 0; tries < sizeof most_ms / sizeof most_ms[0]; tries++)
        assert_int_equal(longest(tries, 1000), most_ms[tries]);
    assert_int_equal(longest(UINT32_MAX, 1000), 32);
}

static void they_are_not_all_alike(void **state)
{
    int64_t sum_ms = 0;

    (void)state;
    for (world.now_ns = 0; world.now_ns < INT64_C(33) * 64; world.now_ns += 64) {
        back_off(9, world.now_ms + 1000);
        sum_ms += world.pause_ms;
    }
    assert_int_equal(sum_ms, 32 * 33 / 2); /* each of 0 .. 32 once */
}

static void none_goes_past_the_deadline(void **state)
{
    (void)state;
    world.now_ms = 5000;
    assert_int_equal(longest(9, 3), 3);
    assert_int_equal(longest(9, 0), -1);
    assert_int_equal(longest(9, -10), -1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(pauses_grow_to_32_ms),
        cmocka_unit_test(they_are_not_all_alike),
        cmocka_unit_test(none_goes_past_the_deadline),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
