/*
 * The sections about sales: what the auditor found, what guards did under the same load, the course
 * of a run and how long answers took. One thread.
 */
#include <string.h>

#include "page_section.h"

enum { STRIPS_MAX = 8, SLICES_MAX = 1000, LATENCY_ROWS_MAX = 80 };

/* Outcomes have their colour everywhere; what is not in the list is trouble. */
static const struct outcome {
    const char *name;
    page_colour colour;
} outcomes[] = {
    {"created", PAGE_BLUE},
    {"replayed", PAGE_GREEN},
    {"already-ordered", PAGE_ORANGE},
    {"sold-out", PAGE_GREY},
};
enum { OUTCOME_COUNT = sizeof outcomes / sizeof *outcomes };

static page_colour colour_of(const char *name)
{
    for (size_t i = 0; i < OUTCOME_COUNT; i++)
        if (strcmp(outcomes[i].name, name) == 0) return outcomes[i].colour;
    return PAGE_RED;
}

/* The members of `object`, the known outcomes first; names are borrowed. */
static size_t list_outcomes(json_t *object, const char *names[], size_t most)
{
    const char *name = NULL;
    json_t *value = NULL;
    size_t count = 0;

    for (size_t i = 0; i < OUTCOME_COUNT && count < most; i++)
        if (json_object_get(object, outcomes[i].name)) names[count++] = outcomes[i].name;
    json_object_foreach(object, name, value)
    {
        if (colour_of(name) == PAGE_RED && count < most) names[count++] = name;
    }
    return count;
}

/* ---- verdicts ---- */

static const char *worse(const char *one, const char *other)
{
    if (strcmp(one, "fail") == 0 || strcmp(other, "fail") == 0) return "fail";
    return strcmp(one, "pass") == 0 ? other : one;
}

static const char *worst_promise(const json_t *runs, size_t which)
{
    const char *worst = "pass";

    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *kept = json_object_get(json_array_get(runs, i), "promises");
        worst = worse(page_string(json_array_get(kept, which), "verdict"), worst);
    }
    return worst;
}

static void write_promises(struct page *page, const json_t *runs)
{
    const json_t *promises = json_object_get(json_array_get(runs, 0), "promises");

    page_table_open(page, "promises", (const char *const[]){"promise", "verdict", NULL});
    for (size_t i = 0; i < json_array_size(promises); i++) {
        char head[PAGE_LABEL_MAX];
        (void)snprintf(head, sizeof head, "%zu  %s", i + 1,
                       page_string(json_array_get(promises, i), "text"));
        page_row_begin(page, head);
        page_verdict_cell(page, worst_promise(runs, i));
        page_row_end(page);
    }
    page_table_close(page);
}

static void write_findings(struct page *page, const json_t *run)
{
    const json_t *words = json_object_get(run, "audit_words");
    const char *name = NULL;
    json_t *verdict = NULL;

    json_object_foreach(json_object_get(run, "audit"), name, verdict)
    {
        if (strcmp(json_string_value(verdict) ? json_string_value(verdict) : "?", "pass") == 0)
            continue;
        (void)fputs("<p>", page->to);
        page_verdict(page, json_string_value(verdict) ? json_string_value(verdict) : "?");
        page_print(page->to, " %s: %s (%s)", name, page_string(words, name),
                   page_string(run, "sale"));
        (void)fputs("</p>\n", page->to);
    }
    if (json_object_get(run, "trouble")) {
        (void)fputs("<p>", page->to);
        page_print(page->to, "Trouble: %s", page_string(run, "trouble"));
        (void)fputs("</p>\n", page->to);
    }
}

/* Of the first sale in which a buyer was wronged. */
static void write_story(struct page *page, const json_t *runs)
{
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *story = json_object_get(json_array_get(runs, i), "story");
        struct page_plot plot = page_plot_of_story(story);
        char caption[200];

        if (json_array_size(json_object_get(story, "events")) == 0) continue;
        (void)snprintf(caption, sizeof caption, "%s, in %.40s.", plot.title,
                       page_string(json_array_get(runs, i), "sale"));
        page_figure(page, &plot, caption, page_plot_story, story);
        return;
    }
}

static void number_cell(struct page *page, const json_t *run, const char *name)
{
    const json_t *value = json_object_get(run, name);

    page_cell(page, "%s",
              (json_is_integer(value) ? page_count(json_integer_value(value))
                                      : page_number(json_number_value(value)))
                  .text);
}

