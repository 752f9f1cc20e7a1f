/*
 * The sections of the benches: the locks by themselves, and figures that must be reached. One
 * thread.
 */
#include <stdlib.h>
#include <string.h>

#include "page_section.h"

enum { ROWS_MAX = 200 };

static const char reference[] = "rate-mutex";

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The row of that name, or NULL. */
static const json_t *find_row(const json_t *rows, const char *name)
{
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (strcmp(page_string(json_array_get(rows, i), "name"), name) == 0)
            return json_array_get(rows, i);
    return NULL;
}

/* ---- acquisitions per second ---- */

static int reference_then_fastest(const void *left, const void *right)
{
    const struct page_row *a = left;
    const struct page_row *b = right;
    int a_first = strcmp(a->entry.label, reference + 5) == 0;
    int b_first = strcmp(b->entry.label, reference + 5) == 0;

    if (a_first != b_first) return b_first - a_first;
    return (a->entry.sample.median < b->entry.sample.median) -
           (a->entry.sample.median > b->entry.sample.median);
}

static size_t read_rates(const json_t *list, struct page_row rows[ROWS_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < json_array_size(list) && count < ROWS_MAX; i++) {
        const json_t *from = json_array_get(list, i);
        const char *name = page_string(from, "name");
        struct page_row *row = &rows[count];
        if (!starts(name, "rate-")) continue;
        if (!page_sample_read(json_object_get(from, "repeats"), &row->entry.sample)) continue;
        (void)snprintf(row->entry.label, PAGE_LABEL_MAX, "%s", name + strlen("rate-"));
        row->colour = PAGE_BLUE;
        count++;
    }
    qsort(rows, count, sizeof *rows, reference_then_fastest);
    return count;
}

static void compare_rates(struct page *page, const struct page_row *rows, size_t count)
{
    struct page_entry entries[ROWS_MAX];

    for (size_t i = 0; i < count; i++)
        entries[i] = rows[i].entry;
    (void)fputs("<p>", page->to);
    page_write_comparison(page->to, entries, count, "faster", "slower");
    (void)fputs("</p>\n", page->to);
}

static void write_rates(struct page *page, const json_t *list, struct page_row *rows)
{
    size_t count = read_rates(list, rows);
    struct page_plot plot = {.name = "lock-rates",
                             .title = "Acquisitions per second of each kind of lock",
                             .text = "A row for each kind of lock that 8 owners contend for: dots "
                                     "for the repeats, a bar for their median, a line from the "
                                     "least to the most.",
                             .height = page_plot_rows_height(count)};
    struct page_rows figure = {rows, count, "acquisitions per second", false};

    if (count == 0) return;
    compare_rates(page, rows, count);
    page_figure_of_rows(page, &plot,
                        "One lock, 8 owners in 2 processes that take it and give it back at once.",
                        &figure);
}

/* ---- hand-over ---- */

/* One kind and percentile: a heading, and a row for each number of waiters. */
static size_t add_handovers(const json_t *list, const char *kind, bool is_tail,
                            struct page_row *rows, size_t used)
{
    static const char *const waiters[] = {"1", "8", "64"};
    size_t heading = used++;

    rows[heading] =
        (struct page_row){.is_heading = true, .colour = is_tail ? PAGE_ORANGE : PAGE_BLUE};
    (void)snprintf(rows[heading].entry.label, PAGE_LABEL_MAX, "%s, %s", kind,
                   is_tail ? "99 of 100 (p99)" : "half (p50)");
    for (size_t i = 0; i < sizeof waiters / sizeof *waiters; i++) {
        char name[80];
        struct page_row *row = &rows[used];
        (void)snprintf(name, sizeof name, "handover-%s-%s-%s", kind, waiters[i],
                       is_tail ? "p99" : "p50");
        *row = (struct page_row){.colour = rows[heading].colour};
        const json_t *from = find_row(list, name);
        if (!page_sample_read(json_object_get(from, "repeats"), &row->entry.sample)) continue;
        (void)snprintf(row->entry.label, PAGE_LABEL_MAX, "%s waiting", waiters[i]);
        used++;
    }
    return used == heading + 1 ? heading : used;
}

