/* Derived names, byte for byte as Redisson's. */
#include "base/name.h"
#include "test/support/testing.h"

TEST(a_name_with_a_brace_gets_none)
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

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *prefixed = lki_name_prefix("P", rows[i].name);
        char *suffixed = lki_name_suffix(rows[i].name, "S");

        assert_string_equal(prefixed, rows[i].prefixed);
        assert_string_equal(suffixed, rows[i].suffixed);
        free(prefixed);
        free(suffixed);
    }
}
