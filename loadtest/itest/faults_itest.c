/*
 * The service under faults, at full load, judged from the outside: two instances of seckilld on a
 * real Redis, a crowd that asks until it is told for sure, one kind of fault per run, and afterwards
 * the whole audit. Every unit is sold, once, whatever happened on the way.
 *
 * A run in which the fault did nothing proves nothing: each states its activity (rate before the
 * fault, operations in flight at it, what the fault did), and without it the run is void, which is a
 * failure. Faults come by progress, not by the clock: when so many buyers have come.
 *
 * An argument is a pattern for the names of the runs to do.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "lt_rig.h"
#include "moment.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

enum {
    THREADS = 48,
    RATE_MIN = 200, /* answers per second before the first fault */
    FINISH_MS = 40000,
    PROGRESS_MS = 20000,
    LEASE_MS = 300,
    STOP_MS = 900,        /* longer than a lease */
    DEADLINE_MS = 2000,   /* the service's own limit for a purchase ... */
    ROUND_TRIP_MS = 1000, /* ... which may be over by one of these */
    SLACK_MS = 1500,      /* for a busy machine */
};

/* One run on its way. */
struct run {
    struct lt_rig rig;
    struct lt_crowd crowd;
    const char *name;
    long stock;
    double rate;        /* before the first fault */
    unsigned in_flight; /* at the faults, the fewest */
    unsigned faults;
    char more[256]; /* activity of this kind of fault */
};

/* ---- the course of a run ------------------------------------------------------------------------------ */

struct plan {
    const char *name;
    const char *guard; /* NULL: mutex */
    long stock;
    int64_t think_ms; /* of a buyer; 0: full load */
    struct lt_rig_options rig;
};

/* A service, a sale, and a crowd half as large again that wants its units. */
static void begin(struct run *run, const struct plan *plan)
{
    *run = (struct run){.name = plan->name, .stock = plan->stock, .in_flight = UINT32_MAX};
    if (!lt_rig_open(&run->rig, &plan->rig) ||
        !lt_rig_create_sale(&run->rig, "s", plan->guard ? plan->guard : "mutex", plan->stock)) {
        print_message("%s: %s\n", plan->name, run->rig.failure.text);
        lt_rig_close(&run->rig);
        fail();
    }
    assert_true(lt_crowd_start(
        &run->crowd, &(struct lt_crowd_options){.service = &run->rig.service,
                                                .place = &run->rig.place,
                                                .sale = "s",
                                                .threads = THREADS,
                                                .buyers = (unsigned)(plan->stock + plan->stock / 2),
                                                .think_ms = plan->think_ms}));
}

/* Whether there is still something to lose: fewer buyers have come than there are units. */
static bool is_on_sale(const struct run *run)
{
    return atomic_load(&run->crowd.next_buyer) < run->stock;
}

struct progress {
    const atomic_uint *counter;
    unsigned wanted;
};

static bool has_come(void *arg)
{
    const struct progress *progress = arg;

    return atomic_load(progress->counter) >= progress->wanted;
}

/* Wait until a counter has got so far. */
static bool wait_for(const atomic_uint *counter, unsigned wanted)
{
    return lt_eventually(has_come, &(struct progress){counter, wanted}, PROGRESS_MS);
}

/* Until so many buyers have come, in per cent of the stock. */
static void wait_for_buyers(struct run *run, unsigned percent)
{
    (void)wait_for(&run->crowd.next_buyer, (unsigned)(run->stock * percent / 100));
}

static bool is_busy(void *arg)
{
    const struct run *run = arg;

    return atomic_load(&run->crowd.counts.in_flight) > 0 || !is_on_sale(run);
}

/* Right before a fault: what is going on. */
static void note_fault(struct run *run)
{
    if (run->faults++ == 0) run->rate = lt_crowd_rate(&run->crowd);
    (void)lt_eventually(is_busy, run, PROGRESS_MS);
    unsigned in_flight = atomic_load(&run->crowd.counts.in_flight);
    if (!is_on_sale(run)) in_flight = 0; /* too late */
    if (in_flight < run->in_flight) run->in_flight = in_flight;
}

