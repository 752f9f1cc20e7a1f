/*
 * What is a character, where a text may be cut, and what is shown instead of obeyed.
 */
#include "common/utf8.h"
#include "test/support/testing.h"

TEST(characters_are_the_shortest_forms_of_unicode)
{
    static const struct {
        const char *text;
        size_t len;
        uint32_t code;
    } cases[] = {
        {"a", 1, 'a'},
        {"\x7f", 1, 0x7f},
        {"\xc2\x80", 2, 0x80},
        {"\xdf\xbf", 2, 0x7ff},
        {"\xe0\xa0\x80", 3, 0x800},
        {"\xed\x9f\xbf", 3, 0xd7ff},
        {"\xee\x80\x80", 3, 0xe000},
        {"\xef\xbf\xbf", 3, 0xffff},
        {"\xf0\x90\x80\x80", 4, 0x10000},
        {"\xf4\x8f\xbf\xbf", 4, 0x10ffff},
    };
    static const char *const none[] = {"",
                                       "\x80",
                                       "\xc0\x80",
                                       "\xc1\xbf",
                                       "\xe0\x9f\xbf",
                                       "\xed\xa0\x80" /* a surrogate */,
                                       "\xf0\x8f\xbf\xbf",
                                       "\xf4\x90\x80\x80",
                                       "\xf5\x80\x80\x80",
                                       "\xff",
                                       "\xc2",
                                       "\xe4\xb8",
                                       "\xe4\xb8x"};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t code = 0;

        assert_int_equal(utf8_read(cases[i].text, &code), cases[i].len);
        assert_int_equal(code, cases[i].code);
    }
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        uint32_t code = 0;

        if (utf8_read(none[i], &code) != 0 || code != 0) fail_msg("%zu", i);
    }
}

TEST(a_cut_is_between_characters)
{
    static const struct {
        const char *text;
        size_t max, len;
    } cases[] = {
        {"", 0, 0},
        {"", 5, 0},
        {"ab", 5, 2},
        {"ab", 2, 2},
        {"ab", 1, 1},
        {"a\xc3\xbc", 3, 3},
        {"a\xc3\xbc", 2, 1},
        {"a\xc3\xbcz", 3, 3},
        {"\xe4\xb8\xad", 2, 0},
        {"\xe4\xb8\xad", 1, 0},
        {"\xe4\xb8\xad", 3, 3},
        {"x\xf0\x9f\x8d\xb5y", 4, 1},
        {"x\xf0\x9f\x8d\xb5y", 5, 5},
        {"\x80\x80\x80\x80\x80\x80", 5, 5}, /* nothing to be cut between */
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(utf8_cut(cases[i].text, cases[i].max), cases[i].len);
}

TEST(what_would_be_obeyed_is_shown)
{
    static const struct {
        const char *text, *kept, *shown;
    } cases[] = {
        {"", "", ""},
        {"Gr\xc3\xbcn \xe4\xb8\xad \xf0\x9f\x8d\xb5 \\u", "",
         "Gr\xc3\xbcn \xe4\xb8\xad \xf0\x9f\x8d\xb5 \\u"},
        {"\x1b]0;x\x07", "", "\\u001b]0;x\\u0007"},
        {"\x7f\xc2\x9b[2J", "", "\\u007f\\u009b[2J"},
        {"\xc2\xa0", "", "\xc2\xa0"},
        {"a\nb\tc\r", "", "a\\u000ab\\u0009c\\u000d"},
        {"a\nb\tc\r", "\n", "a\nb\\u0009c\\u000d"},
        {"\xe2\x80\xae"
         "evil\xe2\x80\xac",
         "", "\\u202eevil\\u202c"},
        {"\xe2\x81\xa6\xe2\x81\xa9", "", "\\u2066\\u2069"},
        {"\xe2\x80\xa8\xe2\x80\xa9", "", "\\u2028\\u2029"},
        {"\xff\xc3", "", "\\ufffd\\ufffd"},
        {"\x9b[2J", "", "\\ufffd[2J"}, /* C1 in eight bits */
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *shown = utf8_show(cases[i].text, cases[i].kept);

        assert_string_equal(shown, cases[i].shown);
        free(shown);
    }
}
