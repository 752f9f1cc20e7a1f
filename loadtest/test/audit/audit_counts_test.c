/*
 * What the auditor counts besides its verdicts: units too many and too few, and a lock that is stuck.
 */
#include "audit/audit.h"
#include "test/support/testing.h"

enum { BUYERS_MAX = 8, NAME_SIZE = 16 };

/* Units put up, orders, and what the buyers beyond these were told (ANSWER_NONE: nobody asked). */
struct course {
    int64_t units;
    int orders;
    int more_buyers;
    answer_kind told;
};

static void make_sale(struct facts *facts, const struct course *course)
{
    static char names[BUYERS_MAX][NAME_SIZE];

    facts_init(facts);
    facts->has_clients = facts->has_stock = true;
    facts->lock = LOCK_NONE;
    facts->initial = course->units;
    facts->left = course->units > course->orders ? course->units - course->orders : 0;
    for (int i = 0; i < course->orders + course->more_buyers; i++) {
        bool is_sold = i < course->orders;
        const char *name = names[i];
        (void)snprintf(names[i], NAME_SIZE, "b%d", i);
        struct row row = {.order = name, .buyer = name, .rid = name};
        struct ask ask = {.invoked_ns = 10 + i,
                          .answered_ns = 20 + i,
                          .rid = name,
                          .buyer = name,
                          .order = is_sold ? name : NULL,
                          .outcome = is_sold ? ASK_OK : ASK_FAIL,
                          .answer = is_sold ? ANSWER_CREATED : course->told};
        if (is_sold) assert_true(facts_add_order(facts, row));
        assert_true(facts_add_ask(facts, ask));
    }
}

TEST(units_too_many_and_too_few_are_counted)
{
    static const struct {
        struct course course;
        size_t oversold, undersold;
    } rows[] = {
        {{.units = 3, .orders = 3}, 0, 0},
        {{.units = 3, .orders = 5}, 2, 0},
        {{.units = 3, .orders = 1, .more_buyers = 4, .told = ANSWER_SOLD_OUT}, 0, 2},
        {{.units = 3, .orders = 1, .more_buyers = 4, .told = ANSWER_LOCK_TIMEOUT}, 0, 2},
        {{.units = 9, .orders = 1, .more_buyers = 2, .told = ANSWER_SOLD_OUT}, 0, 2},
        {{.units = 9, .orders = 2}, 0, 0}, /* nobody wanted the rest */
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct audit_result result;
        struct facts facts;

        make_sale(&facts, &rows[i].course);
        assert_true(audit_run(&facts, NULL, &result, NULL));
        assert_int_equal(rows[i].oversold, result.oversold);
        assert_int_equal(rows[i].undersold, result.undersold);
        facts_done(&facts);
    }
}

TEST(without_a_stock_put_up_nothing_is_counted)
{
    struct audit_result result;
    struct facts facts;

    make_sale(&facts, &(struct course){.units = 3, .orders = 5});
    facts.initial = -1;
    assert_true(audit_run(&facts, NULL, &result, NULL));
    assert_int_equal(0, result.oversold);
    assert_int_equal(0, result.undersold);
    facts_done(&facts);
}

TEST(only_a_lock_that_was_looked_for_passes)
{
    static const struct {
        lock_left lock;
        audit_verdict verdict;
        bool is_stuck;
    } rows[] = {
        {LOCK_NOT_LOOKED, AUDIT_VOID, false}, {LOCK_NONE, AUDIT_PASS, false},
        {LOCK_LEASED, AUDIT_PASS, false},     {LOCK_OUTLIVES, AUDIT_FAIL, true},
        {LOCK_ENDLESS, AUDIT_FAIL, true},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct audit_result result;
        struct facts facts;

        make_sale(&facts, &(struct course){.units = 3, .orders = 3});
        facts.lock = rows[i].lock;
        assert_true(audit_run(&facts, NULL, &result, NULL));
        assert_int_equal(rows[i].verdict, result.checks[AUDIT_NO_STUCK_LOCK].verdict);
        assert_int_equal(rows[i].is_stuck, result.has_stuck_lock);
        facts_done(&facts);
    }
}
