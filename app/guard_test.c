/*
 * guard.c: the table of guards.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "guard.h"

static void every_guard_is_found_by_its_name(void **state)
{
    size_t count = 0;

    (void)state;
    while (guard_at(count)) {
        const struct guard *guard = guard_at(count++);

        assert_ptr_equal(guard_find(guard->name), guard);
        assert_true(strlen(guard->name) <= SALE_GUARD_MAX);
        assert_true(strlen(guard->idea) > 0);
        assert_non_null(guard->sell);
    }
    assert_true(count >= 3);
    assert_null(guard_at(count));
    assert_null(guard_at(SIZE_MAX));
}

static void a_name_that_is_no_guard_finds_nothing(void **state)
{
    static const char *const names[] = {"", "Mutex", "mutex ", "mute", "mutexx", "none\n"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_null(guard_find(names[i]));
}

/* A flaw that is not declared could run without --lab. */
static void exactly_the_flawed_guards_are_expected_to_fail(void **state)
{
    (void)state;
    for (size_t i = 0; guard_at(i); i++)
        assert_int_equal(guard_at(i)->flaw != NULL, guard_at(i)->expected != VERDICT_SOUND);
    assert_null(guard_find("mutex")->flaw);
    assert_null(guard_find("script")->flaw);
    assert_null(guard_find("mutex-watchdog")->flaw);
    assert_null(guard_find("watch")->flaw);
    assert_non_null(guard_find("none")->flaw);
    assert_non_null(guard_find("mutex-unchecked")->flaw);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_guard_is_found_by_its_name),
        cmocka_unit_test(a_name_that_is_no_guard_finds_nothing),
        cmocka_unit_test(exactly_the_flawed_guards_are_expected_to_fail),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
