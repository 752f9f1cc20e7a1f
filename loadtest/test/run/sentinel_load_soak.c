/*
 * A primary with two replicas and three Sentinels, failing over under full purchase load, judged
 * from the outside. What the failover lost is counted, printed and named; whatever else the audit
 * knows must hold: nothing oversold, one order per buyer, honest answers. With replicas waited for
 * (--sync-replicas) an order that too few confirmed is unknown, never accepted; with as many waited
 * for as there are, whichever takes over has every accepted order, and none is lost.
 *
 * An argument is a pattern for the names of the runs to do.
 */
#include <signal.h>

#include "base/clock.h"
#include "test/support/lt_fault_run.h"
#include "test/support/testing.h"

enum { SOLD_AFTER_MIN = 500 /* purchases after the heal */ };

/* n1 falls silent: when, and what goes before and comes after. */
struct failover {
    struct lt_plan plan;
    unsigned percent; /* of the buyers have come */
    /* First no replica gets anything from n1, until this counter has grown by so many. */
    enum { NOT_CUT_OFF, CUT_OFF_SOLD, CUT_OFF_UNKNOWN } cut_off;
    unsigned many;
    const char *verb;     /* what n1 gets: "kill", "pause" */
    const char *comeback; /* what it gets then, before or after others sell; or NULL */
    bool is_soon;         /* before */
    size_t lost_least, lost_most;
};

/* Replicas are cut off by a right: without these nobody replicates, and n1 hangs up on those who do. */
static unsigned cut_off(struct lt_fault_run *run, const struct failover *failover)
{
    static const char cut[] = "ACL SETUSER default -sync -psync -replconf\n"
                              "CLIENT KILL TYPE replica\n";
    const atomic_uint *counter =
        failover->cut_off == CUT_OFF_SOLD ? &run->buyers.counts.sold : &run->buyers.counts.unknown;

    if (failover->cut_off == NOT_CUT_OFF) return 0;
    assert_true(
        lt_sandbox_port_commands(&run->rig.sandbox, topology_port(&run->rig.topology, "n1"), cut));
    unsigned before = atomic_load(counter);
    assert_true(lt_fault_run_wait_for(counter, before + failover->many));
    return atomic_load(counter) - before;
}

static bool has_new_primary(void *arg)
{
    struct lt_fault_run *run = arg;

    return strcmp(lt_topology_command(&run->rig.topology, "primary"), "n1") != 0;
}

static void come_back(struct lt_fault_run *run, const char *verb)
{
    (void)lt_topology_command(&run->rig.topology, "%s n1", verb);
    (void)lt_topology_command(&run->rig.topology, "ready");
}

static void fail_over(const struct failover *failover)
{
    static struct lt_fault_run fault_run;
    struct lt_fault_run *run = &fault_run;
    const struct lt_buyers_counts *counts = &run->buyers.counts;
    char primary[8];

    lt_fault_run_begin(run, &failover->plan);
    lt_fault_run_wait_for_buyers(run, failover->percent);
    unsigned alone = cut_off(run, failover);
    lt_fault_run_note_fault(run);
    (void)lt_topology_command(&run->rig.topology, "%s n1", failover->verb);
    unsigned sold = counts->sold;
    int64_t gone_ms = clock_ms();
    assert_true(lt_eventually(has_new_primary, run, LT_PROGRESS_MS));
    (void)snprintf(primary, sizeof primary, "%s",
                   lt_topology_command(&run->rig.topology, "primary"));
    if (failover->comeback && failover->is_soon) come_back(run, failover->comeback);
    (void)lt_fault_run_wait_for(&counts->sold, sold + LT_THREADS + 1);
    int64_t outage_ms = clock_ms() - gone_ms;
    if (failover->comeback && !failover->is_soon) come_back(run, failover->comeback);
    lt_fault_run_add_note(
        run,
        "%s took over from n1 with %u sold, %lld ms until the next sale; %u accepted or "
        "unknown while n1 was alone",
        primary, sold, (long long)outage_ms, alone);
    lt_fault_run_finish(run);
    lt_fault_run_end(run, counts->sold >= sold + SOLD_AFTER_MIN &&
                              counts->unavailable + counts->unknown > 0);
    assert_in_range(run->audit.lost, failover->lost_least, failover->lost_most);
}

#define FAILOVER(test, title, units, ...)                                                          \
    TEST(test)                                                                                     \
    {                                                                                              \
        fail_over(&(struct failover){.plan = {.name = title,                                       \
                                              .stock = units,                                      \
                                              .allow_lost = true,                                  \
                                              .rig = {.topology = {"sentinel"}}},                  \
                                     __VA_ARGS__});                                                \
    }                                                                                              \
    _Static_assert(true, "")

FAILOVER(a_killed_primary_loses_little_and_all_else_holds, "primary killed", 8000, .percent = 40,
         .verb = "kill", .lost_most = SIZE_MAX);

/* Here a loss is wanted: that none is found would be the auditor's fault. */
FAILOVER(a_primary_killed_alone_loses_what_it_told_nobody, "primary cut off, then killed", 8000,
         .percent = 20, .cut_off = CUT_OFF_SOLD, .many = 300, .verb = "kill", .lost_least = 300,
         .lost_most = SIZE_MAX);

/* It goes on where it stopped, as a primary, until Sentinel tells it otherwise. */
FAILOVER(a_stale_primary_comes_back_and_all_else_holds, "primary stopped, then stale", 16000,
         .plan.think_ms = 20, .percent = 15, .verb = "pause", .comeback = "resume",
         .lost_most = SIZE_MAX);

/* Sentinel prefers the replica that has most, and does not promise to: counted, hardly ever any. */
FAILOVER(one_replica_waited_for_loses_hardly_any_order,
         "primary killed, 1 of 2 replicas waited for", 8000,
         .plan.rig.seckilld = {"--sync-replicas", "1"}, .percent = 40, .verb = "kill",
         .lost_most = SIZE_MAX);

/* Nobody confirms while the replicas are cut off, nor before the killed one is back as a replica. */
FAILOVER(all_replicas_waited_for_lose_no_order,
         "primary cut off, then killed, 2 of 2 replicas waited for", 8000,
         .plan.rig.seckilld = {"--sync-replicas", "2"}, .percent = 40, .cut_off = CUT_OFF_UNKNOWN,
         .many = 20, .verb = "kill", .comeback = "restart", .is_soon = true);

GROUP(testing_ignore_sigpipe, NULL);
