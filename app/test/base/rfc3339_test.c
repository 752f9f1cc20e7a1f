/*
 * Moments in and out of text.
 */
#include <time.h>

#include "base/rfc3339.h"
#include "test/support/app_texts.h"
#include "test/support/testing.h"

TEST(moments_become_text)
{
    static const struct {
        int64_t at_ms;
        const char *text;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {-5, "1970-01-01T00:00:00.000Z"},
        {951782399999, "2000-02-28T23:59:59.999Z"},
        {951782400000, "2000-02-29T00:00:00.000Z"},
        {1795168800123, "2026-11-20T10:00:00.123Z"},
        {4107542400000, "2100-03-01T00:00:00.000Z"},
        {253402300799999, "9999-12-31T23:59:59.999Z"},
        {INT64_MAX, "9999-12-31T23:59:59.999Z"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[RFC3339_SIZE];

        rfc3339_format(cases[i].at_ms, out);
        assert_string_equal(out, cases[i].text);
    }
}

/* The C library's calendar is the reference: every day of 140 years, a little later each day. */
TEST(every_day_agrees_with_the_c_library)
{
    for (int64_t at_s = 0; at_s < 140LL * 366 * 86400; at_s += 86400 + 17) {
        char ours[RFC3339_SIZE];
        char theirs[RFC3339_SIZE];
        char our_date[HTTP_DATE_SIZE];
        char their_date[HTTP_DATE_SIZE];
        time_t clock = (time_t)at_s;
        struct tm broken_down;
        int64_t back_ms = -1;

        assert_non_null(gmtime_r(&clock, &broken_down));
        (void)strftime(theirs, sizeof theirs, "%Y-%m-%dT%H:%M:%S.000Z", &broken_down);
        (void)strftime(their_date, sizeof their_date, "%a, %d %b %Y %H:%M:%S GMT", &broken_down);
        rfc3339_format(at_s * 1000, ours);
        rfc3339_format_http_date(at_s, our_date);
        assert_string_equal(ours, theirs);
        assert_string_equal(our_date, their_date);
        assert_true(rfc3339_parse(ours, &back_ms));
        assert_int_equal(back_ms, at_s * 1000);
    }
}

TEST(text_becomes_moments)
{
    static const struct {
        const char *text;
        int64_t at_ms;
    } cases[] = {
        {"2026-11-20T10:00:00Z", 1795168800000},
        {"2026-11-20t10:00:00z", 1795168800000},
        {"2026-11-20T10:00:00.1Z", 1795168800100},
        {"2026-11-20T10:00:00.123456Z", 1795168800123},
        {"2026-11-20T18:00:00+08:00", 1795168800000},
        {"2026-11-20T04:30:00-05:30", 1795168800000},
        {"2024-02-29T00:00:00Z", 1709164800000},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t at_ms = -1;

        assert_true(rfc3339_parse(cases[i].text, &at_ms));
        assert_int_equal(at_ms, cases[i].at_ms);
    }
}

TEST(what_is_no_moment_is_refused)
{
    static const char cases[] =
        "|2026|2026-11-20|2026-11-20T10:00:00|2026-11-20 10:00:00Z|2026-11-20T10:00Z|"
        "2026-11-20T10:00:00.Z|2026-11-20T10:00:00Zx|2026-11-20T24:00:00Z|2026-11-20T10:60:00Z|"
        "2026-11-20T10:00:60Z|2026-13-20T10:00:00Z|2026-00-20T10:00:00Z|2026-02-29T10:00:00Z|"
        "2100-02-29T10:00:00Z|2026-11-31T10:00:00Z|2026-11-00T10:00:00Z|1969-12-31T23:59:59Z|"
        "1970-01-01T00:00:00+01:00|2026-11-20T10:00:00+24:00|2026-11-20T10:00:00+0800|"
        " 2026-11-20T10:00:00Z|+2026-11-20T10:00:00Z|2026-1a-20T10:00:00Z";
    const char *text = NULL;

    for (size_t i = 0; (text = texts_at(cases, i)); i++) {
        int64_t at_ms = -7;

        if (rfc3339_parse(text, &at_ms)) fail_msg("%s", text);
        assert_int_equal(at_ms, -7);
    }
}
