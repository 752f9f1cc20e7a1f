/*
 * Arrival by the clients' ledger against the recorded order: the merge count against the obvious one,
 * and on facts made by hand.
 */
#include "audit/verdict.h"
#include "base/random.h"
#include "test/support/testing.h"

enum { MOST = 6, LONGEST = 70 };

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
    uint64_t inversions = audit_count_inversions(copy, spare, count);
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
    struct random random = random_stream(11, 1);
    int64_t numbers[LONGEST];

    for (size_t count = 0; count <= LONGEST; count++) {
        for (int64_t range = 1; range <= 1000; range *= 10) { /* with many equal ones, with few */
            for (size_t i = 0; i < count; i++)
                numbers[i] = random_between(&random, 0, range);
            assert_int_equal(count_by_force(numbers, count), count_by_merging(numbers, count));
        }
    }
}

TEST(pairs_are_counted_without_overflow)
{
    assert_int_equal(0, audit_count_pairs(0));
    assert_int_equal(1, audit_count_pairs(2));
    assert_int_equal(10, audit_count_pairs(5));
    assert_int_equal(UINT64_C(49999995000000), audit_count_pairs(10000000));
}

TEST(pairs_recorded_the_other_way_round_are_inversions)
{
    static const struct {
        const char *name;
        struct {
            const char *rid;
            int64_t at_ns;
        } asks[MOST];
        const char *sold[MOST];
        struct fairness due;
    } rows[] = {
        {"first come, first served",
         {{"c", 30}, {"a", 10}, {"b", 20}, {"refused", 5}},
         {"a", "b", "c"},
         {3, 3, 0}},
        {"overtaken",
         {{"a", 10}, {"b", 20}, {"c", 30}, {"d", 40}},
         {"d", "a", "c", "b"},
         {4, 6, 4}},
        {"a purchase came when it was asked for first, its replay was read before",
         {{"a", 50}, {"a", 10}, {"b", 20}},
         {"a", "b"},
         {2, 1, 0}},
        {"nothing", {{NULL, 0}}, {NULL}, {0, 0, 0}},
        {"what nobody asked for is in no pair", {{"a", 10}}, {"ghost", "a"}, {1, 0, 0}},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct audit_result result;
        struct facts facts;

        facts_init(&facts);
        for (size_t n = 0; n < MOST && rows[i].asks[n].rid; n++) {
            const char *rid = rows[i].asks[n].rid;
            assert_true(facts_add_ask(
                &facts,
                (struct ask){.invoked_ns = rows[i].asks[n].at_ns, .rid = rid, .buyer = rid}));
        }
        for (size_t n = 0; n < MOST && rows[i].sold[n]; n++) {
            const char *rid = rows[i].sold[n];
            assert_true(facts_add_sold(&facts, (struct row){rid, rid, rid}));
        }
        assert_true(audit_run(&facts, NULL, &result, NULL));
        if (memcmp(&rows[i].due, &result.fairness, sizeof result.fairness) != 0)
            fail_msg("%s: %zu orders", rows[i].name, result.fairness.orders);
        double share = fairness_share(&result.fairness);
        double due = rows[i].due.inversions ? 4.0 / 6 : 0;
        assert_true(share > due - 0.01 && share < due + 0.01);
        facts_done(&facts);
    }
}
