/*
 * The numbers of a run and its course, counted from facts made by hand; and the promises' table.
 */
#include "audit/audit.h"
#include "measure/speed.h"
#include "stats/summary.h"
#include "test/support/testing.h"

static void add_ask(struct facts *facts, const char *buyer, int64_t from_ms, int64_t to_ms,
                    ask_outcome outcome, answer_kind answer)
{
    struct ask ask = {.invoked_ns = from_ms * 1000000,
                      .answered_ns = to_ms * 1000000,
                      .rid = buyer,
                      .buyer = buyer,
                      .outcome = outcome,
                      .answer = answer};
    assert_true(facts_add_ask(facts, ask));
}

SET_UP(struct facts, facts)
{
    facts_init(facts);
    facts->has_stock = true;
}

TEAR_DOWN(struct facts, facts)
{
    facts_done(facts);
}

static bool is_near(double value, double wanted)
{
    return value > wanted - 0.001 && value < wanted + 0.001;
}

TEST(run_is_counted_by_outcome, struct facts *facts)
{
    struct summary summary;

    facts->initial = 2;
    add_ask(facts, "a", 1000, 1100, ASK_OK, ANSWER_CREATED);
    add_ask(facts, "b", 1000, 1500, ASK_OK, ANSWER_CREATED);
    add_ask(facts, "a", 1600, 1700, ASK_OK, ANSWER_REPLAYED);
    add_ask(facts, "c", 1600, 2000, ASK_FAIL, ANSWER_SOLD_OUT);
    add_ask(facts, "d", 1600, 2000, ASK_INFO, ANSWER_OUTCOME_UNKNOWN);
    add_ask(facts, "e", 1600, 0, ASK_UNANSWERED, ANSWER_NONE);
    assert_true(summary_count(facts, &summary, NULL));

    assert_int_equal(5, summary.buyers);
    assert_int_equal(6, summary.requests);
    assert_int_equal(5, summary.replies);
    assert_int_equal(1, summary.unanswered);
    assert_int_equal(2, summary.accepted);
    assert_int_equal(1, summary.replayed);
    assert_int_equal(1, summary.refused[ANSWER_SOLD_OUT]);
    assert_int_equal(1, summary.uncertain[ANSWER_OUTCOME_UNKNOWN]);
    assert_true(is_near(summary.seconds, 1.0));
    assert_true(is_near(summary.replies_per_s, 5.0));
    assert_true(is_near(summary.purchases_per_s, 4.0)); /* two in half a second */
}

TEST(percentiles_are_nearest_rank, struct facts *facts)
{
    struct summary summary;

    for (int64_t ms = 200; ms >= 1; ms--)
        add_ask(facts, "a", 0, ms, ASK_FAIL, ANSWER_SOLD_OUT);
    assert_true(summary_count(facts, &summary, NULL));

    assert_int_equal(200, summary.latency[ANSWER_SOLD_OUT].count);
    assert_true(is_near(summary.latency[ANSWER_SOLD_OUT].p50_ms, 100.0));
    assert_true(is_near(summary.latency[ANSWER_SOLD_OUT].p90_ms, 180.0));
    assert_true(is_near(summary.latency[ANSWER_SOLD_OUT].p99_ms, 198.0));
    assert_true(is_near(summary.latency[ANSWER_SOLD_OUT].p999_ms, 200.0));
    assert_true(is_near(summary.latency[ANSWER_SOLD_OUT].most_ms, 200.0));
    assert_int_equal(0, summary.latency[ANSWER_CREATED].count);
}

TEST(empty_run_has_no_rates, struct facts *facts)
{
    struct summary summary;

    assert_true(summary_count(facts, &summary, NULL));

    assert_int_equal(0, summary.buyers);
    assert_true(is_near(summary.replies_per_s, 0.0));
    assert_true(is_near(summary.purchases_per_s, 0.0));
}

