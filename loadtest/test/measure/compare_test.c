/*
 * Judging a guard's run by what it is, and sums over rounds; no run, no service.
 */
#include <math.h>
#include <string.h>

#include "measure/compare.h"
#include "test/support/testing.h"

static const struct guard_entry guards[] = {
    [GUARD_SOUND] = {.name = "mutex", .finding = GUARD_SOUND},
    [GUARD_OVERSELLS] = {.name = "none", .flaw = "f", .finding = GUARD_OVERSELLS},
    [GUARD_STUCK] = {.name = "setnx", .flaw = "f", .finding = GUARD_STUCK},
};

/* A run in which this check got that verdict, and all others passed. */
static void make_run(struct verify_run *run, audit_check_id id, audit_verdict verdict)
{
    *run = (struct verify_run){.audit.verdict = verdict, .round_trips = -1};
    run->audit.checks[id].verdict = verdict;
}

TEST(a_failed_check_is_judged_by_the_flaw)
{
    static const struct {
        audit_check_id id;
        compare_verdict sound, oversells, stuck;
    } rows[] = {
        {AUDIT_CONSERVATION, COMPARE_BROKE, COMPARE_SHOWED, COMPARE_BROKE},
        {AUDIT_ONE_PER_BUYER, COMPARE_BROKE, COMPARE_SHOWED, COMPARE_BROKE},
        {AUDIT_HONEST_ANSWERS, COMPARE_BROKE, COMPARE_SHOWED, COMPARE_BROKE},
        {AUDIT_NO_UNDERSELL, COMPARE_BROKE, COMPARE_SHOWED, COMPARE_SHOWED},
        {AUDIT_NO_STUCK_LOCK, COMPARE_BROKE, COMPARE_BROKE, COMPARE_SHOWED},
    };
    static struct verify_run run;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        make_run(&run, rows[i].id, AUDIT_FAIL);
        assert_int_equal(rows[i].sound, compare_judge(&guards[GUARD_SOUND], &run));
        assert_int_equal(rows[i].oversells, compare_judge(&guards[GUARD_OVERSELLS], &run));
        assert_int_equal(rows[i].stuck, compare_judge(&guards[GUARD_STUCK], &run));
    }
}

TEST(a_run_that_proves_nothing_is_void)
{
    static struct verify_run run;

    for (size_t i = 0; i < sizeof guards / sizeof *guards; i++) {
        make_run(&run, AUDIT_CONSERVATION, AUDIT_PASS);
        assert_int_equal(COMPARE_HELD, compare_judge(&guards[i], &run));
        make_run(&run, AUDIT_NO_UNDERSELL, AUDIT_VOID);
        assert_int_equal(COMPARE_VOID, compare_judge(&guards[i], &run));
        make_run(&run, AUDIT_CONSERVATION, AUDIT_PASS);
        (void)snprintf(run.trouble, sizeof run.trouble, "an instance ended by itself");
        assert_int_equal(COMPARE_VOID, compare_judge(&guards[i], &run));
    }
}

TEST(a_broken_promise_counts_whatever_else_happened)
{
    static struct verify_run run;

    make_run(&run, AUDIT_CONSERVATION, AUDIT_FAIL);
    run.audit.checks[AUDIT_NO_UNDERSELL].verdict = AUDIT_VOID;
    (void)snprintf(run.trouble, sizeof run.trouble, "an instance ended by itself");
    assert_int_equal(COMPARE_BROKE, compare_judge(&guards[GUARD_SOUND], &run));
    assert_int_equal(COMPARE_VOID, compare_judge(&guards[GUARD_OVERSELLS], &run));
}

TEST(the_worst_round_is_the_verdict)
{
    static struct compare_row row = {.guard = &guards[GUARD_OVERSELLS]};
    static struct verify_run run;

    assert_int_equal(COMPARE_VOID, compare_row_verdict(&row)); /* nothing was run */
    make_run(&run, AUDIT_CONSERVATION, AUDIT_PASS);
    compare_row_add(&row, &run);
    assert_int_equal(COMPARE_HELD, compare_row_verdict(&row));
    make_run(&run, AUDIT_CONSERVATION, AUDIT_FAIL);
    compare_row_add(&row, &run);
    make_run(&run, AUDIT_CONSERVATION, AUDIT_PASS);
    compare_row_add(&row, &run);
    assert_int_equal(COMPARE_SHOWED, compare_row_verdict(&row));
    make_run(&run, AUDIT_NO_STUCK_LOCK, AUDIT_FAIL);
    compare_row_add(&row, &run);
    assert_int_equal(COMPARE_BROKE, compare_row_verdict(&row));
    assert_int_equal(4, row.count);
}

