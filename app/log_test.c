/*
 * What a client sent cannot forge a line of the log, nor drive a terminal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "log.h"

static void what_is_not_plain_is_escaped(void **state)
{
    static const struct {
        const char *text, *escaped;
    } cases[] = {
        {"", ""},
        {"plain text: \"x\" 100%", "plain text: \"x\" 100%"},
        {"a\n{\"level\":\"x\"}", "a\\x0a{\"level\":\"x\"}"},
        {"\x1b[2J", "\\x1b[2J"},
        {"a\\x0ab", "a\\x5cx0ab"},
        {"\x7f\t\r", "\\x7f\\x09\\x0d"},
        {"\xe2\x80\xa8", "\\xe2\\x80\\xa8"}, /* U+2028, a line separator */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[64];

        log_escape(cases[i].text, out, sizeof out);
        assert_string_equal(out, cases[i].escaped);
    }
}

static void what_is_long_is_cut_between_characters(void **state)
{
    char text[1000];
    char out[16];

    (void)state;
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    log_escape(text, out, sizeof out);
    assert_string_equal(out, "aaaaaaaaaaaa...");
    memset(text, '\n', sizeof text - 1);
    log_escape(text, out, sizeof out);
    assert_string_equal(out, "\\x0a\\x0a\\x0a...");
}

static void levels_have_names(void **state)
{
    (void)state;
    assert_string_equal(log_level_name(LOG_ERROR), "error");
    assert_string_equal(log_level_name(LOG_DEBUG), "debug");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_plain_is_escaped),
        cmocka_unit_test(what_is_long_is_cut_between_characters),
        cmocka_unit_test(levels_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
