/*
 * Beginning, waiting, ending. One thread.
 */
#include "lt_fault_run.h"

#include "base/clock.h"
#include "test/support/testing.h"

enum {
    RATE_MIN = 200,       /* answers per second before the first fault */
    DEADLINE_MS = 2000,   /* the service's own limit for a purchase ... */
    ROUND_TRIP_MS = 1000, /* ... which may be over by one of these */
    SLACK_MS = 1500,      /* for a busy machine */
    NAMES_MAX = 3,        /* of lost orders */
};

void lt_fault_run_begin(struct lt_fault_run *fault_run, const struct lt_plan *plan)
{
    *fault_run = (struct lt_fault_run){.plan = plan, .in_flight = UINT32_MAX};
    if (!lt_rig_open(&fault_run->rig, &plan->rig) ||
        !lt_rig_create_sale(&fault_run->rig, "s", plan->guard ? plan->guard : "mutex",
                            plan->stock)) {
        print_message("%s: %s\n", plan->name, fault_run->rig.failure.text);
        lt_rig_close(&fault_run->rig);
        fail();
    }
    assert_true(lt_buyers_start(
        &fault_run->buyers,
        &(struct lt_buyers_options){.service = &fault_run->rig.service,
                                    .sandbox = &fault_run->rig.sandbox,
                                    .sale = "s",
                                    .threads = LT_THREADS,
                                    .buyers = (unsigned)(plan->stock + plan->stock / 2),
                                    .think_ms = plan->think_ms,
                                    .allow_lost = plan->allow_lost}));
}