/* Everybody is told for sure, the audit passes, the line is printed; void without activity. */
static void end(struct run *run, bool was_active)
{
    const struct lt_crowd_counts *counts = &run->crowd.counts;
    struct audit_result audit = {0};
    struct failure failure = {.text = ""};
    bool is_finished = lt_crowd_finish(&run->crowd, FINISH_MS);
    bool is_judged = lt_crowd_judge(&run->crowd, &audit, &failure);

    print_message("# %s: %.0f answers/s before, %u faults, at least %u in flight; %s; %u of %ld "
                  "sold, %u replayed, %u refused, %u unavailable, %u unknown, %u unanswered; %zu "
                  "purchases unknown in the end, %u promises broken; slowest answer %u ms; %.1f s; "
                  "audit %s\n",
                  run->name, run->rate, run->faults, run->in_flight, run->more, counts->sold,
                  run->stock, counts->replayed, counts->refused, counts->unavailable,
                  counts->unknown, counts->unanswered, audit.unknown, counts->broken,
                  counts->slowest_ms, (double)(moment_ms() - run->crowd.began_ms) / 1000,
                  is_judged ? audit_verdict_name(audit.verdict) : failure.text);
    for (size_t i = 0; is_judged && i < AUDIT_CHECK_COUNT; i++) {
        if (audit.checks[i].verdict == AUDIT_PASS) continue;
        print_message("# %s %s: %s\n", audit.checks[i].name,
                      audit_verdict_name(audit.checks[i].verdict), audit.checks[i].words);
    }
    lt_rig_close(&run->rig);
    assert_true(is_finished);
    assert_true(is_judged);
    assert_int_equal(audit.verdict, AUDIT_PASS);
    assert_int_equal(counts->broken, 0);
    assert_in_range(counts->slowest_ms, 0, DEADLINE_MS + ROUND_TRIP_MS + SLACK_MS);
    bool is_void = run->faults == 0 || run->rate < RATE_MIN || run->in_flight == 0 || !was_active;
    if (is_void) fail_msg("%s: void, for want of activity", run->name);
}

__attribute__((format(printf, 2, 3))) static void say(struct run *run, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(run->more, sizeof run->more, format, args);
    va_end(args);
}

/* ---- lost replies --------------------------------------------------------------------------------------- */

static unsigned count_eaten(const struct run *run)
{
    return lt_rig_count_effects(&run->rig, "\"eat-reply\"");
}

static bool has_eaten_a_thousand(void *arg)
{
    return count_eaten(arg) >= 1000;
}

/* Bursts on both links: of a sale's reply alone, and of those to the clean-up and to the question
 * what became of it too. Then of everything, for longer than a purchase may take. */
static void a_thousand_eaten_replies_lose_nothing_and_double_nothing(void **state)
{
    static const struct plan plan = {.name = "eaten replies",
                                     .stock = 24000,
                                     .think_ms = 20,
                                     .rig = {.has_proxy = true, .seckilld = {"--batch", "8"}}};
    static const char *const verbs[] = {"i1:eat-reply 1", "i2:eat-reply 2", "i1:eat-reply 3",
                                        "i2:eat-reply 1", "i1:eat-reply 2", "i2:eat-reply 5",
                                        "i1:eat-reply 1", "i2:eat-reply 3"};
    struct run *run = *state;

    begin(run, &plan);
    wait_for_buyers(run, 5);
    while (is_on_sale(run) && (run->faults % 10 > 0 || count_eaten(run) < 820)) {
        note_fault(run);
        (void)lt_rig_proxy(&run->rig, verbs[run->faults % COUNT_OF(verbs)]);
        moment_sleep_ms(11);
    }
    unsigned in_bursts = count_eaten(run);
    note_fault(run);
    (void)lt_rig_proxy(&run->rig, "eat-reply 100000");
    moment_sleep_ms(DEADLINE_MS + 300);
    (void)lt_eventually(has_eaten_a_thousand, run, 5000);
    unsigned eaten = count_eaten(run);
    bool is_in_time = is_on_sale(run);
    (void)lt_rig_proxy(&run->rig, "pass");
    say(run, "%u replies eaten, %u of them in bursts", eaten, in_bursts);
    end(run, eaten >= 1000 && is_in_time && run->crowd.counts.unknown > 0);
}

/* ---- Redis dies ------------------------------------------------------------------------------------------ */

static void redis_killed_at_full_load_comes_back_with_every_order(void **state)
{
    static const struct plan plan = {.name = "kill -9 of Redis", .stock = 8000};
    struct run *run = *state;

    begin(run, &plan);
    for (unsigned percent = 10; percent <= 85; percent += 15) {
        wait_for_buyers(run, percent);
        note_fault(run);
        lt_rig_kill_redis(&run->rig);
        assert_true(lt_rig_start_redis(&run->rig));
    }
    say(run, "appendfsync always");
    end(run, run->crowd.counts.unavailable + run->crowd.counts.unknown > 0);
}

/* ---- processes that sleep -------------------------------------------------------------------------------- */

