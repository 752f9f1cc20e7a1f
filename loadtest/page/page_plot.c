/*
 * The kinds of picture. Pure but for the stream.
 */
#include "page_plot.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum {
    ROW_PX = 22,
    ROWS_MARGIN_PX = 66,
    STRIP_PX = 92,
    STRIPS_MARGIN_PX = 88,
    MARK_PX = 18, /* for the words of the mark, above all strips */
    TICK_PX = 4,
    LETTER_PX = 8, /* of a wide letter */
    TICKS = 4,
    EVENT_PX = 36,
};

const char page_plot_colours[] =
    ":root{color-scheme:light dark;--paper:#fff;--shade:#f4f4f2;"
    "--c1:#1b1b1b;--c2:#555;--c3:#d9d9d6;--c4:#0067a5;--c5:#00785a;--c6:#b35900;--c7:#6f6f6f;"
    "--c8:#c2281f;--c9:#8a3c8f}\n"
    "@media(prefers-color-scheme:dark){:root{--paper:#16181a;--shade:#222528;"
    "--c1:#ececea;--c2:#b0b0ad;--c3:#3d4145;--c4:#62b4ec;--c5:#3fc79c;--c6:#f0a24a;--c7:#a3a3a0;"
    "--c8:#ff8577;--c9:#d79be0}}\n";

/* ---- axes ---- */

/* Values, and the pixels where they are. */
struct axis {
    double least, most, from, to;
    bool is_log;
};

struct frame {
    struct axis x, y; /* y goes up: from is below to */
};

static double place(const struct axis *axis, double value)
{
    double share = axis->is_log ? log(value / axis->least) / log(axis->most / axis->least)
                                : (value - axis->least) / (axis->most - axis->least);

    return axis->from + share * (axis->to - axis->from);
}

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

