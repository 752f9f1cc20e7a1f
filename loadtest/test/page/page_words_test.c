/*
 * Words and numbers of the report: escaping, rounding, and who is called faster.
 */
#include <math.h>

#include "page/page_words.h"
#include "test/support/testing.h"

static struct page_entry entry_of(const char *label, const double *values, int count)
{
    struct page_entry entry = {.label = ""};

    (void)snprintf(entry.label, sizeof entry.label, "%s", label);
    for (int i = 0; i < count; i++)
        page_sample_add(&entry.sample, values[i]);
    page_sample_sum_up(&entry.sample);
    return entry;
}

TEST(texts_become_harmless)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    assert_non_null(to);
    page_escape(to, "<script>alert(\"1\" & '2')</script>\n\x01"
                    "中文");
    page_escape(to, NULL);
    page_print(to, "<%s>", "&");
    assert_int_equal(0, fclose(to));
    assert_string_equal("&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;  中文"
                        "&lt;&amp;&gt;",
                        text);
    free(text);
}

TEST(numbers_have_the_digits_that_count)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {1, "1"},
        {16, "16"},
        {1024, "1,024"},
        {0.05061, "0.0506"},
        {0.1, "0.100"},
        {5.8662, "5.87"},
        {40.53, "40.5"},
        {109.4, "109"},
        {6752.4, "6,752"},
        {31244.7, "31,240"},
        {999999, "1,000,000"},
        {-12.34, "-12.3"},
        {-5432.1, "-5,432"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(cases[i].text, page_number(cases[i].value).text);
    assert_string_equal("?", page_number(HUGE_VAL).text);
    assert_string_equal("44,001", page_count(44001).text);
}

TEST(a_sample_has_median_least_and_most)
{
    json_t *array = json_pack("[f,i,n,f,f]", 4.0, 1, 3.0, 2.0);
    struct page_sample sample = {.count = 0};

    assert_true(page_sample_read(array, &sample));
    assert_int_equal(4, sample.count);
    assert_string_equal("2.50 (1 .. 4)", page_spread(&sample).text);
    assert_true(sample.values[0] == 4.0); /* in the order of the rounds */
    json_decref(array);
    assert_false(page_sample_read(NULL, &sample));
}

TEST(overlapping_ranges_tell_nothing)
{
    static const double low[] = {1, 2, 3, 4}, touching[] = {4, 5, 6, 7}, high[] = {5, 6, 7, 8};
    struct page_entry a = entry_of("a", low, 4);
    struct page_entry b = entry_of("b", touching, 4);
    struct page_entry c = entry_of("c", high, 4);
    struct page_entry few = entry_of("few", high, 3);

    assert_int_equal(PAGE_TOLD_NOTHING, page_compare(&a.sample, &b.sample));
    assert_int_equal(PAGE_TOLD_NOTHING, page_compare(&b.sample, &a.sample));
    assert_int_equal(PAGE_TOLD_LESS, page_compare(&a.sample, &c.sample));
    assert_int_equal(PAGE_TOLD_MORE, page_compare(&c.sample, &a.sample));
    assert_int_equal(PAGE_TOLD_TOO_FEW, page_compare(&a.sample, &few.sample));
    assert_int_equal(PAGE_TOLD_TOO_FEW, page_compare(&few.sample, &a.sample));
}

static char *comparison_of(const struct page_entry *entries, size_t count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    assert_non_null(to);
    page_write_comparison(to, entries, count, "faster", "slower");
    assert_int_equal(0, fclose(to));
    return text;
}

TEST(a_winner_is_named_only_where_ranges_part)
{
    static const double middle[] = {50, 51, 52, 53}, low[] = {10, 11, 12, 13},
                        high[] = {90, 91, 92, 93}, near[] = {53, 54, 55, 56};
    const struct page_entry entries[] = {
        entry_of("mutex", middle, 4), entry_of("a<b", low, 4),   entry_of("fair", low, 4),
        entry_of("script", high, 4),  entry_of("spin", near, 4), entry_of("new", high, 1),
    };
    char *text = comparison_of(entries, 6);

    assert_string_equal(
        "<b>mutex</b> (51.5; 50 .. 53) is faster than <b>a&lt;b</b> (11.5; 10 .. 13) and "
        "<b>fair</b> (11.5; 10 .. 13); it is slower than <b>script</b> (91.5; 90 .. 93); no "
        "difference can be told between it and <b>spin</b> (54.5; 53 .. 56); too few repeats (at "
        "least 4 are needed) to tell it from <b>new</b> (90).\n",
        text);
    free(text);
    const struct page_entry alike[] = {entries[0], entries[4]};
    text = comparison_of(alike, 2);
    assert_null(strstr(text, "faster"));
    assert_null(strstr(text, "slower"));
    assert_non_null(strstr(text, "53): no difference can be told between it and <b>spin</b>"));
    free(text);
}