/* Each stop is longer than the lease; the two instances take turns. */
static void stop_and_go_on(struct run *run)
{
    unsigned elsewhere = 0;
    unsigned caught = UINT32_MAX;

    for (unsigned i = 0; i < 3; i++) {
        struct process *instance = &run->rig.instances[i % 2];

        wait_for_buyers(run, 10 + 20 * i);
        note_fault(run);
        process_signal(instance, SIGSTOP);
        unsigned before = run->crowd.counts.answers;
        moment_sleep_ms(STOP_MS);
        if (run->crowd.counts.in_flight < caught) caught = run->crowd.counts.in_flight;
        elsewhere += run->crowd.counts.answers - before;
        process_signal(instance, SIGCONT);
    }
    say(run, "each %d ms, lease %d ms; at least %u requests caught, %u answers meanwhile", STOP_MS,
        LEASE_MS, caught, elsewhere);
    if (caught == 0 || elsewhere == 0) run->faults = 0; /* void */
}

static void an_instance_stopped_past_its_lease_does_no_harm(void **state)
{
    static const struct plan plan = {.name = "SIGSTOP of an instance",
                                     .stock = 6000,
                                     .think_ms = 20,
                                     .rig = {.seckilld = {"--lease-ms", "300"}}};
    struct run *run = *state;

    begin(run, &plan);
    stop_and_go_on(run);
    end(run, run->crowd.counts.slowest_ms >= 2 * LEASE_MS);
}

/* This guard holds its lock over three round trips, so a stop does end leases: before the winner
 * hears that he has won, or while he holds. */
static void a_holder_stopped_past_its_lease_is_refused(void **state)
{
    static const struct plan plan = {.name = "SIGSTOP of a holder",
                                     .guard = "mutex-watchdog",
                                     .stock = 10000,
                                     .think_ms = 10,
                                     .rig = {.seckilld = {"--lease-ms", "300", "--batch", "4"}}};
    struct run *run = *state;
    long lost = 0;

    begin(run, &plan);
    wait_for_buyers(run, 5);
    while (is_on_sale(run) && lost < 2) {
        struct process *instance = &run->rig.instances[run->faults % 2];

        note_fault(run);
        process_signal(instance, SIGSTOP);
        moment_sleep_ms(LEASE_MS + 100);
        process_signal(instance, SIGCONT);
        moment_sleep_ms(50);
        lost = lt_rig_metric(&run->rig, "seckill_lock_acquire_total{result=\"lost\"} ") +
               lt_rig_metric(&run->rig, "seckill_lock_release_total{result=\"not-owner\"} ");
    }
    say(run, "lease %d ms; %ld leases lost", LEASE_MS, lost);
    end(run, lost > 0);
}

/* Whoever hears nothing from the dead instance asks the other one, with the same key. */
static void an_instance_killed_at_full_load_leaves_no_doubt(void **state)
{
    static const struct plan plan = {.name = "kill -9 of an instance", .stock = 6000};
    struct run *run = *state;

    begin(run, &plan);
    wait_for_buyers(run, 30);
    note_fault(run);
    process_signal(&run->rig.instances[0], SIGKILL);
    (void)process_wait(&run->rig.instances[0], FINISH_MS);
    say(run, "%u replies heard when it was gone", run->crowd.counts.answers);
    end(run, run->crowd.counts.unanswered > 0);
}

/* ---- links ----------------------------------------------------------------------------------------------- */

/* Slow enough for the lease to end between the lock's SET and the script that arrives behind it. */
static void leases_that_end_in_the_middle_of_a_pipeline_sell_nothing(void **state)
{
    static const struct plan plan = {.name = "leases lost on a slow link",
                                     .stock = 8000,
                                     .think_ms = 20,
                                     .rig = {.has_proxy = true, .seckilld = {"--lease-ms", "100"}}};
    static const char *const verbs[] = {"i1:trickle 6000", "i2:trickle 6000", "i1:trickle 3000"};
    struct run *run = *state;

    begin(run, &plan);
    for (unsigned i = 0; i < COUNT_OF(verbs); i++) {
        wait_for_buyers(run, 10 + 20 * i);
        note_fault(run);
        assert_true(lt_rig_proxy(&run->rig, verbs[i]));
        moment_sleep_ms(1200);
        assert_true(lt_rig_proxy(&run->rig, "pass"));
    }
    long lost = lt_rig_info(&run->rig, "errorstats", "errorstat_NOTOWNER:count=");
    say(run, "%ld leases of 100 ms lost", lost);
    end(run, lost > 0);
}

