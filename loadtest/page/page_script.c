/*
 * The three kinds of picture, as gnuplot scripts with their data inside. Sizes are pixels of the
 * script's own variables `width` and `height`, so that the same script serves wide and narrow
 * screens. Pure but for the stream.
 */
#include <math.h>
#include <string.h>

#include "page_plot.h"

enum {
    ROW_PX = 22,
    ROWS_MARGIN_PX = 66,
    STRIP_PX = 92,
    STRIPS_MARGIN_PX = 88,
    MARK_PX = 18, /* for the words of the mark, above all strips */
    COLOUR_BASE = 0x010200,
    TICKS = 4,
};

/* Inside single quotes; what gnuplot might take for more than text goes. */
static void write_quoted(FILE *to, const char *text)
{
    (void)fputc('\'', to);
    for (const char *at = text; *at; at++) {
        bool is_text = (unsigned char)*at >= ' ' && *at != 0x7f && *at != '`' && *at != '"';
        if (*at == '\'') (void)fputc('\'', to);
        (void)fputc(is_text ? *at : ' ', to);
    }
    (void)fputc('\'', to);
}

/* In a datablock: no quote, no line end. */
static void write_column(FILE *to, const char *text)
{
    (void)fputc('"', to);
    for (const char *at = text; *at; at++)
        (void)fputc((unsigned char)*at < ' ' || *at == '"' || *at == '`' || *at == '\\' ? ' ' : *at,
                    to);
    (void)fputc('"', to);
}

/* ---- axes ---- */

/* The least of 1, 2, 5 times a power of ten that is not less. */
static double round_up(double value)
{
    double decade = pow(10, floor(log10(value)));

    for (int i = 0; i < 3; i++) {
        double step = decade * (double[]){1, 2, 5}[i];
        if (step >= value * (1 - 1e-9)) return step;
    }
    return decade * 10;
}

static void write_tick(FILE *to, double at, bool is_first)
{
    char text[PAGE_NUMBER_MAX];

    if (at >= 1000)
        page_number(text, at);
    else
        (void)snprintf(text, sizeof text, "%g", at);
    (void)fprintf(to, "%s'%s' %.9g", is_first ? "" : ", ", text, at);
}

/* From 0 on, some four ticks. */
static void write_linear_ticks(FILE *to, const char *axis, double most, int ticks)
{
    double step = most > 0 ? round_up(most / ticks) : 1;

    (void)fprintf(to, "set %stics (", axis);
    for (int i = 0; i * step <= most * 1.0001 || i < 2; i++)
        write_tick(to, i * step, i == 0);
    (void)fputs(")\n", to);
}

/* Powers of ten, and what lies between them when there are few. */
static void write_log_ticks(FILE *to, double least, double most)
{
    static const struct {
        double span;
        double steps[3]; /* 0 ends */
    } densities[] = {{30, {1, 2, 5}}, {300, {1, 3, 0}}, {HUGE_VAL, {1, 0, 0}}};
    size_t density = 0;
    bool is_first = true;

    while (most / least > densities[density].span)
        density++;
    (void)fputs("set xtics (", to);
    for (int power = (int)floor(log10(least)); power <= (int)floor(log10(most)); power++) {
        for (int i = 0; i < 3; i++) {
            double at = pow(10, power) * densities[density].steps[i];
            if (at < least || at > most) continue;
            write_tick(to, at, is_first);
            is_first = false;
        }
    }
    (void)fputs(")\n", to);
}

static void write_axis_label(FILE *to, const char *axis, const char *text)
{
    (void)fprintf(to, "set %slabel ", axis);
    write_quoted(to, text);
    (void)fprintf(to, "%s textcolor rgb '#010202'\n", *axis == 'x' ? " offset 0,0.4" : "");
}

static void write_grid(FILE *to, const char *axis)
{
    (void)fprintf(to, "set grid %stics linetype 1 linewidth 0.7 linecolor rgb '#010203'\n", axis);
}

/* ---- rows ---- */

/* The first row has the highest y, the last one 1. */
int page_rows_height(size_t count)
{
    return (int)count * ROW_PX + ROWS_MARGIN_PX;
}

