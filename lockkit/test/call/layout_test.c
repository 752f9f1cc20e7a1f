/*
 * The shapes of tokens, owners and numbers.
 */
#include "call/layout.h"
#include "test/support/testing.h"

#define UUID "01234567-89ab-cdef-0123-456789abcdef"

TEST(a_token_has_its_length_and_its_letters)
{
    static const struct {
        const char *text;
        bool is_token, is_hex;
    } cases[] = {
        {"", false, false},
        {"0123456789abcdef0123456789abcdef", true, true},
        {"0123456789abcdef0123456789abcdeF", true, false},
        {"0123456789abcdef0123456789abcdeg", true, false},
        {"0123456789abcde", false, false},
        {"0123456789abcdef", true, false},
        {"abcdefghijklmnop", false, false}, /* words have no digit */
        {"sZQ4B0Wl0kMfyFfWnJN6Ag==", true, false},
        {UUID, true, false},
        {"host-7:1234:99_+/=", true, false},
        {"0123456789 abcdef", false, false},
        {"0123456789\xc3\xa9\xc3\xa9\xc3\xa9", false, false},
        {"0123456789012345678901234567890123456789012345678901234567890123", true, false},
        {"01234567890123456789012345678901234567890123456789012345678901234", false, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(cases[i].is_token, lki_layout_is_token(lk_bytes_of(cases[i].text)));
        assert_int_equal(cases[i].is_hex, lki_layout_is_hex_token(lk_bytes_of(cases[i].text)));
    }
    assert_false(lki_layout_is_token(LK_BYTES("0123456789abcdef\0abcdef")));
}

TEST(an_owner_is_a_uuid_and_a_number)
{
    static const struct {
        const char *text;
        bool is_owner, is_writer;
    } cases[] = {
        {UUID ":1", true, false},
        {UUID ":18446744073709551615", true, false},
        {UUID ":1:write", true, true},
        {UUID ":write", false, false},
        {UUID ":", false, false},
        {UUID, false, false},
        {UUID ":1x", false, false},
        {UUID ":184467440737095516155", false, false},
        {UUID "-1", false, false},
        {"01234567-89ab-cdef-0123-456789abcdeg:1", false, false},
        {"01234567089ab-cdef-0123-456789abcdef:1", false, false},
        {":write", false, false},
        {"", false, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lk_bytes text = lk_bytes_of(cases[i].text);
        bool is_writer = false;

        assert_int_equal(cases[i].is_owner, lki_layout_is_owner(text, &is_writer));
        assert_int_equal(cases[i].is_writer, is_writer);
        if (!cases[i].is_writer)
            assert_int_equal(cases[i].is_owner, lki_layout_is_owner(text, NULL));
    }
    assert_false(lki_layout_is_owner(LK_BYTES(UUID ":1:write"), NULL)); /* no such thing here */
}

TEST(numbers_are_decimal_and_fit)
{
    static const struct {
        const char *text;
        bool is_number;
        int64_t number;
    } cases[] = {
        {"0", true, 0},
        {"17", true, 17},
        {"-3", true, -3},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"--1", false, 0},
        {"- 1", false, 0},
        {"+1", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"1.5", false, 0},
        {"0x10", false, 0},
        {"000000000000000000000000000001", false, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t number = 4711;

        assert_int_equal(cases[i].is_number,
                         lki_layout_read_number(lk_bytes_of(cases[i].text), &number));
        assert_int_equal(cases[i].is_number ? cases[i].number : 4711, number);
    }
    int64_t number = 4711;
    assert_false(lki_layout_read_number(LK_BYTES("1\0"), &number));
    assert_false(lki_layout_read_number((struct lk_bytes){0}, &number));
}

TEST(copies_are_cut_to_fit)
{
    char small[6];

    lki_layout_copy(LK_BYTES("abcdefgh"), small, sizeof small);
    assert_string_equal("abcde", small);
    lki_layout_copy((struct lk_bytes){0}, small, sizeof small);
    assert_string_equal("", small);
    lki_layout_copy_hex(LK_BYTES("\x00\xff\x10"), small, sizeof small);
    assert_string_equal("00ff", small);
}
