/*
 * The service under faults, at full load, judged from the outside: two instances of seckilld on a
 * real Redis, a crowd that asks until it is told for sure, one kind of fault per run, and afterwards
 * the whole audit. Every unit is sold, once, whatever happened on the way.
 *
 * A run in which the fault did nothing proves nothing: each states its activity (lt_fault_run.h).
 *
 * An argument is a pattern for the names of the runs to do.
 */
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "test/support/lt_fault_run.h"
#include "test/support/testing.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

enum {
    LEASE_MS = 300,
    STOP_MS = 900,      /* longer than a lease */
    DEADLINE_MS = 2000, /* the service's own limit for a purchase */
};

static int make_run(void **state)
{
    static struct lt_fault_run run;

    *state = &run;
    return testing_ignore_sigpipe(state);
}

GROUP(make_run, NULL);

/* ---- lost replies --------------------------------------------------------------------------------------- */

static unsigned count_eaten(const struct lt_fault_run *run)
{
    return lt_rig_count_effects(&run->rig, "\"eat-reply\"");
}

static bool has_eaten_a_thousand(void *arg)
{
    return count_eaten(arg) >= 1000;
}

/* Bursts on both links: of a sale's reply alone, and of those to the clean-up and to the question
 * what became of it too. Then of everything, for longer than a purchase may take. */
TEST(a_thousand_eaten_replies_lose_nothing_and_double_nothing, struct lt_fault_run *run)
{
    static const struct lt_plan plan = {.name = "eaten replies",
                                        .stock = 24000,
                                        .think_ms = 20,
                                        .rig = {.has_proxy = true, .seckilld = {"--batch", "8"}}};
    static const char *const verbs[] = {"i1:eat-reply 1", "i2:eat-reply 2", "i1:eat-reply 3",
                                        "i2:eat-reply 1", "i1:eat-reply 2", "i2:eat-reply 5",
                                        "i1:eat-reply 1", "i2:eat-reply 3"};

    lt_fault_run_begin(run, &plan);
    lt_fault_run_wait_for_buyers(run, 5);
    while (lt_fault_run_is_on_sale(run) && (run->faults % 10 > 0 || count_eaten(run) < 820)) {
        lt_fault_run_note_fault(run);
        (void)lt_rig_proxy(&run->rig, verbs[run->faults % COUNT_OF(verbs)]);
        clock_sleep_ms(11);
    }
    unsigned in_bursts = count_eaten(run);
    lt_fault_run_note_fault(run);
    (void)lt_rig_proxy(&run->rig, "eat-reply 100000");
    clock_sleep_ms(DEADLINE_MS + 300);
    (void)lt_eventually(has_eaten_a_thousand, run, 5000);
    unsigned eaten = count_eaten(run);
    bool is_in_time = lt_fault_run_is_on_sale(run);
    (void)lt_rig_proxy(&run->rig, "pass");
    lt_fault_run_add_note(run, "%u replies eaten, %u of them in bursts", eaten, in_bursts);
    lt_fault_run_end(run, eaten >= 1000 && is_in_time && run->buyers.counts.unknown > 0);
}

/* ---- Redis dies ------------------------------------------------------------------------------------------ */

TEST(redis_killed_at_full_load_comes_back_with_every_order, struct lt_fault_run *run)
{
    static const struct lt_plan plan = {.name = "kill -9 of Redis", .stock = 8000};

    lt_fault_run_begin(run, &plan);
    for (unsigned percent = 10; percent <= 85; percent += 15) {
        lt_fault_run_fault_at(run, percent);
        lt_rig_kill_redis(&run->rig);
        assert_true(lt_rig_start_redis(&run->rig));
    }
    lt_fault_run_add_note(run, "appendfsync always");
    lt_fault_run_end(run, run->buyers.counts.unavailable + run->buyers.counts.unknown > 0);
}

/* ---- processes that sleep -------------------------------------------------------------------------------- */