static void write_text(FILE *to, double x, double y, const char *attributes, const char *text)
{
    (void)fprintf(to, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
    page_escape(to, text);
    (void)fputs("</text>\n", to);
}

static void write_number(FILE *to, double x, double y, const char *attributes, double number)
{
    char text[PAGE_NUMBER_MAX];

    (void)snprintf(text, sizeof text, "%g", number);
    write_text(to, x, y, attributes, number >= 1000 ? page_number(number).text : text);
}

/* A path, which takes printf's format. */
__attribute__((format(printf, 4, 5))) static void
write_line(FILE *to, page_colour colour, const char *more, const char *path, ...)
{
    va_list args;

    (void)fputs("<path d=\"", to);
    va_start(args, path);
    (void)vfprintf(to, path, args);
    va_end(args);
    (void)fprintf(to, "\" stroke=\"var(--c%d)\" fill=\"none\" %s/>\n", (int)colour, more);
}

static void write_dot(FILE *to, double x, double y, page_colour colour)
{
    (void)fprintf(to, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.4\" fill=\"var(--c%d)\"/>\n", x, y,
                  (int)colour);
}

static const char middle[] = "text-anchor=\"middle\" fill=\"var(--c2)\"";
static const char at_end[] = "text-anchor=\"end\" fill=\"var(--c2)\"";
static const char value_style[] = "font-size=\"12\" fill=\"var(--c1)\"";

static void write_x_tick(FILE *to, const struct frame *frame, double value)
{
    double x = place(&frame->x, value);

    write_line(to, PAGE_AXIS, "", "M%.1f %.1fv%d", x, frame->y.from, TICK_PX);
    write_number(to, x, frame->y.from + 18, middle, value);
}

static void write_x_grid(FILE *to, const struct frame *frame, double value)
{
    write_line(to, PAGE_GRID, "stroke-width=\"0.7\"", "M%.1f %.1fV%.1f", place(&frame->x, value),
               frame->y.from, frame->y.to);
}

/* With their grid, from 0 on. */
static void write_y_ticks(FILE *to, const struct frame *frame, double step)
{
    for (int i = 0; i * step <= frame->y.most * 1.0001; i++) {
        double y = place(&frame->y, i * step);
        write_line(to, PAGE_GRID, "stroke-width=\"0.7\"", "M%.1f %.1fH%.1f", frame->x.from, y,
                   frame->x.to);
        write_line(to, PAGE_AXIS, "", "M%.1f %.1fh%d", frame->x.from, y, -TICK_PX);
        write_number(to, frame->x.from - TICK_PX - 4, y + 4, at_end, i * step);
    }
}

/* The axes themselves. */
static void write_frame(FILE *to, const struct frame *frame, bool has_y)
{
    write_line(to, PAGE_AXIS, "", "M%.1f %.1fV%.1fH%.1f", frame->x.from,
               has_y ? frame->y.to : frame->y.from, frame->y.from, frame->x.to);
}

static void write_x_name(FILE *to, const struct frame *frame, const char *name)
{
    write_text(to, (frame->x.from + frame->x.to) / 2, frame->y.from + 38, middle, name);
}

static void write_heading(FILE *to, double x, double y, page_colour colour, const char *text)
{
    char attributes[60];

    (void)snprintf(attributes, sizeof attributes, "font-weight=\"600\" fill=\"var(--c%d)\"",
                   (int)colour);
    write_text(to, x, y, attributes, text);
}

/* ---- a picture ---- */

static void draw_one(FILE *to, const struct page_plot *plot, int width, page_plot_inside *inside,
                     const void *what)
{
    const char *variant = width == PAGE_WIDE ? "wide" : "narrow";

    (void)fprintf(to,
                  "<svg class=\"%s\" viewBox=\"0 0 %d %d\" font-size=\"13\" role=\"img\" "
                  "aria-labelledby=\"%s-%s-title %s-%s-text\">\n<title id=\"%s-%s-title\">",
                  variant, width, plot->height, plot->name, variant, plot->name, variant,
                  plot->name, variant);
    page_escape(to, plot->title);
    (void)fprintf(to, "</title>\n<desc id=\"%s-%s-text\">", plot->name, variant);
    page_escape(to, plot->text);
    (void)fputs("</desc>\n", to);
    inside(to, plot, width, what);
    (void)fputs("</svg>\n", to);
}

void page_plot_draw(FILE *to, const struct page_plot *plot, page_plot_inside *inside,
                    const void *what)
{
    draw_one(to, plot, PAGE_WIDE, inside, what);
    draw_one(to, plot, PAGE_NARROW, inside, what);
}

void page_plot_alone(FILE *to, const struct page_plot *plot, page_plot_inside *inside,
                     const void *what)
{
    (void)fprintf(to,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
                  "font-family=\"sans-serif\" style=\"background:var(--paper)\">\n"
                  "<style>%s</style>\n",
                  PAGE_WIDE, plot->height, page_plot_colours);
    draw_one(to, plot, PAGE_WIDE, inside, what);
    (void)fputs("</svg>\n", to);
}

/* ---- rows ---- */

int page_plot_rows_height(size_t count)
{
    return (int)count * ROW_PX + ROWS_MARGIN_PX;
}

static bool is_shown(const struct page_row *row, bool is_log)
{
    return !row->is_heading && row->entry.sample.count > 0 &&
           (!is_log || row->entry.sample.least > 0);
}

/* Room for the longest name, unless that takes too much. */
static double names_px(const struct page_rows *rows, int width)
{
    size_t longest = 0;

    for (size_t i = 0; i < rows->count; i++) {
        size_t length = strlen(rows->rows[i].entry.label);
        if (!rows->rows[i].is_heading && length > longest) longest = length;
    }
    return fmin((double)longest * LETTER_PX + 18, width * 0.45);
}

/* Of all that is shown, with room for the number behind it. */
static struct axis axis_of_rows(const struct page_rows *rows, int width)
{
    struct axis axis = {HUGE_VAL, 0, names_px(rows, width), width - 10, rows->is_log};
    double room = width < PAGE_WIDE ? 0.4 : 0.16;

    for (size_t i = 0; i < rows->count; i++) {
        if (!is_shown(&rows->rows[i], rows->is_log)) continue;
        axis.least = fmin(axis.least, rows->rows[i].entry.sample.least);
        axis.most = fmax(axis.most, rows->rows[i].entry.sample.most);
    }
    if (!isfinite(axis.least)) axis.least = 1;
    if (axis.most <= 0) axis.most = 10;
    double span = axis.most / axis.least;
    if (rows->is_log) {
        axis.least /= 1.3;
        axis.most *= 1.2 * pow(fmax(span, 5), room);
    } else {
        axis.least = 0;
        axis.most *= 1 + fmin(room, 0.32);
    }
    return axis;
}

/* Powers of ten, and what lies between them when there are few; or from 0 on, some four. */
static size_t list_ticks(const struct axis *axis, double ticks[], size_t most)
{
    static const struct {
        double span;
        double steps[3]; /* 0 ends */
    } densities[] = {{30, {1, 2, 5}}, {300, {1, 3, 0}}, {HUGE_VAL, {1, 0, 0}}};
    double step = round_up(axis->most / (TICKS + 1)); /* behind the last there is room */
    size_t density = 0;
    size_t count = 0;

    for (int i = 0; !axis->is_log && i * step <= axis->most && count < most; i++)
        ticks[count++] = i * step;
    if (!axis->is_log) return count;
    while (axis->most / axis->least > densities[density].span)
        density++;
    for (int power = (int)floor(log10(axis->least)); power <= (int)floor(log10(axis->most));
         power++)
        for (int i = 0; i < 3; i++) {
            double at = pow(10, power) * densities[density].steps[i];
            if (at >= axis->least && at <= axis->most && count < most) ticks[count++] = at;
        }
    return count;
}

/* A repeat is a dot; those of a row lie a little above each other, in their order. */
static void write_row(FILE *to, const struct frame *frame, const struct page_row *row, double y)
{
    const struct page_sample *sample = &row->entry.sample;
    double most = place(&frame->x, sample->most);

    write_line(to, row->colour, "stroke-width=\"1.2\"", "M%.1f %.1fH%.1f",
               place(&frame->x, sample->least), y, most);
    for (int n = 0; n < sample->count; n++)
        write_dot(to, place(&frame->x, sample->values[n]),
                  y - ROW_PX * 0.36 * ((n + 0.5) / sample->count - 0.5), row->colour);
    write_line(to, PAGE_INK, "stroke-width=\"2.5\"", "M%.1f %.1fv%.1f",
               place(&frame->x, sample->median), y - ROW_PX * 0.36, ROW_PX * 0.72);
    write_text(to, most + 7, y + 4, value_style, page_number(sample->median).text);
}

void page_plot_rows(FILE *to, const struct page_plot *plot, int width, const void *what)
{
    const struct page_rows *rows = what;
    struct frame frame = {.x = axis_of_rows(rows, width), .y = {0, 1, plot->height - 50, 8, false}};
    double ticks[64];
    size_t count = list_ticks(&frame.x, ticks, sizeof ticks / sizeof *ticks);

    for (size_t i = 0; i < count; i++) {
        write_x_grid(to, &frame, ticks[i]);
        write_x_tick(to, &frame, ticks[i]);
    }
    write_frame(to, &frame, false);
    write_x_name(to, &frame, rows->axis);
    for (size_t i = 0; i < rows->count; i++) {
        const struct page_row *row = &rows->rows[i];
        double y = frame.y.to + ((double)i + 0.5) * ROW_PX;
        if (row->is_heading)
            write_heading(to, frame.x.from + 5, y + 4, row->colour, row->entry.label);
        else
            write_text(to, frame.x.from - 8, y + 4, at_end, row->entry.label);
        if (is_shown(row, rows->is_log)) write_row(to, &frame, row, y);
    }
}

/* ---- a curve ---- */

/* Its medians are joined by a thin line. */
static void write_medians(FILE *to, const struct frame *frame, const struct page_curve *curve)
{
    (void)fputs("<polyline points=\"", to);
    for (size_t i = 0; i < curve->count; i++)
        (void)fprintf(to, "%.1f,%.1f ", place(&frame->x, curve->at[i]),
                      place(&frame->y, curve->entries[i].sample.median));
    (void)fprintf(to, "\" stroke=\"var(--c%d)\" fill=\"none\"/>\n", PAGE_GRID);
}

static void write_sample(FILE *to, const struct frame *frame, double at,
                         const struct page_sample *sample)
{
    double x = place(&frame->x, at);
    double half = place(&frame->x, at * 1.16) - x;

    write_line(to, PAGE_BLUE, "stroke-width=\"1.2\"", "M%.1f %.1fV%.1f", x,
               place(&frame->y, sample->least), place(&frame->y, sample->most));
    for (int n = 0; n < sample->count; n++)
        write_dot(to, x + half * 1.5 * ((n + 0.5) / sample->count - 0.5),
                  place(&frame->y, sample->values[n]), PAGE_BLUE);
    write_line(to, PAGE_INK, "stroke-width=\"2.5\"", "M%.1f %.1fh%.1f", x - half,
               place(&frame->y, sample->median), 2 * half);
    write_text(to, x, place(&frame->y, sample->most) - 9,
               "text-anchor=\"middle\" font-size=\"12\" fill=\"var(--c1)\"",
               page_number(sample->median).text);
}

void page_plot_curve(FILE *to, const struct page_plot *plot, int width, const void *what)
{
    const struct page_curve *curve = what;
    struct frame frame = {
        .x = {curve->at[0] / 1.8, curve->at[curve->count - 1] * 1.8, 78, width - 12, true},
        .y = {0, 0, plot->height - 50, 12, false}};
    char turned[80];

    for (size_t i = 0; i < curve->count; i++)
        frame.y.most = fmax(frame.y.most, curve->entries[i].sample.most);
    if (frame.y.most <= 0) frame.y.most = 1; /* nothing was sold anywhere */
    frame.y.most *= 1.15;
    write_y_ticks(to, &frame, round_up(frame.y.most / TICKS));
    for (size_t i = 0; i < curve->count; i++)
        write_x_tick(to, &frame, curve->at[i]);
    write_frame(to, &frame, true);
    write_x_name(to, &frame, curve->x_axis);
    (void)snprintf(turned, sizeof turned, "transform=\"rotate(-90)\" %s", middle);
    write_text(to, -(frame.y.from + frame.y.to) / 2, 14, turned, curve->y_axis);
    write_medians(to, &frame, curve);
    for (size_t i = 0; i < curve->count; i++)
        write_sample(to, &frame, curve->at[i], &curve->entries[i].sample);
}

/* ---- a story ---- */

struct page_plot page_plot_of_story(const json_t *story)
{
    size_t count = json_array_size(json_object_get(story, "events"));

    return (struct page_plot){
        .name = "story",
        .title = "What the first buyer who was wronged asked, was told, and has",
        .text = "Of each request a bar, from asking to the answer, dashed when none came; then "
                "what Redis has of this buyer.",
        .height = (int)count * EVENT_PX + ROWS_MARGIN_PX};
}

static const char *word_of(const json_t *object, const char *name)
{
    const char *word = json_string_value(json_object_get(object, name));

    return word ? word : "?";
}

/* Asked, and answered, or never: then to the right. */
static void write_event(FILE *to, const struct frame *frame, const json_t *event, double y)
{
    const json_t *from = json_object_get(event, "from_ms");
    const json_t *till = json_object_get(event, "to_ms");
    char words[240];

    (void)snprintf(words, sizeof words, "%.80s: %.128s", word_of(event, "what"),
                   word_of(event, "words"));
    write_text(to, frame->x.from, y + 14, value_style, words);
    if (!json_is_number(from)) return;
    double x = place(&frame->x, json_number_value(from));
    double end = json_is_number(till) ? place(&frame->x, json_number_value(till)) : frame->x.to;
    write_line(to, json_is_number(till) ? PAGE_BLUE : PAGE_RED,
               json_is_number(till) ? "stroke-width=\"8\""
                                    : "stroke-width=\"8\" stroke-dasharray=\"4 4\"",
               "M%.1f %.1fH%.1f", x, y + 24, fmax(end, x + 2));
}

void page_plot_story(FILE *to, const struct page_plot *plot, int width, const void *what)
{
    const json_t *events = json_object_get(what, "events");
    struct frame frame = {.x = {0, 1, 10, width - 20, false},
                          .y = {0, 1, plot->height - 50, 8, false}};
    double ticks[64];
    char axis[160];

    (void)snprintf(axis, sizeof axis, "milliseconds since %.80s first asked",
                   word_of(what, "buyer"));
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);

        frame.x.most = fmax(frame.x.most, json_number_value(json_object_get(event, "from_ms")));
        frame.x.most = fmax(frame.x.most, json_number_value(json_object_get(event, "to_ms")));
    }
    size_t count = list_ticks(&frame.x, ticks, sizeof ticks / sizeof *ticks);
    for (size_t i = 0; i < count; i++) {
        write_x_grid(to, &frame, ticks[i]);
        write_x_tick(to, &frame, ticks[i]);
    }
    write_frame(to, &frame, false);
    write_x_name(to, &frame, axis);
    for (size_t i = 0; i < json_array_size(events); i++)
        write_event(to, &frame, json_array_get(events, i), frame.y.to + (double)i * EVENT_PX);
}

