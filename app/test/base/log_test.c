/*
 * What a client sent cannot forge a line of the log, nor drive a terminal.
 */
#include <unistd.h>

#include <jansson.h>

#include "base/log.h"
#include "test/support/testing.h"

TEST(what_is_not_plain_is_escaped)
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

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[64];

        log_escape(cases[i].text, out, sizeof out);
        assert_string_equal(out, cases[i].escaped);
    }
}

TEST(what_is_long_is_cut_between_characters)
{
    char text[1000];
    char out[16];

    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    log_escape(text, out, sizeof out);
    assert_string_equal(out, "aaaaaaaaaaaa...");
    memset(text, '\n', sizeof text - 1);
    log_escape(text, out, sizeof out);
    assert_string_equal(out, "\\x0a\\x0a\\x0a...");
    log_escape("a\xe4\xb8\xad"
               "b",
               out, sizeof out);
    assert_string_equal(out, "a...");
    log_escape("\xe4\xb8\xad\xe4\xb8\xad", out, sizeof out);
    assert_string_equal(out, "\\xe4\\xb8\\xad...");
}

/* What log_line() writes to stderr. */
static void catch_line(log_format format, const char *words, char *out, size_t size)
{
    int ends[2];
    int kept = dup(STDERR_FILENO);
    ssize_t len = 0;

    assert_int_equal(pipe(ends), 0);
    assert_true(kept >= 0 && dup2(ends[1], STDERR_FILENO) >= 0);
    log_set_format(format);
    log_line(LOG_WARN, "path: %s", words);
    log_set_format(LOG_AS_TEXT);
    (void)dup2(kept, STDERR_FILENO);
    (void)close(kept);
    (void)close(ends[1]);
    len = read(ends[0], out, size - 1);
    (void)close(ends[0]);
    assert_true(len > 0);
    out[len] = '\0';
}

static const char *const hostile[] = {
    "a\n{\"level\":\"error\"}",
    "\r\n2026-11-20T10:00:00.000Z error forged",
    "\"},{\"x\":\"",
    "\\\"\\",
    "\x1b[2J\x1b]0;title\x07",
    "\xe2\x80\xa8\xc2\x85 line separators",
    "\xff\xfe no UTF-8",
    "\x7f\t\b",
};

TEST(whatever_is_logged_stays_one_line)
{
    char line[2048];

    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        for (int format = 0; format < LOG_FORMAT_COUNT; format++) {
            catch_line((log_format)format, hostile[i], line, sizeof line);

            assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
            for (const char *c = line; *c != '\n'; c++)
                assert_in_range((unsigned char)*c, 0x20, 0x7e);
        }
    }
}

TEST(json_lines_are_objects_of_four_members)
{
    char line[2048];
    char words[300];

    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        char escaped[LOG_TEXT_MAX + 1];
        json_t *object = NULL;

        catch_line(LOG_AS_JSON, hostile[i], line, sizeof line);
        object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(object);
        assert_int_equal(json_object_size(object), 4);
        assert_string_equal(json_string_value(json_object_get(object, "event")), "note");
        assert_int_equal(json_string_length(json_object_get(object, "t")), 24);
        assert_string_equal(json_string_value(json_object_get(object, "level")), "warn");
        (void)snprintf(words, sizeof words, "path: %s", hostile[i]);
        log_escape(words, escaped, sizeof escaped);
        assert_string_equal(json_string_value(json_object_get(object, "msg")), escaped);
        json_decref(object);
    }
}

TEST(a_megabyte_is_cut_in_both_formats)
{
    enum { LONG = 1024 * 1024 };
    static char words[LONG + 1];
    char line[2048];

    memset(words, '"', LONG); /* JSON needs two bytes for each */
    catch_line(LOG_AS_TEXT, words, line, sizeof line);
    assert_in_range(strlen(line), LOG_TEXT_MAX, LOG_TEXT_MAX + 40);
    assert_non_null(strstr(line, "...\n"));
    catch_line(LOG_AS_JSON, words, line, sizeof line);
    assert_in_range(strlen(line), LOG_TEXT_MAX, 2 * LOG_TEXT_MAX + 80);
    assert_non_null(strstr(line, "...\"}\n"));
}

TEST(fields_are_members_of_their_own)
{
    char line[2048];
    int ends[2];
    int kept = dup(STDERR_FILENO);
    struct log_fields fields = {.event = "request",
                                .sale = "cup",
                                .who = "\"\n",
                                .method = "GET",
                                .path = "/\x1b[2J\\",
                                .status = 404,
                                .units = 5,
                                .duration_ns = 1234567};

    assert_int_equal(pipe(ends), 0);
    assert_true(kept >= 0 && dup2(ends[1], STDERR_FILENO) >= 0);
    log_set_format(LOG_AS_JSON);
    log_event(LOG_INFO, &fields, "words %d", 7);
    log_set_format(LOG_AS_TEXT);
    (void)dup2(kept, STDERR_FILENO);
    (void)close(kept);
    (void)close(ends[1]);
    ssize_t len = read(ends[0], line, sizeof line - 1);
    (void)close(ends[0]);
    assert_true(len > 0);
    line[len] = '\0';
    assert_string_equal(strstr(line, ",\"level\""),
                        ",\"level\":\"info\",\"event\":\"request\",\"sale\":\"cup\","
                        "\"who\":\"\\\"\\\\x0a\",\"method\":\"GET\","
                        "\"path\":\"/\\\\x1b[2J\\\\x5c\",\"status\":404,\"units\":5,"
                        "\"duration_ms\":1.235,\"msg\":\"words 7\"}\n");
}

TEST(levels_have_names)
{
    assert_string_equal(log_level_name(LOG_ERROR), "error");
    assert_string_equal(log_level_name(LOG_DEBUG), "debug");
}
