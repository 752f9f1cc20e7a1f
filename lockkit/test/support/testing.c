/*
 * See testing.h.
 */
#include "testing.h"

#include <signal.h>

enum { TESTS_MAX = 128 };

struct testing_hooks testing_hooks;

static struct {
    int lines[TESTS_MAX];
    bool has_fixture[TESTS_MAX];
    struct CMUnitTest tests[TESTS_MAX];
    size_t count;
} all;

/* Constructors run in whatever order the compiler likes: so each is put where its line says. */
void testing_add(int line, struct CMUnitTest test, bool has_fixture)
{
    size_t place = all.count++;

    if (place == TESTS_MAX) abort();
    for (; place > 0 && all.lines[place - 1] > line; place--) {
        all.lines[place] = all.lines[place - 1];
        all.tests[place] = all.tests[place - 1];
        all.has_fixture[place] = all.has_fixture[place - 1];
    }
    all.lines[place] = line;
    all.tests[place] = test;
    all.has_fixture[place] = has_fixture;
}

int testing_ignore_sigpipe(__attribute__((unused)) void **state)
{
    return signal(SIGPIPE, SIG_IGN) == SIG_ERR;
}

int testing_run(int argc, char **argv)
{
    for (size_t i = 0; i < all.count; i++) {
        if (!all.has_fixture[i]) continue;
        all.tests[i].setup_func = testing_hooks.set_up;
        all.tests[i].teardown_func = testing_hooks.tear_down;
    }
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return _cmocka_run_group_tests("tests", all.tests, all.count, testing_hooks.before_all,
                                   testing_hooks.after_all);
}