/* Each stop is longer than the lease; the two instances take turns. */
static void stop_and_go_on(struct lt_fault_run *run)
{
    unsigned elsewhere = 0;
    unsigned caught = UINT32_MAX;

    for (unsigned i = 0; i < 3; i++) {
        struct process *instance = &run->rig.instances[i % 2];

        lt_fault_run_fault_at(run, 10 + 20 * i);
        process_signal(instance, SIGSTOP);
        unsigned before = run->buyers.counts.answers;
        clock_sleep_ms(STOP_MS);
        if (run->buyers.counts.in_flight < caught) caught = run->buyers.counts.in_flight;
        elsewhere += run->buyers.counts.answers - before;
        process_signal(instance, SIGCONT);
    }
    lt_fault_run_add_note(
        run, "each %d ms, lease %d ms; at least %u requests caught, %u answers meanwhile", STOP_MS,
        LEASE_MS, caught, elsewhere);
    if (caught == 0 || elsewhere == 0) run->faults = 0; /* void */
}

TEST(an_instance_stopped_past_its_lease_does_no_harm, struct lt_fault_run *run)
{
    static const struct lt_plan plan = {.name = "SIGSTOP of an instance",
                                        .stock = 6000,
                                        .think_ms = 20,
                                        .rig = {.seckilld = {"--lease-ms", "300"}}};

    lt_fault_run_begin(run, &plan);
    stop_and_go_on(run);
    lt_fault_run_end(run, run->buyers.counts.slowest_ms >= 2 * LEASE_MS);
}

/* This guard holds its lock over three round trips, so a stop does end leases: before the winner
 * hears that he has won, or while he holds. */
TEST(a_holder_stopped_past_its_lease_is_refused, struct lt_fault_run *run)
{
    static const struct lt_plan plan = {.name = "SIGSTOP of a holder",
                                        .guard = "mutex-watchdog",
                                        .stock = 10000,
                                        .think_ms = 10,
                                        .rig = {.seckilld = {"--lease-ms", "300", "--batch", "4"}}};
    long lost = 0;

    lt_fault_run_begin(run, &plan);
    lt_fault_run_wait_for_buyers(run, 5);
    while (lt_fault_run_is_on_sale(run) && lost < 2) {
        struct process *instance = &run->rig.instances[run->faults % 2];

        lt_fault_run_note_fault(run);
        process_signal(instance, SIGSTOP);
        clock_sleep_ms(LEASE_MS + 100);
        process_signal(instance, SIGCONT);
        clock_sleep_ms(50);
        lost = lt_rig_metric(&run->rig, "seckill_lock_acquire_total{result=\"lost\"} ") +
               lt_rig_metric(&run->rig, "seckill_lock_release_total{result=\"not-owner\"} ");
    }
    lt_fault_run_add_note(run, "lease %d ms; %ld leases lost", LEASE_MS, lost);
    lt_fault_run_end(run, lost > 0);
}

/* Whoever hears nothing from the dead instance asks the other one, with the same key. */
TEST(an_instance_killed_at_full_load_leaves_no_doubt, struct lt_fault_run *run)
{
    static const struct lt_plan plan = {.name = "kill -9 of an instance", .stock = 6000};

    lt_fault_run_begin(run, &plan);
    lt_fault_run_fault_at(run, 30);
    process_signal(&run->rig.instances[0], SIGKILL);
    (void)process_wait(&run->rig.instances[0], LT_FINISH_MS);
    lt_fault_run_add_note(run, "%u replies heard when it was gone", run->buyers.counts.answers);
    lt_fault_run_end(run, run->buyers.counts.unanswered > 0);
}

/* ---- links ----------------------------------------------------------------------------------------------- */

