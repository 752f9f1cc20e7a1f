/*
 * One sale in segments over more masters: what was measured, and what a simulation with its times says. One thread.
 */
#include "page_section.h"

enum { ROWS_MAX = 24 };

static void add_heading(struct page_rows *figure, struct page_row *rows, page_colour colour,
                        const char *words)
{
    rows[figure->count] = (struct page_row){.is_heading = true, .colour = colour};
    (void)snprintf(rows[figure->count++].entry.label, PAGE_LABEL_MAX, "%s", words);
}

static void add_rows(struct page_rows *figure, struct page_row *rows, const json_t *list,
                     const char *member)
{
    page_colour colour = rows[figure->count - 1].colour;

    for (size_t i = 0; i < json_array_size(list) && figure->count < ROWS_MAX; i++) {
        const json_t *point = json_array_get(list, i);
        struct page_row *row = &rows[figure->count];

        *row = (struct page_row){.colour = colour};
        if (!page_measured(point, member, &row->entry.sample)) continue;
        (void)snprintf(row->entry.label, PAGE_LABEL_MAX, "%.0f %s", page_real(point, "masters"),
                       page_real(point, "masters") > 1 ? "masters" : "master");
        figure->count++;
    }
}

static void write_times(struct page *page, const json_t *times)
{
    (void)fputs("<p class=\"note\">", page->to);
    page_print(page->to,
               "Taken from the run: %s µs of an instance's processor for a purchase; of a "
               "master's, %s µs for a batch and "
               "%s µs for each purchase in it; %s µs to sync its file, once for all batches that "
               "wait. At most %.0f purchases in "
               "a batch. Left out: the network, replicas, what looks and moves cost the masters "
               "they look at, answers to who "
               "comes too late, and that masters and instances here share their processors with "
               "the buyers: each has one of "
               "its own there.",
               page_number(page_real(times, "purchase_us")).text,
               page_number(page_real(times, "batch_us")).text,
               page_number(page_real(times, "each_us")).text,
               page_number(page_real(times, "round_us")).text, page_real(times, "batch_most"));
    (void)fputs("</p>\n", page->to);
}

static void write_instances(struct page *page, const json_t *list)
{
    page_table_begin(page, "what the simulation had",
                     (const char *const[]){"masters", "instances", "moves of units", NULL});
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *point = json_array_get(list, i);
        struct page_sample moves = {.count = 0};

        (void)page_measured(point, "moves", &moves);
        page_row_begin(page, page_number(page_real(point, "masters")).text);
        page_cell(page, "%.0f", page_real(point, "instances"));
        page_cell(page, "%s", page_spread(&moves).text);
        page_row_end(page);
    }
    page_table_end(page);
}

void page_section_scaling(struct page *page, const json_t *root)
{
    const json_t *scaling = json_object_get(root, "scaling");
    const json_t *simulated = json_object_get(scaling, "simulated");
    struct page_row rows[ROWS_MAX] = {{.is_heading = false}};
    struct page_rows figure = {rows, 0, "orders per second, logarithmic scale", true};

    if (!json_is_object(scaling)) {
        (void)fputs("<p>No data: <code>loadtest --bench --only segments</code> measures it.</p>\n",
                    page->to);
        return;
    }
    add_heading(&figure, rows, PAGE_INK, "measured, all on this machine");
    add_rows(&figure, rows, json_object_get(scaling, "measured"), "orders_per_s");
    add_heading(&figure, rows, PAGE_BLUE, "simulated, until a segment is empty");
    add_rows(&figure, rows, simulated, "early_per_s");
    add_heading(&figure, rows, PAGE_ORANGE, "simulated, until the last unit is sold");
    add_rows(&figure, rows, simulated, "orders_per_s");
    struct page_plot plot = {.name = "orders-by-masters",
                             .title = "Orders per second of one sale by masters",
                             .text = "Three groups of rows: measured on one Redis and on three "
                                     "masters; simulated for 1 to 64 masters, a dot for each seed.",
                             .height = page_plot_rows_height(figure.count)};
    page_figure_of_rows(page, &plot,
                        "A segment on each master. The first rows are real; the others a queueing "
                        "model in which buyers ask again as soon as they are answered, their homes "
                        "are drawn evenly, and units move when a home has none left.",
                        &figure);
    write_times(page, json_object_get(scaling, "times"));
    write_instances(page, simulated);
}
