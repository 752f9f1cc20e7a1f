/*
 * The merge count against the obvious one, on small sequences of all kinds.
 */
#include "audit/inversions.h"
#include "base/chance.h"
#include "test/support/testing.h"

enum { LONGEST = 70 };

static uint64_t count_by_force(const int64_t *numbers, size_t count)
{
    uint64_t inversions = 0;

    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++)
            if (numbers[i] > numbers[k]) inversions++;
    return inversions;
}

static uint64_t count_by_merging(const int64_t *numbers, size_t count)
{
    int64_t copy[LONGEST];
    int64_t spare[LONGEST];

    memcpy(copy, numbers, count * sizeof *copy);
    uint64_t inversions = inversions_count(copy, spare, count);
    for (size_t i = 1; i < count; i++)
        assert_true(copy[i - 1] <= copy[i]);
    return inversions;
}

TEST(known_sequences)
{
    static const struct {
        size_t count;
        int64_t numbers[6];
        uint64_t inversions;
    } rows[] = {
        {0, {0}, 0},
        {1, {5}, 0},
        {2, {1, 2}, 0},
        {2, {2, 1}, 1},
        {3, {7, 7, 7}, 0},
        {5, {5, 4, 3, 2, 1}, 10},
        {6, {2, 1, 4, 3, 6, 5}, 3},
        {4, {INT64_MAX, 0, -1, INT64_MIN}, 6},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(rows[i].inversions, count_by_merging(rows[i].numbers, rows[i].count));
}

TEST(merging_counts_what_force_counts)
{
    struct chance random = chance_stream(11, 1);
    int64_t numbers[LONGEST];

    for (size_t count = 0; count <= LONGEST; count++) {
        for (int64_t range = 1; range <= 1000; range *= 10) { /* with many equal ones, with few */
            for (size_t i = 0; i < count; i++)
                numbers[i] = chance_between(&random, 0, range);
            assert_int_equal(count_by_force(numbers, count), count_by_merging(numbers, count));
        }
    }
}

TEST(pairs_are_counted_without_overflow)
{
    assert_int_equal(0, inversions_pairs(0));
    assert_int_equal(0, inversions_pairs(1));
    assert_int_equal(1, inversions_pairs(2));
    assert_int_equal(10, inversions_pairs(5));
    assert_int_equal(UINT64_C(49999995000000), inversions_pairs(10000000));
}
