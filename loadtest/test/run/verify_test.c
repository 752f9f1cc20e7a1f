/*
 * How much of the load may be missing until a run is void; no run, no service.
 */
#include "run/verify.h"
#include "test/support/testing.h"

static void make_run(struct verify_run *run)
{
    *run = (struct verify_run){.buyers = 2000,
                               .load = {.asked = 1000, .established = 1000},
                               .summary = {.buyers = 2000, .requests = 3000}};
}

static const char *shortage(struct verify_run *run)
{
    run->shortage[0] = '\0';
    verify_load(run);
    assert_int_equal(verify_verdict(run), run->shortage[0] ? AUDIT_VOID : AUDIT_PASS);
    return run->shortage;
}

TEST(one_of_a_hundred_may_be_missing_of_each)
{
    static struct verify_run run;

    make_run(&run);
    assert_string_equal("", shortage(&run));
    run.load.established = 990;
    assert_string_equal("", shortage(&run));
    run.load.established = 989;
    assert_string_equal("989 of 1000 connections were established", shortage(&run));
    make_run(&run);
    run.summary.unanswered = 28;
    run.load.timeouts = 1;
    run.load.connect_errors = 1;
    assert_string_equal("", shortage(&run));
    run.load.timeouts = 2;
    assert_string_equal("31 of 3000 requests got no answer", shortage(&run));
    make_run(&run);
    run.summary.buyers = 1980;
    assert_string_equal("", shortage(&run));
    run.summary.buyers = 1979;
    assert_string_equal("1979 of 2000 buyers came", shortage(&run));
}

TEST(a_wrk_that_said_nothing_established_nothing)
{
    static struct verify_run run;

    make_run(&run);
    run.load.established = 0;
    assert_string_equal("0 of 1000 connections were established", shortage(&run));
}

TEST(a_broken_promise_is_broken_with_little_load_too)
{
    static struct verify_run run;

    make_run(&run);
    run.load.established = 1;
    verify_load(&run);
    run.audit.verdict = AUDIT_FAIL;
    assert_int_equal(AUDIT_FAIL, verify_verdict(&run));
}
