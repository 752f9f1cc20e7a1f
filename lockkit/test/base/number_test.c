/*
 * Numbers as words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/number.h"

static void a_number_is_written_in_decimal(void **state)
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

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char buffer[LKI_NUMBER_MAX];
        struct lk_bytes word = lki_number(buffer, cases[i].value);

        assert_string_equal(cases[i].expected, buffer);
        assert_ptr_equal(buffer, word.data);
        assert_int_equal(strlen(cases[i].expected), word.len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_is_written_in_decimal),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
