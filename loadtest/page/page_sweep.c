/*
 * The sections of a sweep: guards over connections, batch sizes, and the times of the locks. One
 * thread.
 */
#include <stdlib.h>
#include <string.h>

#include "page_section.h"

enum { ROWS_MAX = 200, STEPS_MAX = 8 };

static const char reference[] = "mutex"; /* what the others are held against, if it took part */

struct sweep_view {
    const json_t *points;
    double batch;            /* the service's default */
    double steps[STEPS_MAX]; /* numbers of connections, from the least */
    size_t step_count;
};

/* ---- reading ---- */

static void add_step(struct sweep_view *view, double connections)
{
    size_t at = 0;

    while (at < view->step_count && view->steps[at] < connections)
        at++;
    if (at < view->step_count && view->steps[at] == connections) return;
    if (view->step_count == STEPS_MAX) return;
    memmove(view->steps + at + 1, view->steps + at, (view->step_count - at) * sizeof *view->steps);
    view->steps[at] = connections;
    view->step_count++;
}

static struct sweep_view view_of(const json_t *root)
{
    struct sweep_view view = {.points = json_object_get(root, "points"),
                              .batch = page_real(json_object_get(root, "settings"), "batch")};

    for (size_t i = 0; i < json_array_size(view.points); i++)
        add_step(&view, page_real(json_array_get(view.points, i), "connections"));
    return view;
}

static bool is_at(const json_t *point, double connections, double batch)
{
    return page_real(point, "connections") == connections && page_real(point, "batch") == batch;
}

/* The reference first, then from the fastest. */
static int by_rate(const void *left, const void *right)
{
    const struct page_entry *a = left;
    const struct page_entry *b = right;
    int a_first = strcmp(a->label, reference) == 0;
    int b_first = strcmp(b->label, reference) == 0;

    if (a_first != b_first) return b_first - a_first;
    return (a->sample.median < b->sample.median) - (a->sample.median > b->sample.median);
}

static size_t read_step(const struct sweep_view *view, double connections,
                        struct page_entry entries[ROWS_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < json_array_size(view->points) && count < ROWS_MAX; i++) {
        const json_t *point = json_array_get(view->points, i);
        if (!is_at(point, connections, view->batch)) continue;
        if (!page_measured(point, "purchases_per_s", &entries[count].sample)) continue;
        (void)snprintf(entries[count++].label, PAGE_LABEL_MAX, "%s", page_string(point, "guard"));
    }
    qsort(entries, count, sizeof *entries, by_rate);
    return count;
}

/* Which points a section is about. */
typedef enum about { ABOUT_CONNECTIONS, ABOUT_BATCHES } about;

static bool is_about(const json_t *point, const struct sweep_view *view, about what)
{
    bool has_default = page_real(point, "batch") == view->batch;
    return what == ABOUT_CONNECTIONS ? has_default : !has_default;
}

static void write_voids(struct page *page, const struct sweep_view *view, about what)
{
    for (size_t i = 0; i < json_array_size(view->points); i++) {
        const json_t *point = json_array_get(view->points, i);
        if (!is_about(point, view, what) || !json_is_string(json_object_get(point, "void")))
            continue;
        (void)fputs("<p><span class=\"open\">? void</span>", page->to);
        page_print(page->to, " %s, %.0f connections, batch %.0f: %s", page_string(point, "guard"),
                   page_real(point, "connections"), page_real(point, "batch"),
                   page_string(point, "void"));
        (void)fputs("</p>\n", page->to);
    }
}

/* A rate of sales tells half when the service turned others away. */
static void write_refusals(struct page *page, const struct sweep_view *view, about what)
{
    const char *lead = "<p>Turned away with 503 (not executed), of all purchases answered: ";
    bool has_some = false;

    for (size_t i = 0; i < json_array_size(view->points); i++) {
        const json_t *point = json_array_get(view->points, i);
        double refused = page_real(point, "refused");
        double all = refused + page_real(point, "accepted");
        if (!is_about(point, view, what) || refused <= 0 || all <= 0) continue;
        (void)fputs(has_some ? "; " : lead, page->to);
        page_print(page->to, "%s, %.0f connections, batch %.0f: %.3g %%",
                   page_string(point, "guard"), page_real(point, "connections"),
                   page_real(point, "batch"), 100 * refused / all);
        has_some = true;
    }
    if (has_some) (void)fputs(".</p>\n", page->to);
}

/* ---- guards over connections ---- */

/* "At 1,024 connections. Against mutex ...: ..." */
static void compare_step(struct page *page, double connections, const struct page_entry *entries,
                         size_t count)
{
    (void)fputs("<li>", page->to);
    page_print(page->to, "At %s connections. ", page_number(connections).text);
    page_write_comparison(page->to, entries, count, "faster", "slower");
    (void)fputs("</li>\n", page->to);
}