static void write_run_table(struct page *page, const json_t *runs)
{
    static const char *const heads[] = {"sale",        "verdict",   "sold",     "left",
                                        "buyers",      "requests",  "accepted", "unknown",
                                        "purchases/s", "replies/s", NULL};
    static const char *const members[] = {
        "sold",     "left",    "buyers",          "requests",
        "accepted", "unknown", "purchases_per_s", "replies_per_s"};

    page_table_begin(page, "each sale", heads);
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        page_row_begin(page, page_string(run, "sale"));
        page_cell(page, "%s", page_string(run, "verdict"));
        for (size_t m = 0; m < sizeof members / sizeof *members; m++)
            number_cell(page, run, members[m]);
        page_row_end(page);
    }
    page_table_end(page);
}

/* Of the first run, and of each that was asked for more than it got. */
static void write_load(struct page *page, const json_t *runs)
{
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *load = json_object_get(json_array_get(runs, i), "load");
        if (i > 0 && !json_is_string(json_object_get(load, "void"))) continue;
        (void)fputs("<p>", page->to);
        page_print(page->to, "Load of %s: %s.", page_string(json_array_get(runs, i), "sale"),
                   page_string(load, "words"));
        (void)fputs("</p>\n", page->to);
    }
}

void page_section_verdicts(struct page *page, const json_t *root)
{
    const json_t *runs = json_object_get(root, "runs");
    size_t passed = 0;

    for (size_t i = 0; i < json_array_size(runs); i++)
        if (strcmp(page_string(json_array_get(runs, i), "verdict"), "pass") == 0) passed++;
    write_load(page, runs);
    (void)fputs("<p>", page->to);
    page_print(page->to,
               "Guard %s: %zu of %zu sales passed. Every reply was recorded by the buyers, and "
               "an auditor held them against Redis from outside. A promise is as good as its "
               "worst sale.",
               page_string(json_object_get(root, "settings"), "guard"), passed,
               json_array_size(runs));
    (void)fputs("</p>\n", page->to);
    write_promises(page, runs);
    for (size_t i = 0; i < json_array_size(runs); i++)
        write_findings(page, json_array_get(runs, i));
    write_story(page, runs);
    write_run_table(page, runs);
}

/* ---- guards under the same load ---- */

/* Faults stand in the verdict, when there are any; the other measures in the numbers. */
static const struct measure {
    const char *name, *head;
} faults[] =
    {
        {"oversold", "oversold"},
        {"undersold", "undersold"},
        {"duplicates", "buyers with two orders"},
        {"stuck_locks", "stuck locks"},
},
  costs[] = {
      {"accepted_per_s", "accepted/s"},
      {"accepted_p99_ms", "p99, ms"},
      {"round_trips_per_order", "round trips per order"},
      {"inversions", "inversions"},
};
enum { FAULT_COUNT = sizeof faults / sizeof *faults, COST_COUNT = sizeof costs / sizeof *costs };

static const char *expected_words(const char *finding)
{
    if (strcmp(finding, "sound") == 0) return "no fault";
    if (strcmp(finding, "oversells") == 0) return "lost updates";
    if (strcmp(finding, "stuck") == 0) return "a lock left for ever";
    return finding;
}

/* "oversold 97 (0 .. 387), ..." of those that were seen. */
static void fault_cell(struct page *page, const json_t *row)
{
    const char *lead = "";

    (void)fputs("<td>", page->to);
    for (size_t i = 0; i < FAULT_COUNT; i++) {
        struct page_sample sample;
        if (!page_measured(row, faults[i].name, &sample) || sample.most <= 0) continue;
        page_print(page->to, "%s%s %s", lead, faults[i].head, page_spread(&sample).text);
        lead = "; ";
    }
    if (!*lead) (void)fputs("no fault", page->to);
    (void)fputs("</td>", page->to);
}

static void write_guard(struct page *page, const json_t *row)
{
    bool is_flawed = strcmp(page_string(row, "expected"), "sound") != 0;
    bool has_held = strcmp(page_string(row, "result"), "held") == 0;

    page_row_begin(page, page_string(row, "guard"));
    page_cell(page, "%s", expected_words(page_string(row, "expected")));
    (void)fputs("<td>", page->to);
    if (is_flawed && has_held)
        (void)fputs("<span class=\"open\">– not triggered</span>", page->to);
    else
        page_verdict(page, page_string(row, "result"));
    (void)fputs("</td>", page->to);
    fault_cell(page, row);
    page_row_end(page);
}

