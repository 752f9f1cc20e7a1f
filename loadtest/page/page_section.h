/*
 * What the sections of the report share. Each section_*() writes one <section>; a failure of its
 * picture is kept in page->failure, and the page is not finished then.
 */
#ifndef LOADTEST_PAGE_SECTION_H
#define LOADTEST_PAGE_SECTION_H

#include "page_load.h"
#include "page_plot.h"

struct page {
    FILE *to;
    const struct page_results *results;
    char plots[PAGE_PATH_MAX]; /* folder of the pictures' scripts */
    bool is_broken;
    struct failure *failure;
};

/* <section id><h2>; page_section_end() closes it. */
void page_section_begin(struct page *page, const char *id, const char *head);
void page_section_end(struct page *page);

/* The file of this kind, or NULL; then it has written that there is none, and how to get it. */
const json_t *page_need(struct page *page, page_kind kind);

/* A picture whose script `write` writes, in a <figure> with this caption; `arg` is handed on. */
void page_figure(struct page *page, const struct page_plot *plot, const char *caption,
                 void (*write)(FILE *script, const void *arg), const void *arg);
/* Rows of dots, and a table of their numbers. */
struct page_rows {
    const struct page_row *rows;
    size_t count;
    const char *axis;
    bool is_log;
};
void page_figure_of_rows(struct page *page, const struct page_plot *plot, const char *caption,
                         const struct page_rows *rows);

/* <details> around a table. `heads` ends with NULL. Cells: the first of a row is its head. */
void page_table_begin(struct page *page, const char *summary, const char *const heads[]);
void page_table_end(struct page *page);
void page_row_begin(struct page *page, const char *head);
void page_cell(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
void page_row_end(struct page *page);

/* A verdict as a word with a sign, so that its colour says nothing alone. */
void page_verdict(struct page *page, const char *verdict);

/* Members of an object; "?" and -1 when they are not there. */
const char *page_string(const json_t *object, const char *name);
double page_real(const json_t *object, const char *name);

void page_section_verdicts(struct page *page);
void page_section_guards(struct page *page);
void page_section_course(struct page *page);
void page_section_latency(struct page *page);
void page_section_connections(struct page *page);
void page_section_batches(struct page *page);
void page_section_lock_times(struct page *page);
void page_section_locks(struct page *page);
void page_section_figures(struct page *page);
void page_section_machine(struct page *page);

#endif
