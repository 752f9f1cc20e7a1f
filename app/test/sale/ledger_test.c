/*
 * Ids of ledger entries.
 */
#include "sale/ledger.h"
#include "test/support/testing.h"

TEST(ids_are_two_numbers_and_a_dash)
{
    static const struct {
        const char *text;
        bool is_id;
        uint64_t ms, seq;
    } cases[] = {
        {"0-0", true, 0, 0},
        {"1795170342586-3", true, 1795170342586, 3},
        {"007-01", true, 7, 1},
        {"18446744073709551615-18446744073709551615", true, UINT64_MAX, UINT64_MAX},
        {"18446744073709551616-0", false, 0, 0},
        {"0-18446744073709551616", false, 0, 0},
        {"99999999999999999999999999999999999-0", false, 0, 0},
        {"", false, 0, 0},
        {"-", false, 0, 0},
        {"1", false, 0, 0},
        {"1-", false, 0, 0},
        {"-1", false, 0, 0},
        {"1--1", false, 0, 0},
        {"+1-1", false, 0, 0},
        {"1-1 ", false, 0, 0},
        {" 1-1", false, 0, 0},
        {"1-1-1", false, 0, 0},
        {"1-1\n", false, 0, 0},
        {"0x1-1", false, 0, 0},
        {"1-a", false, 0, 0},
        {"*", false, 0, 0},
        {"$", false, 0, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ledger_id id = {42, 42};

        assert_int_equal(ledger_id_parse(cases[i].text, &id), cases[i].is_id);
        assert_true(id.ms == (cases[i].is_id ? cases[i].ms : 42));
        assert_true(id.seq == (cases[i].is_id ? cases[i].seq : 42));
    }
}

TEST(the_longest_id_fits_and_comes_back)
{
    const struct ledger_id longest = {UINT64_MAX, UINT64_MAX};
    struct ledger_id back = {0};
    char text[LEDGER_ID_SIZE];

    ledger_id_format(longest, text);
    assert_true(ledger_id_parse(text, &back));
    assert_int_equal(ledger_id_compare(longest, back), 0);
}

TEST(ids_are_ordered_by_time_then_place)
{
    static const struct ledger_id ordered[] = {{0, 0}, {0, 1}, {9, 0}, {9, 9}, {10, 0}, {10, 10}};
    enum { COUNT = sizeof ordered / sizeof ordered[0] };

    for (int i = 0; i < COUNT; i++) {
        for (int j = 0; j < COUNT; j++) {
            int order = ledger_id_compare(ordered[i], ordered[j]);

            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
        }
    }
}