static void cut_links(struct run *run, const struct plan *plan)
{
    begin(run, plan);
    long before = lt_rig_info(&run->rig, "stats", "total_connections_received:");
    wait_for_buyers(run, 5);
    for (unsigned i = 0; i < 60 && atomic_load(&run->crowd.next_buyer) < run->stock * 9 / 10; i++) {
        note_fault(run);
        assert_true(lt_rig_proxy(&run->rig, i % 2 ? "i1:cut" : "i2:cut"));
        moment_sleep_ms(20);
    }
    say(run, "%ld new connections to Redis",
        lt_rig_info(&run->rig, "stats", "total_connections_received:") - before);
    end(run, run->faults >= 5);
}

static void links_cut_again_and_again_lose_nothing(void **state)
{
    static const struct plan plan = {
        .name = "cut links", .stock = 10000, .rig = {.has_proxy = true}};

    cut_links(*state, &plan);
}

static void links_cut_under_optimism_lose_nothing(void **state)
{
    static const struct plan plan = {
        .name = "cut links, watch", .guard = "watch", .stock = 5000, .rig = {.has_proxy = true}};

    cut_links(*state, &plan);
}

static void a_stalled_link_costs_its_own_buyers_time_and_nobody_an_order(void **state)
{
    static const struct plan plan = {
        .name = "stalled links", .stock = 12000, .think_ms = 20, .rig = {.has_proxy = true}};
    static const struct {
        const char *verb;
        int64_t span_ms; /* a round trip may take 1,000 ms, a purchase 2,000 ms */
    } rows[] = {
        {"i1:stall", 700}, {"i2:oneway c2s", 1300}, {"i1:oneway s2c", 1300}, {"i2:stall", 2600}};
    struct run *run = *state;
    unsigned elsewhere = 0;

    begin(run, &plan);
    for (unsigned i = 0; i < COUNT_OF(rows); i++) {
        wait_for_buyers(run, 5 + 15 * i);
        note_fault(run);
        assert_true(lt_rig_proxy(&run->rig, rows[i].verb));
        unsigned before = run->crowd.counts.answers;
        moment_sleep_ms(rows[i].span_ms);
        elsewhere += run->crowd.counts.answers - before;
        assert_true(lt_rig_proxy(&run->rig, "pass"));
    }
    say(run, "%u answers meanwhile; %ld purchases came late and were void", elsewhere,
        lt_rig_info(&run->rig, "errorstats", "errorstat_VOID:count="));
    end(run, elsewhere > 0 && run->crowd.counts.slowest_ms >= 1000 &&
                 run->crowd.counts.unknown + run->crowd.counts.unavailable > 0);
}

/* ---- Redis in trouble ------------------------------------------------------------------------------------ */

static void scripts_flushed_under_load_are_sent_again(void **state)
{
    static const struct plan plan = {.name = "SCRIPT FLUSH", .stock = 8000};
    struct run *run = *state;

    begin(run, &plan);
    wait_for_buyers(run, 5);
    for (unsigned i = 0; i < 60 && atomic_load(&run->crowd.next_buyer) < run->stock * 9 / 10; i++) {
        note_fault(run);
        assert_true(lt_place_tell_redis(&run->rig.place, "SCRIPT FLUSH\n"));
        moment_sleep_ms(10);
    }
    long forgotten = lt_rig_info(&run->rig, "errorstats", "errorstat_NOSCRIPT:count=");
    say(run, "%ld times a script was unknown", forgotten);
    end(run, forgotten > 0 && run->faults >= 5);
}

static void clients_paused_past_the_lease_lose_nothing(void **state)
{
    static const struct plan plan = {.name = "CLIENT PAUSE",
                                     .stock = 6000,
                                     .think_ms = 20,
                                     .rig = {.seckilld = {"--lease-ms", "300"}}};
    static const char *const pauses[] = {"CLIENT PAUSE 1300 ALL\n", "CLIENT PAUSE 700 WRITE\n",
                                         "CLIENT PAUSE 1300 WRITE\n"};
    struct run *run = *state;

    begin(run, &plan);
    for (unsigned i = 0; i < 3; i++) {
        wait_for_buyers(run, 10 + 20 * i);
        note_fault(run);
        assert_true(lt_place_tell_redis(&run->rig.place, pauses[i]));
    }
    wait_for_buyers(run, 80);
    say(run, "1300 ms all, 700 and 1300 ms writes, lease %d ms", LEASE_MS);
    end(run, run->crowd.counts.slowest_ms >= 600);
}