/* Slow enough for the lease to end between the lock's SET and the script that arrives behind it. */
TEST(leases_that_end_in_the_middle_of_a_pipeline_sell_nothing, struct lt_fault_run *run)
{
    static const struct lt_plan plan = {
        .name = "leases lost on a slow link",
        .stock = 8000,
        .think_ms = 20,
        .rig = {.has_proxy = true, .seckilld = {"--lease-ms", "100"}}};
    static const char *const verbs[] = {"i1:trickle 6000", "i2:trickle 6000", "i1:trickle 3000"};

    lt_fault_run_begin(run, &plan);
    for (unsigned i = 0; i < COUNT_OF(verbs); i++) {
        lt_fault_run_fault_at(run, 10 + 20 * i);
        assert_true(lt_rig_proxy(&run->rig, verbs[i]));
        clock_sleep_ms(1200);
        assert_true(lt_rig_proxy(&run->rig, "pass"));
    }
    long lost = lt_rig_info(&run->rig, "errorstats", "errorstat_NOTOWNER:count=");
    lt_fault_run_add_note(run, "%ld leases of 100 ms lost", lost);
    lt_fault_run_end(run, lost > 0);
}

TEST(a_stalled_link_costs_its_own_buyers_time_and_nobody_an_order, struct lt_fault_run *run)
{
    static const struct lt_plan plan = {
        .name = "stalled links", .stock = 12000, .think_ms = 20, .rig = {.has_proxy = true}};
    static const struct {
        const char *verb;
        int64_t span_ms; /* a round trip may take 1,000 ms, a purchase 2,000 ms */
    } rows[] = {
        {"i1:stall", 700}, {"i2:oneway c2s", 1300}, {"i1:oneway s2c", 1300}, {"i2:stall", 2600}};
    unsigned elsewhere = 0;

    lt_fault_run_begin(run, &plan);
    for (unsigned i = 0; i < COUNT_OF(rows); i++) {
        lt_fault_run_fault_at(run, 5 + 15 * i);
        assert_true(lt_rig_proxy(&run->rig, rows[i].verb));
        unsigned before = run->buyers.counts.answers;
        clock_sleep_ms(rows[i].span_ms);
        elsewhere += run->buyers.counts.answers - before;
        assert_true(lt_rig_proxy(&run->rig, "pass"));
    }
    lt_fault_run_add_note(run, "%u answers meanwhile; %ld purchases came late and were void",
                          elsewhere, lt_rig_info(&run->rig, "errorstats", "errorstat_VOID:count="));
    lt_fault_run_end(run, elsewhere > 0 && run->buyers.counts.slowest_ms >= 1000 &&
                              run->buyers.counts.unknown + run->buyers.counts.unavailable > 0);
}

/* ---- Redis in trouble ------------------------------------------------------------------------------------ */

TEST(scripts_flushed_under_load_are_sent_again, struct lt_fault_run *run)
{
    static const struct lt_plan plan = {.name = "SCRIPT FLUSH", .stock = 8000};

    lt_fault_run_begin(run, &plan);
    lt_fault_run_wait_for_buyers(run, 5);
    for (unsigned i = 0; i < 60 && atomic_load(&run->buyers.next_buyer) < run->plan->stock * 9 / 10;
         i++) {
        lt_fault_run_note_fault(run);
        assert_true(lt_sandbox_redis_commands(&run->rig.sandbox, "SCRIPT FLUSH\n"));
        clock_sleep_ms(10);
    }
    long forgotten = lt_rig_info(&run->rig, "errorstats", "errorstat_NOSCRIPT:count=");
    lt_fault_run_add_note(run, "%ld times a script was unknown", forgotten);
    lt_fault_run_end(run, forgotten > 0 && run->faults >= 5);
}

TEST(clients_paused_past_the_lease_lose_nothing, struct lt_fault_run *run)
{
    static const struct lt_plan plan = {.name = "CLIENT PAUSE",
                                        .stock = 6000,
                                        .think_ms = 20,
                                        .rig = {.seckilld = {"--lease-ms", "300"}}};
    static const char *const pauses[] = {"CLIENT PAUSE 1300 ALL\n", "CLIENT PAUSE 700 WRITE\n",
                                         "CLIENT PAUSE 1300 WRITE\n"};

    lt_fault_run_begin(run, &plan);
    for (unsigned i = 0; i < 3; i++) {
        lt_fault_run_fault_at(run, 10 + 20 * i);
        assert_true(lt_sandbox_redis_commands(&run->rig.sandbox, pauses[i]));
    }
    lt_fault_run_wait_for_buyers(run, 80);
    lt_fault_run_add_note(run, "1300 ms all, 700 and 1300 ms writes, lease %d ms", LEASE_MS);
    lt_fault_run_end(run, run->buyers.counts.slowest_ms >= 600);
}

