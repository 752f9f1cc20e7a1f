/*
 * The small parsers of the edge, and the text that answers are built of.
 */
#include "http/http.h"
#include "test/support/app_texts.h"
#include "test/support/testing.h"

TEST(json_is_told_by_its_media_type)
{
    static const char *const types[2] = {
        "|application|application/jsonx|application/json;|application/json; charset=latin1|"
        "application/json, text/plain|application/problem+json|text/plain|"
        "multipart/form-data; boundary=application/json",
        "application/json|Application/JSON|application/json; charset=utf-8|"
        "application/json;charset=`UTF-8`|application/json \t;  charset=utf-8"};
    const char *type = NULL;

    for (int is_json = 0; is_json < 2; is_json++)
        for (size_t i = 0; (type = texts_at(types[is_json], i)); i++)
            if (http_type_is_json(type) != is_json) fail_msg("%s", type);
}

TEST(keys_lose_their_quotes)
{
    static const char longest[] =
        "0123456789012345678901234567890123456789012345678901234567890123";
    static const char malformed[] =
        "|``|`|`a|a`|a b|``a``|a:b|\xc3\xa4|"
        "0123456789012345678901234567890123456789012345678901234567890123x";
    char key[IDEMPOTENCY_KEY_MAX + 1];
    const char *value = NULL;

    for (size_t i = 0; (value = texts_at(malformed, i)); i++)
        if (http_unquote_key(value, key)) fail_msg("%s", value);
    assert_true(http_unquote_key("a", key));
    assert_string_equal(key, "a");
    assert_true(http_unquote_key("\"a.b_C-9\"", key));
    assert_string_equal(key, "a.b_C-9");
    assert_true(http_unquote_key(longest, key));
    assert_string_equal(key, longest);
}

TEST(tokens_are_short_and_harmless)
{
    assert_true(http_token_is_valid("abc.DEF_1-2"));
    assert_false(http_token_is_valid(""));
    assert_false(http_token_is_valid("a b"));
    assert_false(http_token_is_valid("a\r\nSet-Cookie"));
    assert_false(
        http_token_is_valid("01234567890123456789012345678901234567890123456789012345678901234"));
}

TEST(text_is_escaped_for_json)
{
    char buffer[128];
    struct text text = TEXT_OVER(buffer);
    static const char expected[] =
        "\"a\\\"b\\\\c\\u000a\\u001f\\u007f\xc3\xa4\\u009b\\u202c\\ufffd\\ufffd\"";

    text_add_json(&text, "a\"b\\c\n\x1f\x7f\xc3\xa4\xc2\x9b\xe2\x80\xac\xff\xe4");
    assert_false(text.is_cut);
    assert_int_equal(text.len, sizeof expected - 1);
    assert_memory_equal(text.data, expected, text.len);
}

TEST(numbers_become_digits)
{
    static const struct {
        long long number;
        const char *digits;
    } cases[] = {
        {0, "0"},
        {7, "7"},
        {-1, "-1"},
        {INT64_MAX, "9223372036854775807"},
        {INT64_MIN, "-9223372036854775808"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char buffer[32];
        struct text text = TEXT_OVER(buffer);

        text_add_number(&text, cases[i].number);
        assert_int_equal(text.len, strlen(cases[i].digits));
        assert_memory_equal(text.data, cases[i].digits, text.len);
    }
}

TEST(what_does_not_fit_is_cut_and_remembered)
{
    char buffer[4];
    struct text text = TEXT_OVER(buffer);

    text_add_string(&text, "abc");
    assert_false(text.is_cut);
    text_add_string(&text, "de");
    assert_true(text.is_cut);
    text_add_string(&text, "f");
    assert_int_equal(text.len, 4);
    assert_memory_equal(text.data, "abcd", 4);
}
