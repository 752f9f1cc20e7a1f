/*
 * When a wait for an answer looks for it, and when it sleeps at once.
 * link: -Wl,--wrap=lki_clock_now -Wl,--wrap=lki_idle_processors
 */
#include <limits.h>

#include "base/clock.h"
#include "base/idle.h"
#include "test/support/testing.h"
#include "wire/spin.h"

enum { LONGEST = 50000, TRIP = 30000, SLEPT = 100000, LOOK_EVERY_MS = 5, OTHERS = 4 };

static int64_t now = 1;
static int idle; /* processors */
static unsigned looks;

FAKE_RETURNS(int64_t, lki_clock_now, (void), now);

FAKE(int, lki_idle_processors, int ours)
{
    looks++;
    return idle + ours;
}

/* A connection that knows how long a round trip takes that is slept through. */
SET_UP(struct lki_spin, self)
{
    idle = 0; /* but ours */
    looks = 0;
    now += (int64_t)LOOK_EVERY_MS * NS_PER_MS;
    self->longest_ns = LONGEST;
    assert_int_equal(lki_spin_begin(self), 0);
    lki_spin_learn(self, SLEPT);
}

TEAR_DOWN(struct lki_spin, self)
{
    (void)self;
}

/* A round trip; whether it has looked for its answer. */
static bool trip(struct lki_spin *self, bool has_come, int64_t trip_ns)
{
    bool is_open = lki_spin_begin(self) > 0;

    if (is_open) lki_spin_end(self, has_come);
    lki_spin_learn(self, trip_ns);
    return is_open;
}

/* How many sleep at once before one looks again. */
static unsigned count_skips(struct lki_spin *self, bool has_come, int64_t trip_ns)
{
    unsigned count = 0;

    while (!trip(self, has_come, trip_ns) && count < 1000)
        count++;
    return count;
}

TEST(the_first_wait_sleeps, const struct lki_spin *self)
{
    assert_int_equal(self->shut_ns, SLEPT);
    assert_int_equal(looks, 0);
}

TEST(a_wait_looks_for_twice_a_round_trip_but_not_longer_than_it_may, struct lki_spin *self)
{
    assert_int_equal(lki_spin_begin(self), now + LONGEST);
    lki_spin_end(self, true);
    lki_spin_learn(self, TRIP);
    for (int i = 0; i < 100; i++)
        assert_true(trip(self, true, TRIP / 2));
    int64_t span = lki_spin_begin(self) - now;
    assert_in_range(span, TRIP - TRIP / 10, TRIP + TRIP / 10);
    lki_spin_end(self, true);
}

TEST(what_pays_goes_on_but_for_a_sleep_now_and_then, struct lki_spin *self)
{
    unsigned slept = 0;

    for (int i = 0; i < 2560; i++)
        slept += !trip(self, true, TRIP);
    assert_int_equal(slept, 10);
    assert_in_range(self->open_ns, TRIP - TRIP / 10, TRIP + TRIP / 10);
}

TEST(in_vain_the_next_waits_sleep_more_and_more_of_them, struct lki_spin *self)
{
    static const unsigned skips[] = {0, 1, 3, 7, 15, 31, 63, 63};

    self->open_ns = 1; /* it is not slowness that makes them sleep */
    for (size_t i = 0; i < sizeof skips / sizeof skips[0]; i++)
        assert_int_equal(count_skips(self, false, 1), skips[i]);
    assert_int_equal(count_skips(self, true, 1), 63);
    assert_int_equal(count_skips(self, true, 1), 0);
}

TEST(what_is_no_faster_is_tried_seldom, struct lki_spin *self)
{
    for (int i = 0; i < 3; i++)
        (void)count_skips(self, true, SLEPT + 1);
    assert_int_equal(count_skips(self, true, SLEPT + 1), 63);
}

TEST(long_round_trips_are_slept_through, struct lki_spin *self)
{
    self->shut_ns = 4 * self->longest_ns + 1;
    assert_int_equal(lki_spin_begin(self), 0);
    self->shut_ns = 4 * self->longest_ns;
    assert_true(lki_spin_begin(self) > 0);
    lki_spin_end(self, true);
}

TEST(nobody_looks_while_others_could_use_the_processor, struct lki_spin *self)
{
    idle = -1;
    assert_int_equal(lki_spin_begin(self), 0);
    idle = INT_MIN; /* it cannot be told */
    now += (int64_t)LOOK_EVERY_MS * NS_PER_MS;
    assert_int_equal(lki_spin_begin(self), 0);
    assert_int_equal(looks, 2);
    idle = 0;
    assert_int_equal(lki_spin_begin(self), 0); /* nobody has seen that yet */
    assert_int_equal(looks, 2);
    now += (int64_t)LOOK_EVERY_MS * NS_PER_MS;
    assert_true(lki_spin_begin(self) > 0);
    lki_spin_end(self, true);
}

TEST(no_more_look_than_processors_are_idle, struct lki_spin *self)
{
    struct lki_spin others[OTHERS];
    int64_t looking = 0;

    idle = 2; /* besides the one of who looks how many are */
    for (size_t i = 0; i < OTHERS; i++) {
        others[i] = *self;
        looking += lki_spin_begin(&others[i]) > 0;
    }
    assert_int_equal(looking, 3);
    assert_int_equal(lki_spin_begin(self), 0);
    lki_spin_end(&others[0], true);
    assert_true(lki_spin_begin(self) > 0);
    lki_spin_end(self, true);
    lki_spin_end(&others[1], true);
    lki_spin_end(&others[2], true);
}

TEST(switched_off_it_never_looks)
{
    struct lki_spin off = {.longest_ns = 0};

    for (int i = 0; i < 10; i++)
        assert_false(trip(&off, true, TRIP));
    assert_int_equal(looks, 0);
}
