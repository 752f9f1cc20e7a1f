/*
 * Pauses: they grow, have an upper bound that holds, and differ from client to client.
 * link: -Wl,--wrap=lki_random_below
 */
#include "base/backoff.h"
#include "test/support/testing.h"

static bool is_lowest; /* what chance gives: its smallest or its largest number */

FAKE_RETURNS(int64_t, lki_random_below, (int64_t bound), is_lowest || bound < 1 ? 0 : bound - 1);

TEST(pauses_double_up_to_the_longest)
{
    static const int64_t expected[] = {20, 40, 80, 160, 320, 640, 1000, 1000, 1000};
    struct lki_backoff backoff = {0};

    is_lowest = true;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_int_equal(lki_backoff_next(&backoff, 1000), expected[i]);
}

TEST(chance_takes_off_at_most_half)
{
    static const int64_t expected[] = {10, 20, 40, 50, 50};
    struct lki_backoff backoff = {0};

    is_lowest = false;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_int_equal(lki_backoff_next(&backoff, 100), expected[i]);
}

TEST(a_longest_pause_below_the_first_one_holds_too)
{
    struct lki_backoff backoff = {0};

    is_lowest = true;
    assert_int_equal(lki_backoff_next(&backoff, 1), 1);
    assert_int_equal(lki_backoff_next(&backoff, 1), 1);
}
