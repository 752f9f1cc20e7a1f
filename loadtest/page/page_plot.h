/*
 * Pictures: data and script for gnuplot, and its SVG made fit for a page: colours become the page's
 * own (light and dark), names unique, nothing is loaded from anywhere.
 */
#ifndef LOADTEST_PAGE_PLOT_H
#define LOADTEST_PAGE_PLOT_H

#include "base/failure.h"
#include "page_words.h"

/* Colours of the page, by the number of the style sheet's variable: --c1 ... In the scripts colour N
 * is rgb(1,2,N). */
typedef enum page_colour {
    PAGE_INK = 1,
    PAGE_AXIS,
    PAGE_GRID,
    PAGE_BLUE, /* sold; the first of two */
    PAGE_GREEN,
    PAGE_ORANGE,
    PAGE_GREY,
    PAGE_RED,
    PAGE_PURPLE,
} page_colour;

enum { PAGE_WIDE = 720, PAGE_NARROW = 380, PAGE_PATH_MAX = 1024, PAGE_PLOTS_MAX = 16 };

/* A picture that is being made. */
struct page_plot {
    const char *name;  /* [a-z-]+, unique on the page */
    const char *title; /* for who cannot see it: what it is ... */
    const char *text;  /* ... and what it shows */
    int height;        /* in pixels */
};

/* Rows of dots: one row for each entry, its repeats, median and range; or a heading. */
struct page_row {
    struct page_entry entry;
    page_colour colour;
    bool is_heading;
};

int page_rows_height(size_t count);
/* Write the script. `is_log`: the axis is logarithmic, values of 0 are left out. */
void page_rows_script(FILE *to, const struct page_row *rows, size_t count, const char *axis,
                      bool is_log);

/* Samples over a number that doubles: 1, 4, 16, ... `at` has one for each entry. */
void page_curve_script(FILE *to, const struct page_entry *entries, const double *at, size_t count,
                       const char *x_axis, const char *y_axis);

/* A strip over time: a rate for each slice. */
struct page_strip {
    const char *label;
    page_colour colour;
    const double *per_s;
};

int page_strips_height(size_t count);
/* mark_ms < 0: there is nothing to mark. */
void page_strips_script(FILE *to, const struct page_strip *strips, size_t count, size_t slices,
                        double slice_ms, double mark_ms, const char *mark);

/*
 * Run gnuplot on DIR/NAME.gp, which page_plot_open() opened, for a wide and a narrow screen, and
 * write both pictures.
 *
 * Returns  false   no gnuplot, or it refused the script; `failure` says what to do.
 */
FILE *page_plot_open(const struct page_plot *plot, const char *dir, struct failure *failure);
bool page_plot_draw(FILE *to, const struct page_plot *plot, const char *dir,
                    struct failure *failure);

/* One SVG of gnuplot's, for the inside of a page; false: it is not one. */
bool page_svg_write(FILE *to, const char *svg, const struct page_plot *plot, const char *variant);

#endif
