/*
 * Names, homes and shares of segments, and the sale that they make.
 */
#include "sale/segment.h"
#include "test/support/testing.h"

TEST(no_sale_is_called_as_a_segment_and_the_longest_fits)
{
    struct sale_id id;

    segment_id("lamp", "00c0ffee", 31, &id);
    assert_string_equal(id.text, "lamp.00c0ffee.31");
    assert_false(sale_id_is_valid(id.text));
    segment_id("a-sale-of-twenty-eight-chars", "00c0ffee", 10, &id);
    assert_int_equal(strlen(id.text), SALE_ID_MAX);
}

/* Chi square of 20,000 buyers whose names differ in a digit: 30 is its 99.9999 per cent at 31 - 1 or less. */
TEST(homes_are_even_whatever_their_number)
{
    enum { COUNT = 20000 };

    for (unsigned count = 1; count <= SALE_SEGMENTS_MAX; count++) {
        unsigned homes[SALE_SEGMENTS_MAX] = {0};
        double mean = (double)COUNT / count;
        double chi = 0;

        for (unsigned i = 0; i < COUNT; i++) {
            char buyer[16];

            (void)snprintf(buyer, sizeof buyer, "user-%u", i);
            homes[segment_home(buyer, count)]++;
        }
        for (unsigned i = 0; i < count; i++)
            chi += (homes[i] - mean) * (homes[i] - mean) / mean;
        assert_true(chi < 30 + 1.5 * count);
    }
}

TEST(a_buyer_lives_where_he_lived)
{
    assert_int_equal(segment_home("ann", 1), 0);
    assert_int_equal(segment_home("ann", 32), segment_home("ann", 32));
    assert_int_equal(segment_home("ann", 1000), 533); /* in Redis for good: it must never change */
}

TEST(shares_differ_by_one_and_make_all)
{
    for (unsigned count = 1; count <= SALE_SEGMENTS_MAX; count++) {
        int64_t sum = 0;

        for (unsigned i = 0; i < count; i++) {
            int64_t share = segment_share(100, count, i);

            assert_true(share == 100 / count || share == 100 / count + 1);
            sum += share;
        }
        assert_int_equal(sum, 100);
    }
}

TEST(the_whole_is_the_sum_and_what_is_on_its_way)
{
    struct sale parts[2] = {{.id = "m.1.0",
                             .title = "t",
                             .initial = 6,
                             .left = 2,
                             .orders = 3,
                             .epoch = 1,
                             .starts_ms = 5},
                            {.id = "m.1.1",
                             .initial = 5,
                             .restocked = 4,
                             .left = 4,
                             .cooling = 1,
                             .orders = 2,
                             .epoch = 2}};
    struct sale whole = {.id = "m", .segments = {.count = 2, .generation = "1"}};

    parts[0].moving = (struct sale_move){.number = 1, .units = 1, .target = 1};
    segment_join(parts, &whole);
    assert_string_equal(whole.id, "m");
    assert_string_equal(whole.title, "t");
    assert_int_equal(whole.initial, 11);
    assert_int_equal(whole.restocked, 4);
    assert_int_equal(whole.left, 9); /* 15 put up, 5 ordered, 1 cools */
    assert_int_equal(whole.cooling, 1);
    assert_int_equal(whole.orders, 5);
    assert_int_equal(whole.epoch, 2);
    assert_int_equal(whole.segments.each[0].moving.units, 1);
}

TEST(a_spread_counts_the_parts_that_have_a_slot)
{
    assert_int_equal(segment_spread("lamp", "00c0ffee", 1), 1);
    for (unsigned count = 2; count <= SALE_SEGMENTS_MAX; count++) {
        unsigned spread = segment_spread("lamp", "00c0ffee", count);

        assert_in_range(spread, 1, count);
    }
}
