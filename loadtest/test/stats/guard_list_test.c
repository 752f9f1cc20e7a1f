/*
 * Guards out of a --help text, and the choice among them.
 */
#include "stats/guard_list.h"
#include "test/support/testing.h"

static const char help[] = "Usage: seckilld [FLAG...]\n\n"
                           "  --guard NAME   see below [mutex]\n"
                           "  --batch N      purchases together; 1: each [256]\n"
                           "\nGuards:\n"
                           "  mutex        SET NX PX\n"
                           "  setnx        SETNX, DEL\n"
                           "               FLAWED, needs --lab, stuck: a crash: it is for ever\n"
                           "  none         nothing\n"
                           "               needs --postgres\n"
                           "               FLAWED, needs --lab, oversells: lost update\n"
                           "  script       no lock\n"
                           "\nMore text\n";

TEST(every_guard_is_read)
{
    struct guard_list guards;

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
    assert_int_equal(256, guards.batch);
    assert_string_equal("--postgres", guards.list[2].needs);
    assert_true(guard_list_needs(&guards, "--postgres"));
    assert_false(guard_list_needs(&guards, "--redlock"));
    struct guard_list others = guards;
    guard_list_drop_not_here(&others);
    assert_int_equal(own_server_is_here(OWN_POSTGRES) ? 4 : 3, others.count);
    assert_string_equal("script", others.list[others.count - 1].name);
    guard_list_keep_sound(&guards);
    assert_int_equal(2, guards.count);
    assert_string_equal("script", guards.list[1].name);
    assert_true(guard_list_parse("\nGuards:\n  mutex  x\n", &guards));
    assert_int_equal(0, guards.batch);
}

TEST(what_we_do_not_know_is_refused)
{
    static const char *const texts[] = {
        "",
        "--batch N [256]\n",
        "\nGuards:\n",
        "\nGuards:\n\n",
        "\nGuards:\n               FLAWED, needs --lab, stuck: whose?\n",
        "\nGuards:\n  none  x\n        FLAWED, needs --lab: lost update\n",
        "\nGuards:\n  none  x\n        FLAWED, needs --lab, explodes: lost update\n",
        "\nGuards:\n  none  x\n        something else\n",
        "\nGuards:\n  a-name-that-is-longer-than-any  x\n",
    };
    struct guard_list guards;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(guard_list_parse(texts[i], &guards));
}

TEST(all_or_some_are_chosen_in_the_order_of_the_service)
{
    struct guard_list guards, chosen;

    assert_true(guard_list_parse(help, &guards));
    assert_true(guard_list_choose(&guards, "all", &chosen, NULL));
    assert_int_equal(4, chosen.count);
    assert_true(guard_list_choose(&guards, "script,mutex", &chosen, NULL));
    assert_int_equal(2, chosen.count);
    assert_string_equal("mutex", chosen.list[0].name);
    assert_string_equal("script", chosen.list[1].name);
}

TEST(a_bad_choice_is_named)
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

    assert_true(guard_list_parse(help, &guards));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct failure failure;
        assert_false(guard_list_choose(&guards, rows[i].wish, &chosen, &failure));
        assert_non_null(strstr(failure.text, rows[i].named));
    }
}