TEST(replies_fall_into_slices_from_the_first_request, struct facts *facts)
{
    struct summary summary;

    add_ask(facts, "b", 1000, 1009, ASK_OK, ANSWER_CREATED);
    add_ask(facts, "b", 1001, 1010, ASK_OK, ANSWER_CREATED);
    add_ask(facts, "b", 1001, 1019, ASK_OK, ANSWER_CREATED);
    add_ask(facts, "b", 1002, 1031, ASK_FAIL, ANSWER_SOLD_OUT);
    add_ask(facts, "b", 1002, 0, ASK_UNANSWERED, ANSWER_NONE);
    assert_true(summary_count(facts, &summary, NULL));
    assert_int_equal(10, summary.series.slice_ms);
    assert_int_equal(4, summary.series.count);
    assert_int_equal(1, summary.series.replies[ANSWER_CREATED][0]);
    assert_int_equal(2, summary.series.replies[ANSWER_CREATED][1]);
    assert_int_equal(1, summary.series.replies[ANSWER_SOLD_OUT][3]);
    assert_int_equal(0, summary.series.replies[ANSWER_NONE][0]);
    assert_true(summary.series.sold_out_ms > 18.999 && summary.series.sold_out_ms < 19.001);
}

TEST(units_left_are_no_sell_out, struct facts *facts)
{
    struct summary summary;

    add_ask(facts, "b", 1000, 1009, ASK_OK, ANSWER_CREATED);
    facts->left = 1;
    assert_true(summary_count(facts, &summary, NULL));
    assert_true(summary.series.sold_out_ms < 0);
    facts->left = 0;
    facts->has_stock = false;
    assert_true(summary_count(facts, &summary, NULL));
    assert_true(summary.series.sold_out_ms < 0);
}

TEST(a_slice_is_as_short_as_the_run_allows, struct facts *facts)
{
    static const struct {
        int64_t last_ms, slice_ms;
        int count;
    } cases[] = {
        {1199, 10, 120}, {1200, 20, 61},  {2399, 20, 120},      {2400, 50, 49},
        {5999, 50, 120}, {6000, 100, 61}, {1200000, 20000, 61},
    };
    struct summary summary;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        facts_done(facts);
        add_ask(facts, "b", 0, cases[i].last_ms, ASK_OK, ANSWER_REPLAYED);
        assert_true(summary_count(facts, &summary, NULL));
        assert_int_equal(cases[i].slice_ms, summary.series.slice_ms);
        assert_int_equal(cases[i].count, summary.series.count);
        assert_int_equal(1, summary.series.replies[ANSWER_REPLAYED][cases[i].count - 1]);
    }
}

TEST(without_a_reply_there_is_no_slice, struct facts *facts)
{
    struct summary summary;

    assert_true(summary_count(facts, &summary, NULL));
    assert_int_equal(0, summary.series.count);
    add_ask(facts, "b", 5, 0, ASK_UNANSWERED, ANSWER_NONE);
    assert_true(summary_count(facts, &summary, NULL));
    assert_int_equal(0, summary.series.count);
    assert_true(summary.series.sold_out_ms < 0);
}

TEST(every_check_stands_behind_a_promise)
{
    unsigned covered = 0;

    for (int i = 0; i < PROMISE_COUNT; i++)
        for (int n = 0; n < promises[i].check_count; n++)
            covered |= 1U << (unsigned)promises[i].checks[n];

    assert_int_equal((1U << (unsigned)AUDIT_CHECK_COUNT) - 1, covered);
}

TEST(promise_is_as_good_as_its_worst_check)
{
    struct audit_result result = {.verdict = AUDIT_PASS};
    const struct promise *honest = &promises[4];

    assert_int_equal(AUDIT_PASS, audit_promise_verdict(honest, &result));
    result.checks[honest->checks[0]].verdict = AUDIT_VOID;
    assert_int_equal(AUDIT_VOID, audit_promise_verdict(honest, &result));
    result.checks[honest->checks[1]].verdict = AUDIT_FAIL;
    assert_int_equal(AUDIT_FAIL, audit_promise_verdict(honest, &result));
    result.checks[honest->checks[2]].verdict = AUDIT_VOID;
    assert_int_equal(AUDIT_FAIL, audit_promise_verdict(honest, &result));
}

TEST(spread_has_median_least_and_most)
{
    double odd[] = {3, 1, 2};
    double even[] = {4, 1, 2, 3};

    struct spread of_odd = spread_of(odd, 3);
    struct spread of_even = spread_of(even, 4);

    assert_true(is_near(of_odd.median, 2));
    assert_true(is_near(of_odd.least, 1));
    assert_true(is_near(of_odd.most, 3));
    assert_true(is_near(of_even.median, 2.5));
}