static void write_costs(struct page *page, const json_t *guards)
{
    const char *heads[COST_COUNT + 3] = {"guard"};

    for (size_t i = 0; i < COST_COUNT; i++)
        heads[i + 1] = costs[i].head;
    heads[COST_COUNT + 1] = "its flaw";
    page_table_begin(page, "what each guard costs, median (least .. most) of the rounds", heads);
    for (size_t n = 0; n < json_array_size(guards); n++) {
        const json_t *row = json_array_get(guards, n);
        page_row_begin(page, page_string(row, "guard"));
        for (size_t i = 0; i < COST_COUNT; i++) {
            struct page_sample sample;
            bool is_known = page_measured(row, costs[i].name, &sample);
            page_cell(page, "%s", is_known ? page_spread(&sample).text : "?");
        }
        const char *flaw = json_string_value(json_object_get(row, "flaw"));
        page_cell(page, "%s", flaw ? flaw : "");
        page_row_end(page);
    }
    page_table_end(page);
}

void page_section_guards(struct page *page, const json_t *root)
{
    const json_t *guards = json_object_get(json_object_get(root, "comparison"), "guards");

    (void)fputs("<p>A sound guard must keep every promise; a flawed one is there to be seen "
                "failing. Where a flaw was not triggered, this load did not reach it: it "
                "neither crashes nor pauses anybody, as the lock lab does. Faults are counted "
                "per sale: median (least .. most) of the rounds.</p>\n",
                page->to);
    page_table_open(page, "guards",
                    (const char *const[]){"guard", "expected", "found", "faults", NULL});
    for (size_t i = 0; i < json_array_size(guards); i++)
        write_guard(page, json_array_get(guards, i));
    page_table_close(page);
    write_costs(page, guards);
}

/* ---- the course of a run ---- */

struct course {
    double per_s[STRIPS_MAX][SLICES_MAX];
    char labels[STRIPS_MAX][PAGE_LABEL_MAX];
    const char *names[STRIPS_MAX];
    struct page_strip strips[STRIPS_MAX];
    size_t count, slices;
    double slice_ms, mark_ms;
    char mark[PAGE_LABEL_MAX];
};

static void read_course(const json_t *run, struct course *course)
{
    const json_t *series = json_object_get(run, "series");
    json_t *replies = json_object_get(series, "replies");
    double slices = page_real(series, "slices");

    course->slice_ms = page_real(series, "slice_ms");
    course->slices = slices > 0 && course->slice_ms > 0 ? (size_t)slices : 0;
    if (course->slices > SLICES_MAX) course->slices = SLICES_MAX;
    course->mark_ms = page_real(series, "sold_out_ms");
    course->names[0] = "all answers";
    course->count = 1 + list_outcomes(replies, course->names + 1, STRIPS_MAX - 1);
    for (size_t n = 1; n < course->count; n++) {
        const json_t *counts = json_object_get(replies, course->names[n]);
        for (size_t i = 0; i < course->slices; i++) {
            double per_s = json_number_value(json_array_get(counts, i)) * 1000 / course->slice_ms;
            course->per_s[n][i] = per_s;
            course->per_s[0][i] += per_s;
        }
    }
    for (size_t n = 0; n < course->count; n++) {
        (void)snprintf(course->labels[n], PAGE_LABEL_MAX, "%.60s, per second", course->names[n]);
        course->strips[n] = (struct page_strip){
            course->labels[n], n ? colour_of(course->names[n]) : PAGE_INK, course->per_s[n]};
    }
    (void)snprintf(course->mark, sizeof course->mark, "sold out after %.2f s",
                   course->mark_ms / 1000);
}

static void write_course_table(struct page *page, const struct course *course)
{
    const char *heads[STRIPS_MAX + 2] = {"from, s"};

    for (size_t n = 0; n < course->count; n++)
        heads[n + 1] = course->names[n];
    page_table_begin(page, "answers per second in each slice", heads);
    for (size_t i = 0; i < course->slices; i++) {
        char from[PAGE_NUMBER_MAX];
        (void)snprintf(from, sizeof from, "%.3f", (double)i * course->slice_ms / 1000);
        page_row_begin(page, from);
        for (size_t n = 0; n < course->count; n++)
            page_cell(page, "%s", page_number(course->per_s[n][i]).text);
        page_row_end(page);
    }
    page_table_end(page);
}

/* When the stock was gone, in every run that sold out. */
static void write_sell_outs(struct page *page, const json_t *runs)
{
    struct page_sample sample = {.count = 0};

    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *series = json_object_get(json_array_get(runs, i), "series");
        double ms = page_real(series, "sold_out_ms");
        if (ms >= 0) page_sample_add(&sample, ms / 1000);
    }
    page_sample_sum_up(&sample);
    (void)fputs("<p>", page->to);
    if (sample.count)
        page_print(page->to, "%d of %zu runs sold out, after %s seconds; the picture is the first.",
                   sample.count, json_array_size(runs), page_spread(&sample).text);
    else
        page_print(page->to, "No run sold out; the picture is the first of %zu.",
                   json_array_size(runs));
    (void)fputs("</p>\n", page->to);
}

