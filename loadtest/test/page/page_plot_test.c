/*
 * Scripts for gnuplot, and what becomes of its SVG: no gnuplot runs here.
 */
#include "page/page_plot.h"
#include "test/support/testing.h"

static const struct page_plot plot = {
    .name = "fig", .title = "a < b", .text = "\"more\"", .height = 100};

static char *inline_svg(const char *svg, bool wanted)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    assert_non_null(to);
    assert_int_equal(wanted, page_svg_write(to, svg, &plot, "wide"));
    assert_int_equal(0, fclose(to));
    return text;
}

TEST(a_picture_gets_our_names_and_colours)
{
    char *text =
        inline_svg("<?xml version=\"1.0\"?>\n<svg width=\"7\" viewBox=\"0 0 7 5\"\n"
                   " xmlns=\"http://www.w3.org/2000/svg\">\n<title>x</title><desc>y</desc>\n"
                   "<g id=\"gnuplot_canvas\">\n<filter id='grey'><a/></filter>"
                   "<circle id='gpDot' r='1'/><use xlink:href='#gpDot' color='rgb(  1,   2,   4)'/>"
                   "<path stroke='rgb(9,2,4)' fill='rgb(1,9,4)'/><g "
                   "id=\"p_1\"><title>$rows</title></g>\n</g>\n</svg>\n",
                   true);

    assert_string_equal(
        "<svg class=\"wide\" viewBox=\"0 0 7 5\" role=\"img\" "
        "aria-labelledby=\"fig-wide-title fig-wide-text\">\n"
        "<title id=\"fig-wide-title\">a &lt; b</title>\n"
        "<desc id=\"fig-wide-text\">&quot;more&quot;</desc>\n"
        "<g id=\"fig-wide-gnuplot_canvas\">\n"
        "<circle id='fig-wide-gpDot' r='1'/><use href='#fig-wide-gpDot' color='var(--c4)'/>"
        "<path stroke='rgb(9,2,4)' fill='rgb(1,9,4)'/><g id=\"fig-wide-p_1\"></g>\n</g>\n</svg>\n",
        text);
    free(text);
}

TEST(what_is_no_picture_is_refused)
{
    static const char *const texts[] = {"", "<svg viewBox=\"0 0 1 1\"></svg>",
                                        "<svg><g id=\"gnuplot_canvas\"></g></svg>",
                                        "<svg viewBox=\"0 0 1 1\"><g id=\"gnuplot_canvas\">"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(inline_svg(texts[i], false));
}

TEST(a_label_cannot_leave_its_quotes)
{
    struct page_row rows[2] = {
        {.entry = {.label = "it's `rm x`\n\"y\""}, .is_heading = true},
        {.entry = {.label = "'; system 'x"}, .colour = PAGE_BLUE},
    };
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    page_sample_add(&rows[1].entry.sample, 3);
    page_sample_sum_up(&rows[1].entry.sample);
    assert_non_null(to);
    page_rows_script(to, rows, 2, "per 'second'", false);
    assert_int_equal(0, fclose(to));
    assert_non_null(strstr(text, "set label 'it''s  rm x   y ' at "));
    assert_non_null(strstr(text, "set ytics scale 0 ('''; system ''x' 1)\n"));
    assert_non_null(strstr(text, "set xlabel 'per ''second''' "));
    assert_null(strchr(text, '`'));
    free(text);
}

TEST(a_logarithm_leaves_zeros_out)
{
    struct page_row rows[2] = {{.entry = {.label = "a"}}, {.entry = {.label = "b"}}};
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    page_sample_add(&rows[0].entry.sample, 0);
    page_sample_sum_up(&rows[0].entry.sample);
    page_sample_add(&rows[1].entry.sample, 10);
    page_sample_sum_up(&rows[1].entry.sample);
    assert_non_null(to);
    page_rows_script(to, rows, 2, "ms", true);
    assert_int_equal(0, fclose(to));
    assert_non_null(strstr(text, "$rows << EOD\n10 1 10 10 "));
    assert_null(strstr(text, "\n0 2 "));
    assert_null(strstr(text, "inf"));
    assert_null(strstr(text, "nan"));
    free(text);
}

TEST(the_mark_stands_in_every_strip)
{
    static const double per_s[] = {100, 250, 0};
    const struct page_strip strips[] = {{"all", PAGE_INK, per_s}, {"created", PAGE_BLUE, per_s}};
    char *text = NULL;
    size_t size = 0;
    int marks = 0;
    FILE *to = open_memstream(&text, &size);

    assert_non_null(to);
    page_strips_script(to, strips, 2, 3, 10, 15, "sold out");
    assert_int_equal(0, fclose(to));
    for (const char *at = text; (at = strstr(at, "set arrow 1 from 0.015,")); at++)
        marks++;
    assert_int_equal(2, marks);
    assert_non_null(strstr(text, "$slices << EOD\n0 100 100\n0.01 250 250\n0.02 0 0\n0.03 0 0\n"));
    free(text);
}
