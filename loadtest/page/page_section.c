/*
 * The pieces sections are made of: heads, figures, tables. One thread.
 */
#include "page_section.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

enum { CELL_MAX = 600 };

/* ---- pictures ---- */

void page_figure(struct page *page, const struct page_plot *plot, const char *caption,
                 page_plot_inside *inside, const void *what)
{
    (void)fprintf(page->to, "<figure id=\"%s\">\n", plot->name);
    page_plot_draw(page->to, plot, inside, what);
    (void)fputs("<figcaption>", page->to);
    page_escape(page->to, caption);
    (void)fputs("</figcaption>\n</figure>\n", page->to);
}

static void list_repeats(char *out, size_t size, const struct page_sample *sample)
{
    size_t used = 0;

    out[0] = '\0';
    for (int i = 0; i < sample->count && used < size; i++) {
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? "; " : "",
                                 page_number(sample->values[i]).text);
    }
}

static void write_row_cells(struct page *page, const struct page_row *row, const char *heading)
{
    const struct page_sample *sample = &row->entry.sample;
    char repeats[CELL_MAX];

    list_repeats(repeats, sizeof repeats, sample);
    page_row_begin(page, row->entry.label);
    page_cell(page, "%s", heading);
    page_cell(page, "%s", page_spread(sample).text);
    page_cell(page, "%s", repeats);
    page_row_end(page);
}

void page_figure_of_rows(struct page *page, const struct page_plot *plot, const char *caption,
                         const struct page_rows *rows)
{
    static const char *const heads[] = {"row", "of", "median (least .. most)", "each repeat", NULL};
    const char *heading = "";

    page_figure(page, plot, caption, page_plot_rows, rows);
    page_table_begin(page, plot->title, heads);
    for (size_t i = 0; i < rows->count; i++) {
        const struct page_row *row = &rows->rows[i];
        if (row->is_heading)
            heading = row->entry.label;
        else
            write_row_cells(page, row, heading);
    }
    page_table_end(page);
}

/* ---- tables ---- */

void page_table_begin(struct page *page, const char *summary, const char *const heads[])
{
    (void)fputs("<details><summary>Numbers: ", page->to);
    (void)fputc(tolower((unsigned char)*summary), page->to);
    page_escape(page->to, summary + 1);
    (void)fputs("</summary>\n", page->to);
    page_table_open(page, summary, heads);
}

void page_table_open(struct page *page, const char *summary, const char *const heads[])
{
    (void)fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"", page->to);
    page_escape(page->to, summary);
    (void)fputs("\"><table>\n<thead><tr>", page->to);
    for (size_t i = 0; heads[i]; i++) {
        (void)fputs("<th scope=\"col\">", page->to);
        page_escape(page->to, heads[i]);
        (void)fputs("</th>", page->to);
    }
    (void)fputs("</tr></thead>\n<tbody>\n", page->to);
}

void page_table_end(struct page *page)
{
    page_table_close(page);
    (void)fputs("</details>\n", page->to);
}

void page_table_close(struct page *page)
{
    (void)fputs("</tbody></table></div>\n", page->to);
}

void page_row_begin(struct page *page, const char *head)
{
    (void)fputs("<tr><th scope=\"row\">", page->to);
    page_escape(page->to, head);
    (void)fputs("</th>", page->to);
}

void page_cell(struct page *page, const char *format, ...)
{
    char text[CELL_MAX];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)fputs("<td>", page->to);
    page_escape(page->to, text);
    (void)fputs("</td>", page->to);
}

void page_row_end(struct page *page)
{
    (void)fputs("</tr>\n", page->to);
}

void page_verdict(struct page *page, const char *verdict)
{
    bool is_good = strcmp(verdict, "pass") == 0 || strcmp(verdict, "held") == 0 ||
                   strcmp(verdict, "showed its flaw") == 0;
    bool is_bad = strcmp(verdict, "fail") == 0 || strcmp(verdict, "broke a promise") == 0;

    (void)fprintf(page->to, "<span class=\"%s\">%s ",
                  is_good  ? "good"
                  : is_bad ? "bad"
                           : "open",
                  is_good  ? "✓"
                  : is_bad ? "✗"
                           : "?");
    page_escape(page->to, verdict);
    (void)fputs("</span>", page->to);
}

void page_verdict_cell(struct page *page, const char *verdict)
{
    (void)fputs("<td>", page->to);
    page_verdict(page, verdict);
    (void)fputs("</td>", page->to);
}

/* ---- JSON ---- */

bool page_measured(const json_t *object, const char *name, struct page_sample *out_sample)
{
    const json_t *measured = json_object_get(object, name);
    return page_sample_read(json_object_get(measured, "repeats"), out_sample);
}

const char *page_string(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "?";
}

double page_real(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : -1;
}