static void write_handovers(struct page *page, const json_t *list, struct page_row *rows)
{
    static const char *const kinds[] = {"mutex", "reentrant"};
    size_t count = 0;

    for (size_t i = 0; i < 2 * sizeof kinds / sizeof *kinds; i++)
        count = add_handovers(list, kinds[i / 2], i % 2 != 0, rows, count);
    if (count == 0) return;
    struct page_plot plot = {.name = "lock-handover",
                             .title = "From a release to the next owner",
                             .text = "Groups of rows: for two kinds of lock the time from a "
                                     "release until the next owner has the lock that half of the "
                                     "hand-overs did not exceed, and 99 of 100; a row for each "
                                     "number of waiters, a dot for each repeat.",
                             .height = page_plot_rows_height(count)};
    struct page_rows figure = {rows, count, "microseconds, logarithmic scale", true};
    page_figure_of_rows(
        page, &plot, "How long a waiter in another process waits once the lock is free.", &figure);
}

/* ---- tables of figures ---- */

static void bound_cell(struct page *page, const json_t *row, const char *name)
{
    double bound = page_real(row, name);
    bool is_higher = strcmp(page_string(row, "better"), "higher") == 0;

    if (bound > 0)
        page_cell(page, "%s %s", is_higher ? "≥" : "≤", page_number(bound).text);
    else
        page_cell(page, "%s", "");
}

static void write_figure_row(struct page *page, const json_t *row)
{
    const char *doubt = json_string_value(json_object_get(row, "void"));
    struct page_sample sample;
    bool is_there = page_sample_read(json_object_get(row, "repeats"), &sample);

    page_row_begin(page, page_string(row, "figure"));
    page_cell(page, "%s %s", is_there ? page_spread(&sample).text : "",
              is_there && strcmp(page_string(row, "unit"), "ratio") != 0 ? page_string(row, "unit")
                                                                         : "");
    bound_cell(page, row, "must");
    bound_cell(page, row, "aim");
    page_cell(page, "%s",
              doubt                                      ? doubt
              : page_real(row, "must") <= 0              ? ""
              : json_is_true(json_object_get(row, "ok")) ? "reached"
                                                         : "not reached");
    page_row_end(page);
}

static void write_figures(struct page *page, const json_t *rows, const char *summary)
{
    static const char *const heads[] = {"figure", "median (least .. most)", "must", "aim", "",
                                        NULL};

    page_table_begin(page, summary, heads);
    for (size_t i = 0; i < json_array_size(rows); i++)
        write_figure_row(page, json_array_get(rows, i));
    page_table_end(page);
}

void page_section_locks(struct page *page, const json_t *root)
{
    struct page_row rows[ROWS_MAX] = {{.is_heading = false}};
    const json_t *list = json_object_get(root, "rows");

    write_rates(page, list, rows);
    memset(rows, 0, sizeof rows);
    write_handovers(page, list, rows);
    write_figures(page, list, "every figure of lockbench");
}

/* ---- the service's figures ---- */

static void write_speed(struct page *page, const json_t *root)
{
    static const char *const heads[] = {"connections", "purchases/s", "page GETs/s", "ratio", NULL};
    static const char *const members[] = {"purchase", "page", "ratio"};
    const json_t *steps = json_object_get(root, "steps");
    const char *doubt = json_string_value(json_object_get(root, "doubt"));

    if (doubt) page_print(page->to, "The speed run is void: %s. ", doubt);
    page_table_begin(page, "a speed run: purchases against a page", heads);
    for (size_t i = 0; i < json_array_size(steps); i++) {
        const json_t *step = json_array_get(steps, i);
        const json_t *rounds = json_object_get(step, "rounds");
        page_row_begin(page, page_number(page_real(step, "connections")).text);
        for (size_t m = 0; m < sizeof members / sizeof *members; m++) {
            struct page_sample sample = {.count = 0};
            for (size_t n = 0; n < json_array_size(rounds); n++) {
                const json_t *round = json_array_get(rounds, n);
                page_sample_add(&sample,
                                m == 2 ? page_real(round, "ratio")
                                       : page_real(json_object_get(round, members[m]), "per_s"));
            }
            page_sample_sum_up(&sample);
            page_cell(page, "%s", page_spread(&sample).text);
        }
        page_row_end(page);
    }
    page_table_end(page);
}

void page_section_figures(struct page *page, const json_t *root)
{
    const json_t *speed = page->results->roots[PAGE_SPEED];

    if (root) write_figures(page, json_object_get(root, "rows"), "what must be reached, and was");
    if (speed) write_speed(page, speed);
}
