/*
 * Guards out of a --help text, and the choice among them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "count/guard_list.h"

static const char help[] = "Usage: seckilld [FLAG...]\n\n"
                           "  --guard NAME   see below [mutex]\n"
                           "\nGuards:\n"
                           "  mutex        SET NX PX\n"
                           "  setnx        SETNX, DEL\n"
                           "               FLAWED, needs --lab, stuck: a crash: it is for ever\n"
                           "  none         nothing\n"
                           "               FLAWED, needs --lab, oversells: lost update\n"
                           "  script       no lock\n"
                           "\nMore text\n";

static void every_guard_is_read(void **state)
{
    struct guard_list guards;

    (void)state;
    assert_true(guard_list_parse(help, &guards));
    assert_int_equal(4, guards.count);
    assert_string_equal("mutex", guards.list[0].name);
    assert_string_equal("", guards.list[0].flaw);
    assert_int_equal(GUARD_SOUND, guards.list[0].finding);
    assert_string_equal("setnx", guards.list[1].name);
    assert_string_equal("a crash: it is for ever", guards.list[1].flaw);
    assert_int_equal(GUARD_STUCK, guards.list[1].finding);
    assert_int_equal(GUARD_OVERSELLS, guards.list[2].finding);
    assert_string_equal("lost update", guards.list[2].flaw);
    assert_string_equal("script", guards.list[3].name);
}

static void what_we_do_not_know_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "\nGuards:\n",
        "\nGuards:\n\n",
        "\nGuards:\n               FLAWED, needs --lab, stuck: whose?\n",
        "\nGuards:\n  none  x\n        FLAWED, needs --lab: lost update\n",
        "\nGuards:\n  none  x\n        FLAWED, needs --lab, explodes: lost update\n",
        "\nGuards:\n  none  x\n        something else\n",
        "\nGuards:\n  a-name-that-is-longer-than-any  x\n",
    };
    struct guard_list guards;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(guard_list_parse(texts[i], &guards));
}

static void all_or_some_are_chosen_in_the_order_of_the_service(void **state)
{
    struct guard_list guards, chosen;

    (void)state;
    assert_true(guard_list_parse(help, &guards));
    assert_true(guard_list_choose(&guards, "all", &chosen, NULL));
    assert_int_equal(4, chosen.count);
    assert_true(guard_list_choose(&guards, "script,mutex", &chosen, NULL));
    assert_int_equal(2, chosen.count);
    assert_string_equal("mutex", chosen.list[0].name);
    assert_string_equal("script", chosen.list[1].name);
}

static void a_bad_choice_is_named(void **state)
{
    static const struct {
        const char *wish, *named;
    } rows[] = {
        {"mutex,mutexx", "\"mutexx\""},
        {"mute", "\"mute\""},
        {"mutex,", "\"\""},
        {"", "\"\""},
        {"none,all", "\"all\""},
        {"none,mutex,none", "\"none\""},
    };
    struct guard_list guards, chosen;

    (void)state;
    assert_true(guard_list_parse(help, &guards));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct failure failure;
        assert_false(guard_list_choose(&guards, rows[i].wish, &chosen, &failure));
        assert_non_null(strstr(failure.text, rows[i].named));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_guard_is_read),
        cmocka_unit_test(what_we_do_not_know_is_refused),
        cmocka_unit_test(all_or_some_are_chosen_in_the_order_of_the_service),
        cmocka_unit_test(a_bad_choice_is_named),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