static bool is_shown(const struct page_row *row, bool is_log)
{
    return !row->is_heading && row->entry.sample.count > 0 &&
           (!is_log || row->entry.sample.least > 0);
}

/* Of all that is shown. */
static void find_range(const struct page_row *rows, size_t count, bool is_log, double *out_least,
                       double *out_most)
{
    double least = HUGE_VAL;
    double most = 0;

    for (size_t i = 0; i < count; i++) {
        if (!is_shown(&rows[i], is_log)) continue;
        least = fmin(least, rows[i].entry.sample.least);
        most = fmax(most, rows[i].entry.sample.most);
    }
    *out_least = isfinite(least) ? least : 1;
    *out_most = most > 0 ? most : 10;
}

static void write_row_axis(FILE *to, const struct page_row *rows, size_t count, const char *axis,
                           bool is_log)
{
    double least = 0;
    double most = 0;

    find_range(rows, count, is_log, &least, &most);
    write_axis_label(to, "x", axis);
    write_grid(to, "x");
    if (is_log) {
        double span = most / least;
        least /= 1.3;
        (void)fprintf(to,
                      "set logscale x\nset xrange [%.9g:%.9g*%.9g**(width < %d ? 0.4 : 0.16)]\n",
                      least, most * 1.2, span > 5 ? span : 5, PAGE_WIDE);
        write_log_ticks(to, least, most * 1.2);
    } else {
        (void)fprintf(to, "set xrange [0:%.9g*(width < %d ? 1.32 : 1.16)]\n", most, PAGE_WIDE);
        write_linear_ticks(to, "x", most * 1.05, TICKS);
    }
}

static void write_row_names(FILE *to, const struct page_row *rows, size_t count)
{
    bool is_first = true;

    (void)fprintf(to, "set yrange [0.3:%zu.7]\nset ytics scale 0 (", count);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].is_heading) continue;
        (void)fputs(is_first ? "" : ", ", to);
        write_quoted(to, rows[i].entry.label);
        (void)fprintf(to, " %zu", count - i);
        is_first = false;
    }
    (void)fputs(")\n", to);
}

static void write_headings(FILE *to, const struct page_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!rows[i].is_heading) continue;
        (void)fputs("set label ", to);
        write_quoted(to, rows[i].entry.label);
        (void)fprintf(to,
                      " at graph 0, first %zu left offset character 0.5,0 "
                      "font 'sans-serif:Bold,13' textcolor rgb '#0102%02x'\n",
                      count - i, (unsigned)rows[i].colour);
    }
}

/* x, y, least, most, colour of every row, for medians and ranges. */
static void write_row_sums(FILE *to, const struct page_row *rows, size_t count, bool is_log)
{
    (void)fputs("$rows << EOD\n", to);
    for (size_t i = 0; i < count; i++) {
        const struct page_sample *sample = &rows[i].entry.sample;
        char text[PAGE_NUMBER_MAX];
        if (!is_shown(&rows[i], is_log)) continue;
        page_number(text, sample->median);
        (void)fprintf(to, "%.9g %zu %.9g %.9g %d ", sample->median, count - i, sample->least,
                      sample->most, COLOUR_BASE + (int)rows[i].colour);
        write_column(to, text);
        (void)fputc('\n', to);
    }
    (void)fputs("1 -9 1 1 0 \"\"\nEOD\n", to); /* out of sight: gnuplot wants one line */
}

/* Each repeat. Those of a row lie a little above each other, in their order. */
static void write_row_dots(FILE *to, const struct page_row *rows, size_t count, bool is_log)
{
    (void)fputs("$dots << EOD\n", to);
    for (size_t i = 0; i < count; i++) {
        const struct page_sample *sample = &rows[i].entry.sample;
        for (int n = 0; is_shown(&rows[i], is_log) && n < sample->count; n++)
            (void)fprintf(to, "%.9g %.3f %d\n", sample->values[n],
                          (double)(count - i) + 0.36 * ((n + 0.5) / sample->count - 0.5),
                          COLOUR_BASE + (int)rows[i].colour);
    }
    (void)fputs("1 -9 0\nEOD\n", to);
}

