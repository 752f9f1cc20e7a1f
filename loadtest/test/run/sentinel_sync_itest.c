/*
 * The same failovers with replicas waited for (--sync-replicas): an order that too few confirmed is
 * unknown, never accepted. With as many waited for as there are, whichever takes over has every
 * accepted order: none is lost, even when the primary had been cut off before it died.
 *
 * An argument is a pattern for the names of the runs to do.
 */
#include <signal.h>

#include "test/support/lt_failover.h"
#include "test/support/testing.h"

enum { UNKNOWN = 20 /* answers while nobody confirms */ };

/* Sentinel prefers the replica that has most, and does not promise to: counted, hardly ever any. */
TEST(one_replica_waited_for_loses_hardly_any_order)
{
    static const struct lt_plan plan = {
        .name = "primary killed, 1 of 2 replicas waited for",
        .stock = 8000,
        .allow_lost = true,
        .rig = {.topology = {"sentinel"}, .seckilld = {"--sync-replicas", "1"}}};
    struct lt_course *run = *state;
    struct lt_failover failover;

    lt_course_begin(run, &plan);
    lt_course_wait_for_buyers(run, 40);
    lt_failover_begin(run, &failover, "kill");
    lt_failover_await_sales(run, &failover);
    lt_failover_end(run, &failover, "");
}

/* Nobody confirms while the replicas are cut off, nor before the killed one is back as a replica. */
TEST(all_replicas_waited_for_lose_no_order)
{
    static const struct lt_plan plan = {
        .name = "primary cut off, then killed, 2 of 2 replicas waited for",
        .stock = 8000,
        .allow_lost = true,
        .rig = {.topology = {"sentinel"}, .seckilld = {"--sync-replicas", "2"}}};
    struct lt_course *run = *state;
    struct lt_failover failover;
    char more[80];

    lt_course_begin(run, &plan);
    lt_course_wait_for_buyers(run, 40);
    lt_failover_cut_off(run, &failover, &run->crowd.counts.unknown, UNKNOWN);
    lt_failover_begin(run, &failover, "kill");
    (void)lt_course_tell(&run->rig, "restart n1");
    (void)lt_course_tell(&run->rig, "ready");
    lt_failover_await_sales(run, &failover);
    (void)snprintf(more, sizeof more, "; %u answers unknown when n1 was cut off", failover.cut_off);
    lt_failover_end(run, &failover, more);
    assert_int_equal(0, run->audit.lost);
}

static int make_run(void **state)
{
    static struct lt_course run;

    *state = &run;
    return testing_ignore_sigpipe(state);
}

GROUP(make_run, NULL);