static size_t add_step_rows(struct page_row *rows, size_t used, double connections,
                            const struct page_entry *entries, size_t count)
{
    if (used + count + 1 > ROWS_MAX) return used;
    rows[used] = (struct page_row){.is_heading = true, .colour = PAGE_INK};
    (void)snprintf(rows[used++].entry.label, PAGE_LABEL_MAX, "%.40s connections",
                   page_number(connections).text);
    for (size_t i = 0; i < count; i++)
        rows[used++] = (struct page_row){.entry = entries[i], .colour = PAGE_BLUE};
    return used;
}

static void write_connections(struct page *page, const struct sweep_view *view)
{
    struct page_entry entries[ROWS_MAX];
    struct page_row rows[ROWS_MAX];
    char caption[600];
    size_t used = 0;

    (void)fputs("<ul>\n", page->to);
    for (size_t i = 0; i < view->step_count; i++) {
        size_t count = read_step(view, view->steps[i], entries);
        compare_step(page, view->steps[i], entries, count);
        used = add_step_rows(rows, used, view->steps[i], entries, count);
    }
    (void)fputs("</ul>\n", page->to);
    struct page_plot plot = {.name = "guards-connections",
                             .title = "Purchases per second of each guard, by connections",
                             .text = "A group of rows for each number of connections, a row for "
                                     "each guard: dots for the repeats, a bar for their median, a "
                                     "line from the least to the most.",
                             .height = page_plot_rows_height(used)};
    struct page_rows figure = {rows, used, "accepted purchases per second", false};
    (void)snprintf(caption, sizeof caption,
                   "Every request buys, each by a new buyer; one instance on one Redis, synced "
                   "append-only file, up to %.0f purchases per lock. %s first, then from the "
                   "fastest.",
                   view->batch, reference);
    page_figure_of_rows(page, &plot, caption, &figure);
    write_refusals(page, view, ABOUT_CONNECTIONS);
    write_voids(page, view, ABOUT_CONNECTIONS);
}

void page_section_connections(struct page *page, const json_t *root)
{
    struct sweep_view view = view_of(root);

    write_connections(page, &view);
}

/* ---- batch sizes ---- */

struct curve {
    struct page_entry entries[ROWS_MAX];
    double batches[ROWS_MAX];
    size_t count;
};

/* The guard that was measured with other batches than the default. */
static const char *guard_of_batches(const struct sweep_view *view)
{
    for (size_t i = 0; i < json_array_size(view->points); i++) {
        const json_t *point = json_array_get(view->points, i);
        if (page_real(point, "batch") != view->batch) return page_string(point, "guard");
    }
    return NULL;
}

static void add_batch(struct curve *curve, const char *guard, double batch,
                      const struct page_sample *sample)
{
    size_t at = curve->count;

    while (at > 0 && curve->batches[at - 1] > batch) {
        curve->batches[at] = curve->batches[at - 1];
        curve->entries[at] = curve->entries[at - 1];
        at--;
    }
    curve->batches[at] = batch;
    curve->entries[at].sample = *sample;
    (void)snprintf(curve->entries[at].label, PAGE_LABEL_MAX, "%.40s --batch %.0f", guard, batch);
    curve->count++;
}

static void read_curve(const struct sweep_view *view, const char *guard, struct curve *curve)
{
    double most = view->steps[view->step_count - 1];

    for (size_t i = 0; i < json_array_size(view->points) && curve->count < ROWS_MAX; i++) {
        const json_t *point = json_array_get(view->points, i);
        struct page_sample sample;
        if (strcmp(page_string(point, "guard"), guard) != 0) continue;
        if (page_real(point, "connections") != most || page_real(point, "batch") <= 0) continue;
        if (page_measured(point, "purchases_per_s", &sample))
            add_batch(curve, guard, page_real(point, "batch"), &sample);
    }
}

static void write_curve_table(struct page *page, const struct curve *curve)
{
    static const char *const heads[] = {"setting", "purchases/s, median (least .. most)", NULL};

    page_table_begin(page, "purchases per second by batch size", heads);
    for (size_t i = 0; i < curve->count; i++) {
        page_row_begin(page, curve->entries[i].label);
        page_cell(page, "%s", page_spread(&curve->entries[i].sample).text);
        page_row_end(page);
    }
    page_table_end(page);
}

static void write_batches(struct page *page, const struct sweep_view *view, struct curve *curve)
{
    const char *guard = guard_of_batches(view);
    char caption[600];

    if (guard && view->step_count > 0) read_curve(view, guard, curve);
    if (curve->count < 2) {
        (void)fputs("<p class=\"missing\">No data: the sweep has one batch size alone.</p>\n",
                    page->to);
        return;
    }
    struct page_plot plot = {.name = "batch-throughput",
                             .title = "Purchases per second by batch size",
                             .text = "Dots for the repeats at each batch size, a bar for their "
                                     "median, a line from the least to the most; a thin line joins "
                                     "the medians.",
                             .height = 330};
    (void)snprintf(caption, sizeof caption,
                   "Guard %.40s, %s connections. A batch shares one lock, one script call and one "
                   "sync of the disk; a batch of 1 is the textbook's lock for each purchase.",
                   guard, page_number(view->steps[view->step_count - 1]).text);
    (void)fputs("<p>", page->to);
    page_write_comparison(page->to, curve->entries, curve->count, "faster", "slower");
    (void)fputs("</p>\n", page->to);
    page_figure(page, &plot, caption, page_plot_curve,
                &(struct page_curve){curve->entries, curve->batches, curve->count,
                                     "purchases per lock, at most (--batch)",
                                     "accepted purchases per second"});
    write_curve_table(page, curve);
    write_refusals(page, view, ABOUT_BATCHES);
    write_voids(page, view, ABOUT_BATCHES);
}