/* ---- strips ---- */

int page_plot_strips_height(size_t count)
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

/* A line that goes in steps; `end` closes it to an area, or not. */
static void write_steps(FILE *to, const struct frame *frame, const struct page_strips *all,
                        const struct page_strip *strip, bool is_area)
{
    (void)fprintf(to, "<path d=\"M%.1f %.1f", frame->x.from, frame->y.from);
    for (size_t i = 0; i < all->slices; i++)
        (void)fprintf(to, "V%.1fH%.1f", place(&frame->y, strip->per_s[i]),
                      place(&frame->x, (double)(i + 1) * all->slice_ms / 1000));
    if (is_area)
        (void)fprintf(to, "V%.1fZ\" fill=\"var(--c%d)\" fill-opacity=\"0.35\"/>\n", frame->y.from,
                      (int)strip->colour);
    else
        (void)fprintf(to, "\" fill=\"none\" stroke=\"var(--c%d)\" stroke-width=\"1.4\"/>\n",
                      (int)strip->colour);
}

static void write_mark(FILE *to, const struct frame *frame, const struct page_strips *all,
                       bool has_words)
{
    double x = place(&frame->x, all->mark_ms / 1000);
    bool is_late = all->mark_ms / 1000 > frame->x.most * 0.55;
    char text[80];

    if (all->mark_ms < 0) return;
    write_line(to, PAGE_INK, "stroke-width=\"1.2\" stroke-dasharray=\"6,4\"", "M%.1f %.1fV%.1f", x,
               frame->y.from, frame->y.to);
    if (!has_words) return;
    (void)snprintf(text, sizeof text, "text-anchor=\"%s\" %s", is_late ? "end" : "start",
                   value_style);
    write_text(to, x + (is_late ? -2 : 2), frame->y.to - 26, text, all->mark);
}

