/*
 * Replies over time, from facts made by hand.
 */
#include "count/series.h"
#include "test/support/testing.h"

static void add_ask(struct facts *facts, int64_t from_ms, int64_t to_ms, ask_outcome outcome,
                    answer_kind answer)
{
    struct ask ask = {.invoked_ns = from_ms * 1000000,
                      .answered_ns = to_ms * 1000000,
                      .rid = "r",
                      .buyer = "b",
                      .outcome = outcome,
                      .answer = answer};
    assert_true(facts_add_ask(facts, ask));
}

static int fill(void **state)
{
    static struct facts facts;

    facts_init(&facts);
    facts.has_stock = true;
    *state = &facts;
    return 0;
}

static int empty(void **state)
{
    facts_done(*state);
    return 0;
}

TEST(replies_fall_into_slices_from_the_first_request)
{
    struct facts *facts = *state;
    struct series series;

    add_ask(facts, 1000, 1009, ASK_OK, ANSWER_CREATED);
    add_ask(facts, 1001, 1010, ASK_OK, ANSWER_CREATED);
    add_ask(facts, 1001, 1019, ASK_OK, ANSWER_CREATED);
    add_ask(facts, 1002, 1031, ASK_FAIL, ANSWER_SOLD_OUT);
    add_ask(facts, 1002, 0, ASK_UNANSWERED, ANSWER_NONE);
    series_count(facts, &series);
    assert_int_equal(10, series.slice_ms);
    assert_int_equal(4, series.count);
    assert_int_equal(1, series.replies[ANSWER_CREATED][0]);
    assert_int_equal(2, series.replies[ANSWER_CREATED][1]);
    assert_int_equal(1, series.replies[ANSWER_SOLD_OUT][3]);
    assert_int_equal(0, series.replies[ANSWER_NONE][0]);
    assert_true(series.sold_out_ms > 18.999 && series.sold_out_ms < 19.001);
}

TEST(units_left_are_no_sell_out)
{
    struct facts *facts = *state;
    struct series series;

    add_ask(facts, 1000, 1009, ASK_OK, ANSWER_CREATED);
    facts->left = 1;
    series_count(facts, &series);
    assert_true(series.sold_out_ms < 0);
    facts->left = 0;
    facts->has_stock = false;
    series_count(facts, &series);
    assert_true(series.sold_out_ms < 0);
}

TEST(a_slice_is_as_short_as_the_run_allows)
{
    static const struct {
        int64_t last_ms, slice_ms;
        int count;
    } cases[] = {
        {1199, 10, 120}, {1200, 20, 61},  {2399, 20, 120},      {2400, 50, 49},
        {5999, 50, 120}, {6000, 100, 61}, {1200000, 20000, 61},
    };
    struct facts *facts = *state;
    struct series series;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        facts_done(facts);
        add_ask(facts, 0, cases[i].last_ms, ASK_OK, ANSWER_REPLAYED);
        series_count(facts, &series);
        assert_int_equal(cases[i].slice_ms, series.slice_ms);
        assert_int_equal(cases[i].count, series.count);
        assert_int_equal(1, series.replies[ANSWER_REPLAYED][cases[i].count - 1]);
    }
}

TEST(without_a_reply_there_is_no_slice)
{
    struct facts *facts = *state;
    struct series series;

    series_count(facts, &series);
    assert_int_equal(0, series.count);
    add_ask(facts, 5, 0, ASK_UNANSWERED, ANSWER_NONE);
    series_count(facts, &series);
    assert_int_equal(0, series.count);
    assert_true(series.sold_out_ms < 0);
}

FIXTURE(fill, empty);