static void a_redis_out_of_memory_refuses_and_goes_on_afterwards(void **state)
{
    static const struct plan plan = {.name = "out of memory", .stock = 6000};
    struct run *run = *state;

    begin(run, &plan);
    for (unsigned i = 0; i < 3; i++) {
        wait_for_buyers(run, 10 + 20 * i);
        note_fault(run);
        unsigned before = run->crowd.counts.unavailable;
        assert_true(lt_place_tell_redis(&run->rig.place, "CONFIG SET maxmemory 1\n"));
        (void)wait_for(&run->crowd.counts.unavailable, before + 200);
        assert_true(lt_place_tell_redis(&run->rig.place, "CONFIG SET maxmemory 0\n"));
    }
    long refused = lt_rig_info(&run->rig, "errorstats", "errorstat_OOM:count=");
    long evicted = lt_rig_info(&run->rig, "stats", "evicted_keys:");
    say(run, "%ld commands refused for memory, %ld keys evicted", refused, evicted);
    end(run, refused > 0 && evicted == 0);
}

/* ---- the disk is full ------------------------------------------------------------------------------------ */

static const char *disk_name(const struct run *run)
{
    return run->rig.disk == LT_DISK_TMPFS ? "a full tmpfs"
                                          : "a file size limit (no right to mount)";
}

static bool redis_is_gone(void *arg)
{
    struct run *run = arg;

    return !process_is_running(&run->rig.place.redis);
}

/* With `always` Redis gives up rather than answer without having written: it ends. */
static void a_full_disk_under_always_ends_redis_and_loses_no_order(void **state)
{
    static const struct plan plan = {
        .name = "disk full, always", .stock = 8000, .rig = {.has_small_disk = true}};
    struct run *run = *state;
    char ending[40];

    begin(run, &plan);
    wait_for_buyers(run, 5);
    note_fault(run);
    bool is_gone = lt_eventually(redis_is_gone, run, PROGRESS_MS);
    process_ending(&run->rig.place.redis, ending, sizeof ending);
    unsigned by_then = run->crowd.counts.sold;
    bool is_in_time = is_on_sale(run);
    assert_true(lt_rig_start_redis(&run->rig));
    say(run, "%s; redis-server ended (%s) with %u sold", disk_name(run), ending, by_then);
    end(run, is_gone && is_in_time);
}

/* With `everysec` it goes on, and refuses to write until there is room. */
static void a_full_disk_under_everysec_refuses_until_there_is_room(void **state)
{
    static const struct plan plan = {.name = "disk full, everysec",
                                     .stock = 8000,
                                     .rig = {.has_small_disk = true, .fsync = "everysec"}};
    struct run *run = *state;

    begin(run, &plan);
    wait_for_buyers(run, 5);
    note_fault(run);
    bool is_refused = wait_for(&run->crowd.counts.unavailable, 500);
    unsigned by_then = run->crowd.counts.sold;
    bool is_in_time = is_on_sale(run);
    assert_true(lt_rig_free_disk(&run->rig));
    long refused = lt_rig_info(&run->rig, "errorstats", "errorstat_MISCONF:count=");
    say(run, "%s; %ld commands refused, with %u sold", disk_name(run), refused, by_then);
    end(run, is_refused && refused > 0 && is_in_time);
}

static int make_run(void **state)
{
    static struct run run;

    *state = &run;
    return 0;
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_eaten_replies_lose_nothing_and_double_nothing),
        cmocka_unit_test(redis_killed_at_full_load_comes_back_with_every_order),
        cmocka_unit_test(an_instance_stopped_past_its_lease_does_no_harm),
        cmocka_unit_test(a_holder_stopped_past_its_lease_is_refused),
        cmocka_unit_test(an_instance_killed_at_full_load_leaves_no_doubt),
        cmocka_unit_test(leases_that_end_in_the_middle_of_a_pipeline_sell_nothing),
        cmocka_unit_test(links_cut_again_and_again_lose_nothing),
        cmocka_unit_test(links_cut_under_optimism_lose_nothing),
        cmocka_unit_test(a_stalled_link_costs_its_own_buyers_time_and_nobody_an_order),
        cmocka_unit_test(scripts_flushed_under_load_are_sent_again),
        cmocka_unit_test(clients_paused_past_the_lease_lose_nothing),
        cmocka_unit_test(a_redis_out_of_memory_refuses_and_goes_on_afterwards),
        cmocka_unit_test(a_full_disk_under_always_ends_redis_and_loses_no_order),
        cmocka_unit_test(a_full_disk_under_everysec_refuses_until_there_is_room),
    };

    (void)signal(SIGPIPE, SIG_IGN); /* Redis dies while we talk to it */
    cmocka_set_message_output(CM_OUTPUT_TAP);
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, make_run, NULL);
}
