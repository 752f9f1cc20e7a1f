/*
 * The section of lockcompare: every way to a lock side by side. One thread.
 */
#include <string.h>

#include "page_section.h"

enum { ROWS_MAX = 64 };

/* Figures of a row, and faults, by their names in the file. */
static const struct {
    const char *name, *head;
} figures[] = {{"pair", "a pair, p50, µs"},
               {"handover", "hand-over, p50, µs"},
               {"handover_p99", "p99, µs"},
               {"rate", "pairs/s, 8 owners"}},
  faults[] = {{"killed", "holder killed"},         {"paused", "holder paused"},
              {"lost", "a server lost"},           {"cut", "holder cut off"},
              {"clock", "a server's clock ahead"}, {"emptied", "a server back, empty"}};
enum {
    PICTURED = 2,
    FIGURES = sizeof figures / sizeof *figures,
    FAULTS = sizeof faults / sizeof *faults
};

static void draw(struct page *page, const json_t *list)
{
    struct page_row rows[ROWS_MAX] = {{.is_heading = false}};
    size_t count = 0;

    for (size_t f = 0; f < PICTURED; f++) {
        rows[count] = (struct page_row){.is_heading = true, .colour = f ? PAGE_ORANGE : PAGE_BLUE};
        (void)snprintf(rows[count++].entry.label, PAGE_LABEL_MAX, "%s", figures[f].head);
        for (size_t i = 0; i < json_array_size(list) && count < ROWS_MAX - 1; i++) {
            const json_t *from = json_array_get(list, i);
            struct page_row *row = &rows[count];

            *row = (struct page_row){.colour = f ? PAGE_ORANGE : PAGE_BLUE};
            if (!page_sample_read(json_object_get(from, figures[f].name), &row->entry.sample))
                continue;
            (void)snprintf(row->entry.label, PAGE_LABEL_MAX, "%s", page_string(from, "words"));
            count++;
        }
    }
    struct page_plot plot = {.name = "lock-ways",
                             .title = "A pair, and a hand-over, by every way to a lock",
                             .text = "Two groups of rows: the time of an acquire and release, and "
                                     "from a release until who waits has the lock; a row for "
                                     "each way, a dot for each repeat.",
                             .height = page_plot_rows_height(count)};
    page_figure_of_rows(page, &plot,
                        "Servers and clients on one machine: across a network add its round trips.",
                        &(struct page_rows){rows, count, "microseconds, logarithmic scale", true});
}

static void write_costs(struct page *page, const json_t *list)
{
    const char *heads[FIGURES + 4] = {"way"};

    for (size_t f = 0; f < FIGURES; f++)
        heads[f + 1] = figures[f].head;
    heads[FIGURES + 1] = "servers";
    heads[FIGURES + 2] = "their memory, MiB";
    page_table_begin(page, "what each costs", heads);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        const char *doubt = json_string_value(json_object_get(row, "void"));

        page_row_begin(page, page_string(row, "words"));
        for (size_t f = 0; f < FIGURES; f++) {
            struct page_sample sample;
            bool is_there = page_sample_read(json_object_get(row, figures[f].name), &sample);

            page_cell(page, "%s",
                      is_there          ? page_spread(&sample).text
                      : f == 0 && doubt ? doubt
                                        : "");
        }
        page_cell(page, "%.0f", page_real(row, "servers"));
        page_cell(page, "%s", page_number(page_real(row, "memory_mib")).text);
        page_row_end(page);
    }
    page_table_end(page);
}

static void fault_cell(struct page *page, const json_t *seen)
{
    double free_ms = page_real(seen, "free_ms");
    double told_ms = page_real(seen, "told_ms");
    char told[40] = "", freed[40] = "goes to nobody else";

    if (!seen) {
        page_cell(page, "%s", "cannot be");
        return;
    }
    if (free_ms >= 0) (void)snprintf(freed, sizeof freed, "free after %.0f ms", free_ms);
    if (told_ms >= 0) (void)snprintf(told, sizeof told, ", told after %.0f ms", told_ms);
    page_cell(page, "%s%s; stale writes: %.0f in, %.0f refused", freed, told,
              page_real(seen, "stale"), page_real(seen, "refused"));
}

static void write_faults(struct page *page, const json_t *list)
{
    const char *heads[FAULTS + 2] = {"way"};

    for (size_t f = 0; f < FAULTS; f++)
        heads[f + 1] = faults[f].head;
    page_table_begin(page, "what each survives: one holds and writes, another one waits", heads);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        const json_t *seen = json_object_get(row, "fates");

        if (!seen) continue;
        page_row_begin(page, page_string(row, "words"));
        for (size_t f = 0; f < FAULTS; f++)
            fault_cell(page, json_object_get(seen, faults[f].name));
        page_row_end(page);
    }
    page_table_end(page);
}

void page_section_ways(struct page *page, const json_t *root)
{
    const json_t *list = json_object_get(root, "rows");

    draw(page, list);
    write_costs(page, list);
    write_faults(page, list);
    (void)fputs(
        "<p>A pause, a cut last three leases of a second. A stale write is one of the first holder "
        "after another one took the lock and wrote: a resource that knows the fencing token "
        "refuses "
        "it, else it gets in.</p>\n",
        page->to);
}