void page_section_batches(struct page *page, const json_t *root)
{
    struct sweep_view view = view_of(root);
    struct curve curve = {.count = 0};

    write_batches(page, &view, &curve);
}

/* ---- waiting for locks, holding them ---- */

/* A time of one of the histograms: a group of rows, one for each guard that takes a lock. */
static const struct group {
    const char *member, *percentile, *heading;
    page_colour colour;
} groups[] = {
    {"lock_wait", "p50_ms", "waiting: half of the batches (p50)", PAGE_BLUE},
    {"lock_wait", "p99_ms", "waiting: 99 of 100 (p99)", PAGE_ORANGE},
    {"lock_hold", "p50_ms", "holding: half of the batches (p50)", PAGE_BLUE},
    {"lock_hold", "p99_ms", "holding: 99 of 100 (p99)", PAGE_ORANGE},
};
enum { GROUP_COUNT = sizeof groups / sizeof *groups };

static size_t add_group(struct page_row *rows, size_t used, const struct sweep_view *view,
                        const struct group *group)
{
    double most = view->step_count ? view->steps[view->step_count - 1] : 0;

    if (used == ROWS_MAX) return used;
    rows[used] = (struct page_row){.is_heading = true, .colour = group->colour};
    (void)snprintf(rows[used++].entry.label, PAGE_LABEL_MAX, "%s", group->heading);
    for (size_t i = 0; i < json_array_size(view->points) && used < ROWS_MAX; i++) {
        const json_t *point = json_array_get(view->points, i);
        const json_t *times = json_object_get(point, group->member);
        struct page_row *row = &rows[used];
        if (!is_at(point, most, view->batch)) continue;
        *row = (struct page_row){.colour = group->colour};
        if (!page_sample_read(json_object_get(times, group->percentile), &row->entry.sample))
            continue;
        (void)snprintf(row->entry.label, PAGE_LABEL_MAX, "%s", page_string(point, "guard"));
        used++;
    }
    return used;
}

static void write_lock_times(struct page *page, const struct sweep_view *view,
                             struct page_row *rows)
{
    double most = view->step_count ? view->steps[view->step_count - 1] : 0;
    char caption[600];
    size_t used = 0;

    for (size_t i = 0; i < GROUP_COUNT; i++)
        used = add_group(rows, used, view, &groups[i]);
    struct page_plot plot = {.name = "lock-times",
                             .title = "How long batches waited for their lock and held it",
                             .text = "Four groups of rows: waiting and holding, the time that half "
                                     "of the batches did not exceed and that of 99 of 100; a row "
                                     "for each guard, a dot for each repeat.",
                             .height = page_plot_rows_height(used)};
    struct page_rows figure = {rows, used, "milliseconds, logarithmic scale", true};
    (void)snprintf(
        caption, sizeof caption,
        "%s connections, up to %.0f purchases per lock. From the service's histograms "
        "seckill_lock_wait_seconds and seckill_lock_hold_seconds, in proportion between "
        "their bounds; below 0.1 ms they tell no more. Guards without a lock have no row.",
        page_number(most).text, view->batch);
    page_figure_of_rows(page, &plot, caption, &figure);
}

/* The sales of a verification run tell it, too. */
static void write_sale_times(struct page *page, const json_t *runs)
{
    static const char *const heads[] = {
        "sale", "batches", "waited p50, ms", "p99, ms", "held p50, ms", "p99, ms", NULL};
    static const char *const members[] = {"p50_ms", "p99_ms"};

    page_table_begin(page, "locks in each sale of the verification run", heads);
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        const json_t *locks = json_object_get(run, "locks");
        const json_t *times[] = {json_object_get(locks, "wait"), json_object_get(locks, "hold")};
        if (!times[0]) continue;
        page_row_begin(page, page_string(run, "sale"));
        page_cell(page, "%.0f", page_real(times[0], "count"));
        for (size_t n = 0; n < 4; n++)
            page_cell(page, "%s", page_number(page_real(times[n / 2], members[n % 2])).text);
        page_row_end(page);
    }
    page_table_end(page);
}

void page_section_lock_times(struct page *page, const json_t *root)
{
    const json_t *verify = page->results->roots[PAGE_VERIFY];

    if (root) {
        struct sweep_view view = view_of(root);
        struct page_row rows[ROWS_MAX] = {{.is_heading = false}};
        write_lock_times(page, &view, rows);
    }
    if (verify) write_sale_times(page, json_object_get(verify, "runs"));
}