static void write_course_figure(struct page *page, const json_t *root, const struct course *course)
{
    const json_t *settings = json_object_get(root, "settings");
    char caption[800], text[400];
    const json_t *connections = json_object_get(settings, "connections");
    struct page_plot plot = {.name = "throughput-over-time",
                             .title = "Answers per second over the time of one sale, by outcome",
                             .text = text,
                             .height = page_plot_strips_height(course->count)};

    (void)snprintf(caption, sizeof caption,
                   "%s units, %s buyers on %s connections to %.0f instances, guard %s. Slices of "
                   "%.0f ms; each strip has a scale of its own. Dashed: the buyer of the last unit "
                   "is told so.",
                   page_number(page_real(settings, "stock")).text,
                   page_number(page_real(settings, "buyers")).text,
                   page_number(json_number_value(json_array_get(connections, 0))).text,
                   page_real(settings, "instances"), page_string(settings, "guard"),
                   course->slice_ms);
    (void)snprintf(text, sizeof text, "%zu strips, one for each outcome, over %.2f seconds. %s.",
                   course->count, (double)course->slices * course->slice_ms / 1000,
                   course->mark_ms < 0 ? "Units are left" : course->mark);
    page_figure(page, &plot, caption, page_plot_strips,
                &(struct page_strips){course->strips, course->count, course->slices,
                                      course->slice_ms, course->mark_ms, course->mark});
    write_course_table(page, course);
}

void page_section_course(struct page *page, const json_t *root)
{
    const json_t *runs = json_object_get(root, "runs");
    struct course course = {.count = 0};

    read_course(json_array_get(runs, 0), &course);
    write_sell_outs(page, runs);
    if (course.slices > 0) write_course_figure(page, root, &course);
}

/* ---- latency ---- */

static const struct {
    const char *member, *label;
} percentiles[] = {
    {"p50_ms", "p50"},    {"p90_ms", "p90"},      {"p99_ms", "p99"},
    {"p999_ms", "p99.9"}, {"most_ms", "slowest"},
};
enum { PERCENTILE_COUNT = sizeof percentiles / sizeof *percentiles };

static void read_percentile(const json_t *runs, const char *outcome, size_t which,
                            struct page_row *row)
{
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *latency = json_object_get(json_array_get(runs, i), "latency");
        double ms = page_real(json_object_get(latency, outcome), percentiles[which].member);
        if (ms >= 0) page_sample_add(&row->entry.sample, ms);
    }
    page_sample_sum_up(&row->entry.sample);
    row->colour = colour_of(outcome);
    (void)snprintf(row->entry.label, PAGE_LABEL_MAX, "%s", percentiles[which].label);
}

static size_t read_latencies(const json_t *runs, struct page_row rows[LATENCY_ROWS_MAX])
{
    enum { MOST = LATENCY_ROWS_MAX / (PERCENTILE_COUNT + 1) };
    const char *names[MOST];
    json_t *all = json_object(); /* outcomes of any run */
    size_t count = 0;

    for (size_t i = 0; i < json_array_size(runs); i++)
        (void)json_object_update(all, json_object_get(json_array_get(runs, i), "latency"));
    size_t outcome_count = list_outcomes(all, names, MOST);
    for (size_t n = 0; n < outcome_count; n++) {
        rows[count] = (struct page_row){.is_heading = true, .colour = colour_of(names[n])};
        (void)snprintf(rows[count++].entry.label, PAGE_LABEL_MAX, "%s", names[n]);
        for (size_t i = 0; i < PERCENTILE_COUNT; i++)
            read_percentile(runs, names[n], i, &rows[count++]);
    }
    json_decref(all);
    return count;
}

void page_section_latency(struct page *page, const json_t *root)
{
    struct page_row rows[LATENCY_ROWS_MAX] = {{.is_heading = false}};
    size_t count = read_latencies(json_object_get(root, "runs"), rows);
    struct page_plot plot = {.name = "latency-by-outcome",
                             .title = "How long answers took, by outcome",
                             .text = "For each outcome: the time that half, 9 of 10, 99 of "
                                     "100, 999 of 1,000 and all answers did not exceed, in "
                                     "milliseconds on a logarithmic scale, a dot per sale.",
                             .height = page_plot_rows_height(count)};
    struct page_rows figure = {rows, count, "milliseconds, logarithmic scale", true};

    if (count)
        page_figure_of_rows(page, &plot,
                            "From the first byte of the request to the last of the answer, as "
                            "the buyers' clients saw it; p99: 99 of 100 took no longer. A "
                            "client waits for its answer before it asks again, so a stall "
                            "delays few requests: the tail is the least it may be.",
                            &figure);
}