static void write_strip(FILE *to, struct frame *frame, const struct page_strips *all, size_t which)
{
    const struct page_strip *strip = &all->strips[which];
    double step = round_up(most_of(strip, all->slices) / 2);

    frame->y.most = ceil(most_of(strip, all->slices) / step) * step;
    frame->y.to = MARK_PX + (double)which * STRIP_PX + 32;
    frame->y.from = MARK_PX + (double)(which + 1) * STRIP_PX + 4;
    write_y_ticks(to, frame, step);
    write_heading(to, frame->x.from, frame->y.to - 8, strip->colour, strip->label);
    write_steps(to, frame, all, strip, true);
    write_steps(to, frame, all, strip, false);
    write_mark(to, frame, all, which == 0);
    write_frame(to, frame, true);
}

void page_plot_strips(FILE *to, const struct page_plot *plot, int width, const void *what)
{
    const struct page_strips *all = what;
    double span_s = (double)all->slices * all->slice_ms / 1000;
    double step = round_up(span_s / 5);
    struct frame frame = {.x = {0, span_s, 62, width - 14, false}};

    (void)plot;
    for (size_t i = 0; i < all->count; i++)
        write_strip(to, &frame, all, i);
    for (int i = 0; i * step <= span_s * 1.0001; i++)
        write_x_tick(to, &frame, i * step);
    write_x_name(to, &frame, "seconds since the first request");
}