void page_rows_script(FILE *to, const struct page_row *rows, size_t count, const char *axis,
                      bool is_log)
{
    (void)fputs("set border 1 linecolor rgb '#010202'\n", to);
    write_row_axis(to, rows, count, axis, is_log);
    write_row_names(to, rows, count);
    write_headings(to, rows, count);
    write_row_sums(to, rows, count, is_log);
    write_row_dots(to, rows, count, is_log);
    (void)fputs("plot $rows using 3:2:($4-$3):(0):5 with vectors nohead linewidth 1.2 "
                "linecolor rgb variable, \\\n"
                "  $dots using 1:2:3 with points pointtype 7 pointsize 0.5 "
                "linecolor rgb variable, \\\n"
                "  $rows using 1:($2-0.36):(0):(0.72) with vectors nohead linewidth 2.5 "
                "linecolor rgb '#010201', \\\n"
                "  $rows using 4:2:6 with labels left offset character 0.8,0 "
                "font 'sans-serif,12' textcolor rgb '#010201'\n",
                to);
}

/* ---- a curve ---- */

static void write_curve_data(FILE *to, const struct page_entry *entries, const double *at,
                             size_t count)
{
    (void)fputs("$medians << EOD\n", to);
    for (size_t i = 0; i < count; i++) {
        const struct page_sample *sample = &entries[i].sample;
        char text[PAGE_NUMBER_MAX];
        page_number(text, sample->median);
        (void)fprintf(to, "%.9g %.9g %.9g %.9g ", at[i], sample->median, sample->least,
                      sample->most);
        write_column(to, text);
        (void)fputc('\n', to);
    }
    (void)fputs("EOD\n$dots << EOD\n", to);
    for (size_t i = 0; i < count; i++) {
        const struct page_sample *sample = &entries[i].sample;
        for (int n = 0; n < sample->count; n++)
            (void)fprintf(to, "%.9g %.9g\n",
                          at[i] * pow(1.12, 2 * ((n + 0.5) / sample->count - 0.5)),
                          sample->values[n]);
    }
    (void)fputs("EOD\n", to);
}

void page_curve_script(FILE *to, const struct page_entry *entries, const double *at, size_t count,
                       const char *x_axis, const char *y_axis)
{
    double most = 0;

    for (size_t i = 0; i < count; i++)
        most = fmax(most, entries[i].sample.most);
    if (most <= 0) most = 1; /* nothing was sold anywhere */
    (void)fputs("set border 3 linecolor rgb '#010202'\n", to);
    write_axis_label(to, "x", x_axis);
    write_axis_label(to, "y", y_axis);
    write_grid(to, "y");
    (void)fprintf(to, "set logscale x 2\nset xrange [%.9g:%.9g]\nset yrange [0:%.9g]\n",
                  at[0] / 1.8, at[count - 1] * 1.8, most * 1.15);
    write_linear_ticks(to, "y", most * 1.15, TICKS);
    (void)fputs("set xtics (", to);
    for (size_t i = 0; i < count; i++)
        write_tick(to, at[i], i == 0);
    (void)fputs(")\n", to);
    write_curve_data(to, entries, at, count);
    (void)fputs("plot $medians using 1:2 with lines linewidth 1 linecolor rgb '#010203', \\\n"
                "  $medians using 1:3:(0):($4-$3) with vectors nohead linewidth 1.2 "
                "linecolor rgb '#010204', \\\n"
                "  $dots using 1:2 with points pointtype 7 pointsize 0.5 "
                "linecolor rgb '#010204', \\\n"
                "  $medians using ($1/1.16):2:($1*(1.16-1/1.16)):(0) with vectors nohead "
                "linewidth 2.5 linecolor rgb '#010201', \\\n"
                "  $medians using 1:4:5 with labels center offset character 0,0.9 "
                "font 'sans-serif,12' textcolor rgb '#010201'\n",
                to);
}

/* ---- strips ---- */

int page_strips_height(size_t count)
{
    return (int)count * STRIP_PX + STRIPS_MARGIN_PX;
}

