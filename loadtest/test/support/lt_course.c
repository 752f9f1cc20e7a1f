/*
 * Beginning, waiting, ending. One thread.
 */
#include "lt_course.h"

#include "base/moment.h"
#include "test/support/testing.h"

enum {
    RATE_MIN = 200,       /* answers per second before the first fault */
    DEADLINE_MS = 2000,   /* the service's own limit for a purchase ... */
    ROUND_TRIP_MS = 1000, /* ... which may be over by one of these */
    SLACK_MS = 1500,      /* for a busy machine */
    NAMES_MAX = 3,        /* of lost orders */
};

void lt_course_begin(struct lt_course *course, const struct lt_plan *plan)
{
    *course = (struct lt_course){.plan = plan, .in_flight = UINT32_MAX};
    if (!lt_rig_open(&course->rig, &plan->rig) ||
        !lt_rig_create_sale(&course->rig, "s", plan->guard ? plan->guard : "mutex", plan->stock)) {
        print_message("%s: %s\n", plan->name, course->rig.failure.text);
        lt_rig_close(&course->rig);
        fail();
    }
    assert_true(lt_crowd_start(
        &course->crowd,
        &(struct lt_crowd_options){.service = &course->rig.service,
                                   .place = &course->rig.place,
                                   .sale = "s",
                                   .threads = LT_THREADS,
                                   .buyers = (unsigned)(plan->stock + plan->stock / 2),
                                   .think_ms = plan->think_ms,
                                   .allow_lost = plan->allow_lost}));
}

bool lt_course_is_on_sale(const struct lt_course *course)
{
    return atomic_load(&course->crowd.next_buyer) < course->plan->stock;
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

bool lt_course_wait_for(const atomic_uint *counter, unsigned wanted)
{
    return lt_eventually(has_come, &(struct progress){counter, wanted}, LT_PROGRESS_MS);
}

void lt_course_wait_for_buyers(struct lt_course *course, unsigned percent)
{
    (void)lt_course_wait_for(&course->crowd.next_buyer,
                             (unsigned)(course->plan->stock * percent / 100));
}

struct burst {
    const struct lt_course *course;
    unsigned in_flight;
};

static bool is_busy(void *arg)
{
    struct burst *burst = arg;

    burst->in_flight = atomic_load(&burst->course->crowd.counts.in_flight);
    return burst->in_flight > 0 || !lt_course_is_on_sale(burst->course);
}

void lt_course_note_fault(struct lt_course *course)
{
    struct burst burst = {.course = course};

    if (course->faults++ == 0) course->rate = lt_crowd_rate(&course->crowd);
    (void)lt_eventually(is_busy, &burst, LT_PROGRESS_MS);
    if (!lt_course_is_on_sale(course)) burst.in_flight = 0; /* too late */
    if (burst.in_flight < course->in_flight) course->in_flight = burst.in_flight;
}

void lt_course_fault_at(struct lt_course *course, unsigned percent)
{
    lt_course_wait_for_buyers(course, percent);
    lt_course_note_fault(course);
}

void lt_course_say(struct lt_course *course, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(course->more, sizeof course->more, format, args);
    va_end(args);
}

void lt_course_print_lost(const struct lt_crowd *crowd, const char *name,
                          const struct audit_result *audit)
{
    char path[80];
    char text[4096];
    const char *line = text;

    print_message("# %s: accepted orders lost: %zu of %zu\n", name, audit->lost, audit->accepted);
    if (audit->lost == 0) return;
    (void)snprintf(path, sizeof path, "lost-%s.jsonl", crowd->options.sale);
    lt_place_read(crowd->options.place, path, text, sizeof text);
    for (int i = 0; i < NAMES_MAX && *line; i++) {
        int length = (int)strcspn(line, "\n");
        print_message("#   %.*s\n", length, line);
        line += length + (line[length] == '\n');
    }
    if (audit->lost > NAMES_MAX)
        print_message("#   ... and %zu more in %s\n", audit->lost - NAMES_MAX, path);
}

static void print_line(const struct lt_course *course, const char *verdict)
{
    const struct lt_crowd_counts *counts = &course->crowd.counts;

    print_message("# %s: %.0f answers/s before, %u faults, at least %u in flight; %s; %u of %ld "
                  "sold, %u replayed, %u refused, %u unavailable, %u unknown, %u unanswered; %zu "
                  "purchases unknown in the end, %u promises broken; slowest answer %u ms; %.1f s; "
                  "audit %s\n",
                  course->plan->name, course->rate, course->faults, course->in_flight, course->more,
                  counts->sold, course->plan->stock, counts->replayed, counts->refused,
                  counts->unavailable, counts->unknown, counts->unanswered, course->audit.unknown,
                  counts->broken, counts->slowest_ms,
                  (double)(moment_ms() - course->crowd.began_ms) / 1000, verdict);
}

static void print_faults(const struct audit_result *audit)
{
    for (size_t i = 0; i < AUDIT_CHECK_COUNT; i++) {
        if (audit->checks[i].verdict == AUDIT_PASS) continue;
        print_message("# %s %s: %s\n", audit->checks[i].name,
                      audit_verdict_name(audit->checks[i].verdict), audit->checks[i].words);
    }
}

void lt_course_finish(struct lt_course *course)
{
    if (!course->has_finished) course->is_finished = lt_crowd_finish(&course->crowd, LT_FINISH_MS);
    course->has_finished = true;
}

void lt_course_end(struct lt_course *course, bool was_active)
{
    const struct lt_plan *plan = course->plan;
    const struct lt_crowd_counts *counts = &course->crowd.counts;
    struct failure failure = {.text = ""};
    int64_t slowest_ms =
        plan->slowest_ms ? plan->slowest_ms : DEADLINE_MS + ROUND_TRIP_MS + SLACK_MS;
    lt_course_finish(course);
    bool is_judged = lt_crowd_judge(&course->crowd, &course->audit, &failure);

    print_line(course, is_judged ? audit_verdict_name(course->audit.verdict) : failure.text);
    if (is_judged) print_faults(&course->audit);
    if (is_judged && plan->allow_lost)
        lt_course_print_lost(&course->crowd, plan->name, &course->audit);
    lt_rig_close(&course->rig);
    assert_true(course->is_finished);
    assert_true(is_judged);
    assert_int_equal(course->audit.verdict, AUDIT_PASS);
    assert_int_equal(counts->broken, 0);
    assert_in_range(counts->slowest_ms, 0, slowest_ms);
    bool is_void =
        course->faults == 0 || course->rate < RATE_MIN || course->in_flight == 0 || !was_active;
    if (is_void) fail_msg("%s: void, for want of activity", plan->name);
}

const char *lt_tell(struct topology *topology, const char *format, ...)
{
    static char answer[TOPOLOGY_LINE_MAX];
    struct failure failure = {.text = ""};
    char command[TOPOLOGY_LINE_MAX];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(command, sizeof command, format, args);
    va_end(args);
    if (!topology_tell(topology, command, answer, &failure))
        fail_msg("%s: %s", command, failure.text);
    return answer;
}