TEST(a_redis_out_of_memory_refuses_and_goes_on_afterwards, struct lt_fault_run *run)
{
    static const struct lt_plan plan = {.name = "out of memory", .stock = 6000};

    lt_fault_run_begin(run, &plan);
    for (unsigned i = 0; i < 3; i++) {
        lt_fault_run_fault_at(run, 10 + 20 * i);
        unsigned before = run->buyers.counts.unavailable;
        assert_true(lt_sandbox_redis_commands(&run->rig.sandbox, "CONFIG SET maxmemory 1\n"));
        (void)lt_fault_run_wait_for(&run->buyers.counts.unavailable, before + 200);
        assert_true(lt_sandbox_redis_commands(&run->rig.sandbox, "CONFIG SET maxmemory 0\n"));
    }
    long refused = lt_rig_info(&run->rig, "errorstats", "errorstat_OOM:count=");
    long evicted = lt_rig_info(&run->rig, "stats", "evicted_keys:");
    lt_fault_run_add_note(run, "%ld commands refused for memory, %ld keys evicted", refused,
                          evicted);
    lt_fault_run_end(run, refused > 0 && evicted == 0);
}

/* ---- the disk is full ------------------------------------------------------------------------------------ */

static const char *disk_name(const struct lt_fault_run *run)
{
    return run->rig.disk == LT_DISK_TMPFS ? "a full tmpfs"
                                          : "a file size limit (no right to mount)";
}

static bool redis_is_gone(void *arg)
{
    struct lt_fault_run *run = arg;

    return !process_is_running(&run->rig.sandbox.redis);
}

/* With `always` Redis gives up rather than answer without having written: it ends. */
TEST(a_full_disk_under_always_ends_redis_and_loses_no_order, struct lt_fault_run *run)
{
    static const struct lt_plan plan = {
        .name = "disk full, always", .stock = 8000, .rig = {.has_small_disk = true}};
    char ending[40];

    lt_fault_run_begin(run, &plan);
    lt_fault_run_fault_at(run, 5);
    bool is_gone = lt_eventually(redis_is_gone, run, LT_PROGRESS_MS);
    process_ending(&run->rig.sandbox.redis, ending, sizeof ending);
    unsigned by_then = run->buyers.counts.sold;
    bool is_in_time = lt_fault_run_is_on_sale(run);
    assert_true(lt_rig_start_redis(&run->rig));
    lt_fault_run_add_note(run, "%s; redis-server ended (%s) with %u sold", disk_name(run), ending,
                          by_then);
    lt_fault_run_end(run, is_gone && is_in_time);
}

/* With `everysec` it goes on, and refuses to write until there is room. */
TEST(a_full_disk_under_everysec_refuses_until_there_is_room, struct lt_fault_run *run)
{
    static const struct lt_plan plan = {.name = "disk full, everysec",
                                        .stock = 8000,
                                        .rig = {.has_small_disk = true, .fsync = "everysec"}};

    lt_fault_run_begin(run, &plan);
    lt_fault_run_fault_at(run, 5);
    bool is_refused = lt_fault_run_wait_for(&run->buyers.counts.unavailable, 500);
    unsigned by_then = run->buyers.counts.sold;
    bool is_in_time = lt_fault_run_is_on_sale(run);
    assert_true(lt_rig_free_disk(&run->rig));
    long refused = lt_rig_info(&run->rig, "errorstats", "errorstat_MISCONF:count=");
    lt_fault_run_add_note(run, "%s; %ld commands refused, with %u sold", disk_name(run), refused,
                          by_then);
    lt_fault_run_end(run, is_refused && refused > 0 && is_in_time);
}