static double most_of(const struct page_strip *strip, size_t slices)
{
    double most = 0;

    for (size_t i = 0; i < slices; i++)
        most = fmax(most, strip->per_s[i]);
    return most > 0 ? most : 1;
}

static void write_strip_data(FILE *to, const struct page_strip *strips, size_t count, size_t slices,
                             double slice_ms)
{
    (void)fputs("$slices << EOD\n", to);
    for (size_t i = 0; i <= slices; i++) { /* the last one twice: a step has two ends */
        (void)fprintf(to, "%.9g", (double)i * slice_ms / 1000);
        for (size_t n = 0; n < count; n++)
            (void)fprintf(to, " %.9g", strips[n].per_s[i < slices ? i : slices - 1]);
        (void)fputc('\n', to);
    }
    (void)fputs("EOD\n", to);
}

static void write_mark(FILE *to, double mark_ms, double span_s, const char *mark)
{
    if (mark_ms < 0) return;
    (void)fprintf(to,
                  "set arrow 1 from %.9g, graph 0 to %.9g, graph 1 nohead linewidth 1.2 "
                  "dashtype (6,4) linecolor rgb '#010201'\n",
                  mark_ms / 1000, mark_ms / 1000);
    if (!mark) return;
    bool is_late = mark_ms / 1000 > span_s * 0.55;
    (void)fputs("set label 2 ", to);
    write_quoted(to, mark);
    (void)fprintf(to,
                  " at %.9g, graph 1 %s offset character %s,2 font 'sans-serif,12' "
                  "textcolor rgb '#010201'\n",
                  mark_ms / 1000, is_late ? "right" : "left", is_late ? "-0.2" : "0.2");
}

static void write_strip(FILE *to, const struct page_strip *strip, size_t which, size_t count,
                        size_t slices)
{
    double most = most_of(strip, slices);
    double step = round_up(most / 2);
    double top = ceil(most / step) * step;
    bool is_last = which + 1 == count;

    (void)fprintf(to,
                  "set tmargin at screen 1 - (%d + 32.0)/height\n"
                  "set bmargin at screen 1 - (%d + 4.0)/height\n"
                  "set yrange [0:%.9g]\n",
                  MARK_PX + (int)which * STRIP_PX, MARK_PX + ((int)which + 1) * STRIP_PX, top);
    write_linear_ticks(to, "y", top, 2);
    (void)fputs("set label 1 ", to);
    write_quoted(to, strip->label);
    (void)fprintf(to,
                  " at graph 0, graph 1 left offset character 0,0.7 font 'sans-serif:Bold,13' "
                  "textcolor rgb '#0102%02x'\n",
                  (unsigned)strip->colour);
    if (is_last) {
        write_axis_label(to, "x", "seconds since the first request");
        (void)fputs("set format x '%g'\n", to);
    }
    (void)fprintf(to,
                  "plot $slices using 1:%zu with fillsteps fillstyle solid 0.35 noborder "
                  "linecolor rgb '#0102%02x', \\\n"
                  "  $slices using 1:%zu with steps linewidth 1.4 linecolor rgb '#0102%02x'\n",
                  which + 2, (unsigned)strip->colour, which + 2, (unsigned)strip->colour);
    (void)fputs("unset label 2\n", to);
}

void page_strips_script(FILE *to, const struct page_strip *strips, size_t count, size_t slices,
                        double slice_ms, double mark_ms, const char *mark)
{
    double span_s = (double)slices * slice_ms / 1000;

    write_strip_data(to, strips, count, slices, slice_ms);
    (void)fputs("set border 3 linecolor rgb '#010202'\n"
                "set lmargin at screen 62.0/width\nset rmargin at screen 1 - 14.0/width\n"
                "set format x ''\n",
                to);
    (void)fprintf(to, "set xrange [0:%.9g]\nset xtics %.9g\n", span_s, round_up(span_s / 5));
    write_grid(to, "y");
    (void)fputs("set multiplot\n", to);
    for (size_t i = 0; i < count; i++) {
        write_mark(to, mark_ms, span_s, i == 0 ? mark : NULL);
        write_strip(to, &strips[i], i, count, slices);
    }
    (void)fputs("unset multiplot\n", to);
}
