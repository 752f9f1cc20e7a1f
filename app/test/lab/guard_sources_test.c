/*
 * Which files a guard is made of.
 */
#include "guards/guards.h"
#include "lab/served/guard_sources.h"
#include "test/support/testing.h"

TEST(every_guard_has_its_own_file_first)
{
    for (size_t i = 0; guards_at(i); i++) {
        char line[96];
        bool is_known = false;
        char *text = guard_sources_text(guards_at(i)->name, &is_known);

        (void)snprintf(line, sizeof line, ".name = \"%s\"", guards_at(i)->name);
        if (!text || strncmp(text, "==> ", 4) != 0) {
            fail_msg("no source: %s", guards_at(i)->name);
            return;
        }
        assert_true(is_known);
        const char *second = strstr(text + 1, "\n==> ");
        const char *name = strstr(text, line);
        assert_true(name && (!second || name < second));
        free(text);
    }
}

TEST(what_it_is_made_of_follows_each_file_once)
{
    static const char *const parts[] = {"setnx.c", "crude_lock.c", "by_hand.c", "back_off.c"};
    bool is_known = false;
    char *text = guard_sources_text("setnx", &is_known);

    assert_non_null(text);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char line[64];

        (void)snprintf(line, sizeof line, "==> %s <==\n/*\n", parts[i]);
        const char *at = strstr(text, line);
        assert_non_null(at);
        assert_null(strstr(at + 1, line));
    }
    assert_null(strstr(text, "==> purchase_eval.c"));
    assert_null(strstr(text, ".h <=="));
    free(text);
}

TEST(the_labs_own_guards_have_theirs)
{
    static const char *const names[] = {"unmarked", "mutex-elsewhere", "redlock-unchecked"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        bool is_known = false;
        char *text = guard_sources_text(names[i], &is_known);

        assert_non_null(text);
        free(text);
    }
}

TEST(other_names_have_none)
{
    static const char *const names[] = {"", "nope", "setn", "mutex\",\n", "by_hand"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        bool is_known = true;

        assert_null(guard_sources_text(names[i], &is_known));
        assert_false(is_known);
    }
}