bool lt_fault_run_is_on_sale(const struct lt_fault_run *fault_run)
{
    return atomic_load(&fault_run->buyers.next_buyer) < fault_run->plan->stock;
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

bool lt_fault_run_wait_for(const atomic_uint *counter, unsigned wanted)
{
    return lt_eventually(has_come, &(struct progress){counter, wanted}, LT_PROGRESS_MS);
}

void lt_fault_run_wait_for_buyers(struct lt_fault_run *fault_run, unsigned percent)
{
    (void)lt_fault_run_wait_for(&fault_run->buyers.next_buyer,
                                (unsigned)(fault_run->plan->stock * percent / 100));
}

struct burst {
    const struct lt_fault_run *fault_run;
    unsigned in_flight;
};

static bool is_busy(void *arg)
{
    struct burst *burst = arg;

    burst->in_flight = atomic_load(&burst->fault_run->buyers.counts.in_flight);
    return burst->in_flight > 0 || !lt_fault_run_is_on_sale(burst->fault_run);
}

void lt_fault_run_note_fault(struct lt_fault_run *fault_run)
{
    struct burst burst = {.fault_run = fault_run};

    if (fault_run->faults++ == 0) fault_run->rate = lt_buyers_rate(&fault_run->buyers);
    (void)lt_eventually(is_busy, &burst, LT_PROGRESS_MS);
    if (!lt_fault_run_is_on_sale(fault_run)) burst.in_flight = 0; /* too late */
    if (burst.in_flight < fault_run->in_flight) fault_run->in_flight = burst.in_flight;
}

void lt_fault_run_fault_at(struct lt_fault_run *fault_run, unsigned percent)
{
    lt_fault_run_wait_for_buyers(fault_run, percent);
    lt_fault_run_note_fault(fault_run);
}

void lt_fault_run_add_note(struct lt_fault_run *fault_run, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(fault_run->more, sizeof fault_run->more, format, args);
    va_end(args);
}

void lt_fault_run_print_lost(const struct lt_buyers *buyers, const char *name,
                             const struct audit_result *audit)
{
    char path[80];
    char text[4096];
    const char *line = text;

    print_message("# %s: accepted orders lost: %zu of %zu\n", name, audit->lost, audit->accepted);
    if (audit->lost == 0) return;
    (void)snprintf(path, sizeof path, "lost-%s.jsonl", buyers->options.sale);
    lt_sandbox_read(buyers->options.sandbox, path, text, sizeof text);
    for (int i = 0; i < NAMES_MAX && *line; i++) {
        int length = (int)strcspn(line, "\n");
        print_message("#   %.*s\n", length, line);
        line += length + (line[length] == '\n');
    }
    if (audit->lost > NAMES_MAX)
        print_message("#   ... and %zu more in %s\n", audit->lost - NAMES_MAX, path);
}

static void print_line(const struct lt_fault_run *fault_run, const char *verdict)
{
    const struct lt_buyers_counts *counts = &fault_run->buyers.counts;

    print_message("# %s: %.0f answers/s before, %u faults, at least %u in flight; %s; %u of %ld "
                  "sold, %u replayed, %u refused, %u unavailable, %u unknown, %u unanswered; %zu "
                  "purchases unknown in the end, %u promises broken; slowest answer %u ms; %.1f s; "
                  "audit %s\n",
                  fault_run->plan->name, fault_run->rate, fault_run->faults, fault_run->in_flight,
                  fault_run->more, counts->sold, fault_run->plan->stock, counts->replayed,
                  counts->refused, counts->unavailable, counts->unknown, counts->unanswered,
                  fault_run->audit.unknown, counts->broken, counts->slowest_ms,
                  (double)(clock_ms() - fault_run->buyers.began_ms) / 1000, verdict);
}

static void print_faults(const struct audit_result *audit)
{
    for (size_t i = 0; i < AUDIT_CHECK_COUNT; i++) {
        if (audit->checks[i].verdict == AUDIT_PASS) continue;
        print_message("# %s %s: %s\n", audit->checks[i].name,
                      audit_verdict_name(audit->checks[i].verdict), audit->checks[i].words);
    }
}

void lt_fault_run_finish(struct lt_fault_run *fault_run)
{
    if (!fault_run->has_finished)
        fault_run->is_finished = lt_buyers_finish(&fault_run->buyers, LT_FINISH_MS);
    fault_run->has_finished = true;
}

void lt_fault_run_end(struct lt_fault_run *fault_run, bool was_active)
{
    const struct lt_plan *plan = fault_run->plan;
    const struct lt_buyers_counts *counts = &fault_run->buyers.counts;
    struct failure failure = {.text = ""};
    int64_t slowest_ms =
        plan->slowest_ms ? plan->slowest_ms : DEADLINE_MS + ROUND_TRIP_MS + SLACK_MS;
    lt_fault_run_finish(fault_run);
    bool is_judged = lt_buyers_judge(&fault_run->buyers, &fault_run->audit, &failure);

    print_line(fault_run, is_judged ? audit_verdict_name(fault_run->audit.verdict) : failure.text);
    if (is_judged) print_faults(&fault_run->audit);
    if (is_judged && plan->allow_lost)
        lt_fault_run_print_lost(&fault_run->buyers, plan->name, &fault_run->audit);
    lt_rig_close(&fault_run->rig);
    assert_true(fault_run->is_finished);
    assert_true(is_judged);
    assert_int_equal(fault_run->audit.verdict, AUDIT_PASS);
    assert_int_equal(counts->broken, 0);
    assert_in_range(counts->slowest_ms, 0, slowest_ms);
    bool is_void = fault_run->faults == 0 || fault_run->rate < RATE_MIN ||
                   fault_run->in_flight == 0 || !was_active;
    if (is_void) fail_msg("%s: void, for want of activity", plan->name);
}

const char *lt_topology_command(struct topology *topology, const char *format, ...)
{
    static char answer[TOPOLOGY_LINE_MAX];
    struct failure failure = {.text = ""};
    char command[TOPOLOGY_LINE_MAX];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(command, sizeof command, format, args);
    va_end(args);
    if (!topology_command(topology, command, answer, &failure))
        fail_msg("%s: %s", command, failure.text);
    return answer;
}
