/* Derived names, byte for byte as Redisson's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/names.h"

static void a_name_with_a_brace_gets_none(void **state)
{
    static const struct {
        const char *name, *prefixed, *suffixed;
    } rows[] = {
        {"job:1", "P:{job:1}", "{job:1}:S"},
        {"app:{t1}:lock", "P:app:{t1}:lock", "app:{t1}:lock:S"},
        {"a{b", "P:a{b", "a{b:S"},
        {"a{}b", "P:a{}b", "a{}b:S"},
        {"x}y", "P:{x}y}", "{x}y}:S"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *prefixed = lki_name_prefix("P", rows[i].name);
        char *suffixed = lki_name_suffix(rows[i].name, "S");

        assert_string_equal(prefixed, rows[i].prefixed);
        assert_string_equal(suffixed, rows[i].suffixed);
        free(prefixed);
        free(suffixed);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(a_name_with_a_brace_gets_none)};

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
