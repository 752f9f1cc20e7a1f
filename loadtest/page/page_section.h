/*
 * What the sections of the report share. Each section_*() writes the inside of one, from a file of its kind.
 */
#ifndef LOADTEST_PAGE_SECTION_H
#define LOADTEST_PAGE_SECTION_H

#include "page.h"
#include "page_plot.h"

struct page {
    FILE *to;
    const struct page_results *results;
};

/* A picture, in a <figure> with this caption. */
void page_figure(struct page *page, const struct page_plot *plot, const char *caption,
                 page_plot_inside *inside, const void *what);
/* Rows of dots, and a table of their numbers. */
void page_figure_of_rows(struct page *page, const struct page_plot *plot, const char *caption,
                         const struct page_rows *rows);

/* <details> around a table. `heads` ends with NULL. Cells: the first of a row is its head. */
void page_table_begin(struct page *page, const char *summary, const char *const heads[]);
void page_table_end(struct page *page);
/* The same, unfolded. */
void page_table_open(struct page *page, const char *summary, const char *const heads[]);
void page_table_close(struct page *page);
void page_row_begin(struct page *page, const char *head);
void page_cell(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
void page_row_end(struct page *page);

/* A verdict as a word with a sign, so that its colour says nothing alone. */
void page_verdict(struct page *page, const char *verdict);

/* The same in a cell of its own. */
void page_verdict_cell(struct page *page, const char *verdict);

/* The repeats of a member that was measured. false: there are none. */
bool page_measured(const json_t *object, const char *name, struct page_sample *out_sample);
/* Members of an object; "?" and -1 when they are not there. */
const char *page_string(const json_t *object, const char *name);
double page_real(const json_t *object, const char *name);

/* NULL: there is none, and the section has said so. */
void page_section_verdicts(struct page *page, const json_t *root);
void page_section_guards(struct page *page, const json_t *root);
void page_section_course(struct page *page, const json_t *root);
void page_section_latency(struct page *page, const json_t *root);
void page_section_connections(struct page *page, const json_t *root);
void page_section_batches(struct page *page, const json_t *root);
void page_section_lock_times(struct page *page, const json_t *root);
void page_section_locks(struct page *page, const json_t *root);
void page_section_ways(struct page *page, const json_t *root);
void page_section_ladder(struct page *page, const json_t *root);
void page_section_scaling(struct page *page, const json_t *root);
void page_section_figures(struct page *page, const json_t *root);
void page_section_machine(struct page *page, const json_t *root);

#endif
