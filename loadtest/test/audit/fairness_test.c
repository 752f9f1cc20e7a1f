/*
 * Arrival by the clients' ledger against the recorded order, on facts made by hand.
 */
#include "audit/fairness.h"
#include "test/support/testing.h"

enum { MOST = 6 };

TEST(pairs_recorded_the_other_way_round_are_inversions)
{
    static const struct {
        const char *name;
        struct {
            const char *rid;
            int64_t at_ns;
        } asks[MOST];
        const char *sold[MOST];
        size_t orders;
        uint64_t pairs, inversions;
    } rows[] = {
        {"first come, first served",
         {{"c", 30}, {"a", 10}, {"b", 20}, {"refused", 5}},
         {"a", "b", "c"},
         3,
         3,
         0},
        {"overtaken", {{"a", 10}, {"b", 20}, {"c", 30}, {"d", 40}}, {"d", "a", "c", "b"}, 4, 6, 4},
        {"a purchase came when it was asked for first, its replay was read before",
         {{"a", 50}, {"a", 10}, {"b", 20}},
         {"a", "b"},
         2,
         1,
         0},
        {"nothing", {{NULL, 0}}, {NULL}, 0, 0, 0},
        {"what nobody asked for is in no pair", {{"a", 10}}, {"ghost", "a"}, 1, 0, 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fairness fairness;
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
        assert_true(fairness_count(&facts, &fairness, NULL));
        if (fairness.inversions != rows[i].inversions) print_message("%s\n", rows[i].name);
        assert_int_equal(rows[i].orders, fairness.orders);
        assert_int_equal(rows[i].pairs, fairness.pairs);
        assert_int_equal(rows[i].inversions, fairness.inversions);
        double share = fairness_share(&fairness);
        double due = rows[i].inversions ? 4.0 / 6 : 0;
        assert_true(share > due - 0.01 && share < due + 0.01);
        facts_done(&facts);
    }
}
