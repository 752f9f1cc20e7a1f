/*
 * A primary with two replicas and three Sentinels, failing over under full purchase load, judged
 * from the outside. What the failover lost is counted, printed and named; whatever else the audit
 * knows must hold: nothing oversold, one order per buyer, honest answers.
 *
 * An argument is a pattern for the names of the runs to do.
 */
#include <signal.h>

#include "base/moment.h"
#include "test/support/lt_failover.h"
#include "test/support/testing.h"

enum { CUT_OFF = 300 /* purchases that no replica hears of */ };

TEST(a_killed_primary_loses_little_and_all_else_holds)
{
    static const struct lt_plan plan = {.name = "primary killed",
                                        .stock = 8000,
                                        .allow_lost = true,
                                        .rig = {.topology = {"sentinel"}}};
    struct lt_course *run = *state;
    struct lt_failover failover;

    lt_course_begin(run, &plan);
    lt_course_wait_for_buyers(run, 40);
    lt_failover_begin(run, &failover, "kill");
    lt_failover_await_sales(run, &failover);
    lt_failover_end(run, &failover, "");
}

/* Here a loss is wanted: that none is found would be the auditor's fault. */
TEST(a_primary_killed_alone_loses_what_it_told_nobody)
{
    static const struct lt_plan plan = {.name = "primary cut off, then killed",
                                        .stock = 8000,
                                        .allow_lost = true,
                                        .rig = {.topology = {"sentinel"}}};
    struct lt_course *run = *state;
    struct lt_failover failover;
    char more[80];

    lt_course_begin(run, &plan);
    lt_course_wait_for_buyers(run, 20);
    lt_failover_cut_off(run, &failover, &run->crowd.counts.sold, CUT_OFF);
    lt_failover_begin(run, &failover, "kill");
    lt_failover_await_sales(run, &failover);
    (void)snprintf(more, sizeof more, "; at least %u accepted by n1 alone", failover.cut_off);
    lt_failover_end(run, &failover, more);
    assert_true(run->audit.lost >= CUT_OFF);
}

/* It goes on where it stopped, as a primary, until Sentinel tells it otherwise. */
TEST(a_stale_primary_comes_back_and_all_else_holds)
{
    static const struct lt_plan plan = {.name = "primary stopped, then stale",
                                        .stock = 16000,
                                        .think_ms = 20,
                                        .allow_lost = true,
                                        .rig = {.topology = {"sentinel"}}};
    struct lt_course *run = *state;
    struct lt_failover failover;
    char more[80];

    lt_course_begin(run, &plan);
    lt_course_wait_for_buyers(run, 15);
    lt_failover_begin(run, &failover, "pause");
    lt_failover_await_sales(run, &failover);
    int64_t resumed_ms = moment_ms();
    (void)lt_course_tell(&run->rig, "resume n1");
    (void)lt_course_tell(&run->rig, "ready");
    (void)snprintf(more, sizeof more, "; n1 came back, and was a replica %lld ms later",
                   (long long)(moment_ms() - resumed_ms));
    lt_failover_end(run, &failover, more);
}

static int make_run(void **state)
{
    static struct lt_course run;

    *state = &run;
    return testing_ignore_sigpipe(state);
}

GROUP(make_run, NULL);
