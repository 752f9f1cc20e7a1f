/*
 * Numbers as words.
 */
#include "base/number.h"
#include "test/support/testing.h"

TEST(a_number_is_written_in_decimal)
{
    static const struct {
        long long value;
        const char *expected;
    } cases[] = {{0, "0"},
                 {9, "9"},
                 {10, "10"},
                 {30000, "30000"},
                 {-1, "-1"},
                 {-100, "-100"},
                 {922337203685477, "922337203685477"},
                 {INT64_MAX, "9223372036854775807"},
                 {INT64_MIN, "-9223372036854775808"}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char buffer[LKI_NUMBER_MAX];
        struct lk_bytes word = lki_number(buffer, cases[i].value);

        assert_string_equal(cases[i].expected, buffer);
        assert_ptr_equal(buffer, word.data);
        assert_int_equal(strlen(cases[i].expected), word.len);
    }
}
