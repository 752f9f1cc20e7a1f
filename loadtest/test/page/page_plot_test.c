/*
 * Pictures: what stands in their SVG, and what must not.
 */
#include "page/page_plot.h"
#include "test/support/testing.h"

static char *drawn(page_plot_inside *inside, const void *what)
{
    static const struct page_plot plot = {
        .name = "fig", .title = "a < b", .text = "\"more\"", .height = 300};
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    assert_non_null(to);
    page_plot_draw(to, &plot, inside, what);
    assert_int_equal(0, fclose(to));
    assert_null(strstr(text, "inf"));
    assert_null(strstr(text, "nan"));
    return text;
}

static int count_of(const char *text, const char *word)
{
    int count = 0;

    for (const char *at = text; (at = strstr(at, word)); at++)
        count++;
    return count;
}

static struct page_row row_of(const char *label, double first, double second)
{
    struct page_row row = {.colour = PAGE_BLUE};

    (void)snprintf(row.entry.label, sizeof row.entry.label, "%s", label);
    page_sample_add(&row.entry.sample, first);
    page_sample_add(&row.entry.sample, second);
    page_sample_sum_up(&row.entry.sample);
    return row;
}

TEST(a_picture_is_drawn_wide_and_narrow_with_names_of_its_own)
{
    const struct page_row row = row_of("a", 1, 4.2);
    char *text = drawn(page_plot_rows, &(struct page_rows){&row, 1, "ms", false});

    assert_non_null(strstr(text, "<svg class=\"wide\" viewBox=\"0 0 720 300\" font-size=\"13\" "
                                 "role=\"img\" aria-labelledby=\"fig-wide-title fig-wide-text\">\n"
                                 "<title id=\"fig-wide-title\">a &lt; b</title>\n"
                                 "<desc id=\"fig-wide-text\">&quot;more&quot;</desc>\n"));
    assert_non_null(strstr(text, "<svg class=\"narrow\" viewBox=\"0 0 380 300\""));
    assert_int_equal(2, count_of(text, "</svg>"));
    assert_int_equal(2 * 2, count_of(text, "<circle"));  /* a dot for each repeat */
    assert_int_equal(2, count_of(text, ">2.60</text>")); /* the median */
    free(text);
}

TEST(a_label_stays_text)
{
    const struct page_row rows[2] = {{.entry = {.label = "it's <b>\"y\""}, .is_heading = true},
                                     row_of("</svg><script>", 3, 3)};
    char *text = drawn(page_plot_rows, &(struct page_rows){rows, 2, "per <s>", false});

    assert_null(strstr(text, "<b>"));
    assert_null(strstr(text, "<script"));
    assert_null(strstr(text, "<s>"));
    assert_int_equal(2, count_of(text, "&lt;/svg&gt;&lt;script&gt;</text>"));
    free(text);
}

TEST(values_lie_on_the_axis_in_proportion)
{
    static const struct {
        bool is_log;
        double least, most; /* of the two rows */
        const char *ticks[3];
    } cases[] = {{false, 0, 40, {">0</text>", ">20</text>", ">40</text>"}},
                 {true, 1, 1000, {">1</text>", ">100</text>", ">1,000</text>"}}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct page_row rows[2] = {row_of("a", cases[i].least, cases[i].least),
                                         row_of("b", cases[i].most, cases[i].most)};
        char *text = drawn(page_plot_rows, &(struct page_rows){rows, 2, "ms", cases[i].is_log});
        double dots[2];
        const char *at = text;
        for (int n = 0; n < 2; n++) { /* two repeats of a row have one place */
            at = strstr(at, "<circle cx=\"") + 12;
            dots[n] = strtod(at, NULL);
            at = strstr(at, "<circle cx=\"") + 12;
        }
        for (int n = 0; n < 3; n++) {
            char *tick = strstr(text, cases[i].ticks[n]);
            assert_non_null(tick);
            while (strncmp(tick, "<text x=\"", 9) != 0)
                tick--;
            double share = (strtod(tick + 9, NULL) - dots[0]) / (dots[1] - dots[0]);
            double due[2][3] = {{0, 0.5, 1}, {0, 2.0 / 3, 1}};
            assert_true(share > due[i][n] - 0.01 && share < due[i][n] + 0.01);
        }
        free(text);
    }
}

TEST(a_logarithm_leaves_zeros_out)
{
    const struct page_row rows[2] = {row_of("a", 0, 0), row_of("b", 10, 10)};
    char *text = drawn(page_plot_rows, &(struct page_rows){rows, 2, "ms", true});

    assert_int_equal(2 * 2, count_of(text, "<circle"));
    assert_int_equal(2, count_of(text, ">a</text>")); /* its name stays */
    free(text);
}

TEST(a_curve_joins_its_medians)
{
    struct page_entry entries[3];
    const double at[] = {1, 4, 16};

    for (int i = 0; i < 3; i++)
        entries[i] = row_of("x", 100 * i, 100 * i).entry;
    char *text = drawn(page_plot_curve, &(struct page_curve){entries, at, 3, "x < 1", "y"});
    assert_int_equal(2, count_of(text, "<polyline points=\""));
    assert_int_equal(2, count_of(text, ">16</text>"));
    assert_int_equal(2, count_of(text, "x &lt; 1"));
    free(text);
}

TEST(a_story_has_a_bar_from_asking_to_the_answer)
{
    json_t *story =
        json_loads("{\"buyer\":\"b<\",\"events\":["
                   "{\"what\":\"k1\",\"words\":\"sold-out\",\"from_ms\":0,\"to_ms\":200},"
                   "{\"what\":\"k2\",\"words\":\"never\",\"from_ms\":100,\"to_ms\":null},"
                   "{\"what\":\"ledger\",\"from_ms\":null,\"to_ms\":null}]}",
                   0, NULL);
    struct page_plot plot = page_plot_of_story(story);
    char *text = drawn(page_plot_story, story);

    assert_int_equal(plot.height, 3 * 36 + 66);
    assert_int_equal(2, count_of(text, ">k1: sold-out</text>"));
    assert_int_equal(2, count_of(text, ">ledger: ?</text>"));
    assert_int_equal(2, count_of(text, "since b&lt; first asked"));
    assert_int_equal(2 * 2, count_of(text, "stroke-width=\"8\""));
    assert_int_equal(2, count_of(text, "stroke-dasharray"));
    assert_non_null(strstr(text, "d=\"M10.0 32.0H700.0\""));  /* the whole width */
    assert_non_null(strstr(text, "d=\"M355.0 68.0H700.0\"")); /* from the middle on */
    free(text);
    json_decref(story);
}

TEST(the_mark_stands_in_every_strip)
{
    static const double per_s[] = {100, 250, 0};
    const struct page_strip strips[] = {{"all", PAGE_INK, per_s}, {"created", PAGE_BLUE, per_s}};
    struct page_strips all = {strips, 2, 3, 10, 15, "sold out"};
    char *text = drawn(page_plot_strips, &all);

    assert_int_equal(2 * 2, count_of(text, "stroke-dasharray"));
    assert_int_equal(2, count_of(text, ">sold out</text>"));
    assert_int_equal(2 * 2, count_of(text, "fill-opacity=\"0.35\""));
    free(text);
    all.mark_ms = -1;
    text = drawn(page_plot_strips, &all);
    assert_int_equal(0, count_of(text, "stroke-dasharray"));
    free(text);
}
