/*
 * Pictures: SVG for the inside of a page, or by itself, in the page's own colours (light and dark). Nothing is loaded from
 * anywhere.
 */
#ifndef LOADTEST_PAGE_PLOT_H
#define LOADTEST_PAGE_PLOT_H

#include "page_words.h"

/* Colours of the page, by the number of the style sheet's variable: --c1 ... */
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

enum { PAGE_WIDE = 720, PAGE_NARROW = 380, PAGE_PATH_MAX = 1024 };

/* A picture that is being made. */
struct page_plot {
    const char *name;  /* [a-z-]+, unique on the page */
    const char *title; /* for who cannot see it: what it is ... */
    const char *text;  /* ... and what it shows */
    int height;        /* in pixels */
};

/* Draws what is inside of a picture, that wide. */
typedef void page_plot_inside(FILE *to, const struct page_plot *plot, int width, const void *what);

/* The picture, for a wide and for a narrow screen. */
void page_plot_draw(FILE *to, const struct page_plot *plot, page_plot_inside *inside,
                    const void *what);

/* The same as a file of its own. */
void page_plot_alone(FILE *to, const struct page_plot *plot, page_plot_inside *inside,
                     const void *what);
extern const char page_plot_colours[]; /* CSS */

/* Rows of dots: one row for each entry, its repeats, median and range; or a heading. */
struct page_row {
    struct page_entry entry;
    page_colour colour;
    bool is_heading;
};

struct page_rows {
    const struct page_row *rows;
    size_t count;
    const char *axis;
    bool is_log; /* the axis is logarithmic, values of 0 are left out */
};

int page_plot_rows_height(size_t count);
/* `what` is a struct page_rows; below a struct page_curve, a struct page_strips. */
void page_plot_rows(FILE *to, const struct page_plot *plot, int width, const void *what);

/* Samples over a number that doubles: 1, 4, 16, ... */
struct page_curve {
    const struct page_entry *entries;
    const double *at; /* one for each entry */
    size_t count;
    const char *x_axis, *y_axis;
};

void page_plot_curve(FILE *to, const struct page_plot *plot, int width, const void *what);

/* Strips over time: a rate for each slice, an outcome in each strip. */
struct page_strip {
    const char *label;
    page_colour colour;
    const double *per_s;
};

struct page_strips {
    const struct page_strip *strips;
    size_t count, slices;
    double slice_ms, mark_ms; /* mark_ms < 0: there is nothing to mark */
    const char *mark;
};

/* A story of audit_story_json(): what was asked, from when to when; `what` is a json_t. */
struct page_plot page_plot_of_story(const json_t *story);
void page_plot_story(FILE *to, const struct page_plot *plot, int width, const void *what);

int page_plot_strips_height(size_t count);
void page_plot_strips(FILE *to, const struct page_plot *plot, int width, const void *what);

#endif
