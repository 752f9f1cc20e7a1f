/*
 * Arrival by the clients' ledger against the recorded order, on facts made by hand.
 */
#include "audit/fairness.h"
#include "test/support/testing.h"

static void add_ask(struct facts *facts, const char *rid, int64_t at_ns)
{
    assert_true(facts_add_ask(facts, (struct ask){.invoked_ns = at_ns, .rid = rid, .buyer = rid}));
}

static void add_sold(struct facts *facts, const char *rid)
{
    assert_true(facts_add_sold(facts, (struct row){.order = rid, .buyer = rid, .rid = rid}));
}

static void check(const struct facts *facts, size_t orders, uint64_t pairs, uint64_t inversions)
{
    struct fairness fairness;

    assert_true(fairness_count(facts, &fairness, NULL));
    assert_int_equal(orders, fairness.orders);
    assert_int_equal(pairs, fairness.pairs);
    assert_int_equal(inversions, fairness.inversions);
}

TEST(first_come_first_served_has_no_inversion)
{
    struct facts facts;

    facts_init(&facts);
    add_ask(&facts, "c", 30);
    add_ask(&facts, "a", 10);
    add_ask(&facts, "b", 20);
    add_ask(&facts, "refused", 5);
    add_sold(&facts, "a");
    add_sold(&facts, "b");
    add_sold(&facts, "c");
    check(&facts, 3, 3, 0);
    facts_done(&facts);
}

TEST(overtaking_is_an_inversion)
{
    struct facts facts;
    struct fairness fairness;

    facts_init(&facts);
    add_ask(&facts, "a", 10);
    add_ask(&facts, "b", 20);
    add_ask(&facts, "c", 30);
    add_ask(&facts, "d", 40);
    add_sold(&facts, "d");
    add_sold(&facts, "a");
    add_sold(&facts, "c");
    add_sold(&facts, "b");
    check(&facts, 4, 6, 4);
    assert_true(fairness_count(&facts, &fairness, NULL));
    assert_true(fairness_share(&fairness) > 0.66 && fairness_share(&fairness) < 0.67);
    facts_done(&facts);
}

TEST(a_purchase_came_when_it_was_asked_for_first)
{
    struct facts facts;

    facts_init(&facts);
    add_ask(&facts, "a", 50); /* its replay, read before */
    add_ask(&facts, "a", 10);
    add_ask(&facts, "b", 20);
    add_sold(&facts, "a");
    add_sold(&facts, "b");
    check(&facts, 2, 1, 0);
    facts_done(&facts);
}

TEST(what_nobody_asked_for_is_in_no_pair)
{
    struct fairness fairness;
    struct facts facts;

    facts_init(&facts);
    check(&facts, 0, 0, 0);
    add_sold(&facts, "ghost");
    add_ask(&facts, "a", 10);
    add_sold(&facts, "a");
    check(&facts, 1, 0, 0);
    assert_true(fairness_count(&facts, &fairness, NULL));
    assert_true(fairness_share(&fairness) <= 0);
    facts_done(&facts);
}