/* Of a fault that misses now and then, one round that it hit is enough; but a flaw has to show. */
TEST(under_its_fault_a_flaw_has_to_show)
{
    static const struct {
        int guard;
        fault_kind fault;
        compare_verdict rounds[2], verdict;
    } rows[] = {
        {GUARD_STUCK, FAULT_KILL, {COMPARE_HELD, COMPARE_HELD}, COMPARE_HID},
        {GUARD_STUCK, FAULT_KILL, {COMPARE_VOID, COMPARE_HELD}, COMPARE_HID},
        {GUARD_STUCK, FAULT_KILL, {COMPARE_VOID, COMPARE_VOID}, COMPARE_VOID},
        {GUARD_STUCK, FAULT_KILL, {COMPARE_SHOWED, COMPARE_VOID}, COMPARE_SHOWED},
        {GUARD_STUCK, FAULT_KILL, {COMPARE_SHOWED, COMPARE_BROKE}, COMPARE_BROKE},
        {GUARD_STUCK, FAULT_STOP, {COMPARE_HELD, COMPARE_HELD}, COMPARE_HELD}, /* not its own */
        {GUARD_SOUND, FAULT_KILL, {COMPARE_VOID, COMPARE_HELD}, COMPARE_HELD},
        {GUARD_SOUND, FAULT_KILL, {COMPARE_VOID, COMPARE_VOID}, COMPARE_VOID},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct compare_row row = {
            .guard = &guards[rows[i].guard], .fault = &fault_list[rows[i].fault], .count = 2};
        memcpy(row.verdicts, rows[i].rounds, sizeof rows[i].rounds);
        assert_int_equal(rows[i].verdict, compare_row_verdict(&row));
    }
}

TEST(promises_that_fell_are_named)
{
    static struct compare_row row = {.guard = &guards[GUARD_OVERSELLS]};
    static struct verify_run run;
    char words[COMPARE_WORDS_MAX];

    make_run(&run, AUDIT_ONE_PER_BUYER, AUDIT_FAIL);
    compare_row_add(&row, &run);
    make_run(&run, AUDIT_NO_PHANTOM, AUDIT_FAIL);
    compare_row_add(&row, &run);
    compare_row_fallen(&row, words);
    assert_string_equal("never oversold, one order per buyer", words);
}

static bool is_near(double value, double wanted)
{
    return value > wanted - 0.001 && value < wanted + 0.001;
}

TEST(rounds_are_summed_up_by_what_is_known)
{
    static struct compare_row row = {.guard = &guards[GUARD_SOUND]};
    static struct verify_run run;
    struct spread spread;

    for (int i = 0; i < 3; i++) {
        make_run(&run, AUDIT_CONSERVATION, AUDIT_PASS);
        run.summary.purchases_per_s = 100 * (3 - i);
        run.audit.sold = 10;
        run.audit.oversold = (size_t)i;
        run.audit.has_stuck_lock = i == 1;
        run.round_trips = i ? 5 * i : -1;
        if (i == 2)
            run.audit.fairness = (struct fairness){.orders = 5, .pairs = 10, .inversions = 4};
        compare_row_add(&row, &run);
    }

    spread = spread_of_repeats(&row.measures[COMPARE_PER_S]);
    assert_true(is_near(200, spread.median) && is_near(100, spread.least));
    assert_true(
        is_near(300, row.measures[COMPARE_PER_S].values[0])); /* in the order of the rounds */
    spread = spread_of_repeats(&row.measures[COMPARE_ROUND_TRIPS]);
    assert_true(is_near(0.5, spread.least) && is_near(1, spread.most));
    spread = spread_of_repeats(&row.measures[COMPARE_OVERSOLD]);
    assert_true(is_near(2, spread.most));
    spread = spread_of_repeats(&row.measures[COMPARE_STUCK_LOCKS]);
    assert_true(is_near(0, spread.median) && is_near(1, spread.most));
    spread = spread_of_repeats(&row.measures[COMPARE_INVERSIONS]);
    assert_true(is_near(0.4, spread.median));
    assert_true(
        isnan(spread_of_repeats(&row.measures[COMPARE_P99]).median)); /* nobody was accepted */
}
