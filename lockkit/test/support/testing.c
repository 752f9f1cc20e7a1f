/*
 * See testing.h.
 */
#include "testing.h"

#include <signal.h>

enum { TESTS_MAX = 128 };

static struct {
    int lines[TESTS_MAX];
    bool has_fixture[TESTS_MAX];
    struct CMUnitTest tests[TESTS_MAX];
    size_t count;
    CMFixtureFunction set_up, tear_down, group_set_up, group_tear_down;
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

void testing_fixture(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    all.set_up = set_up;
    all.tear_down = tear_down;
}

void testing_group(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    all.group_set_up = set_up;
    all.group_tear_down = tear_down;
}

int testing_ignore_sigpipe(__attribute__((unused)) void **state)
{
    return signal(SIGPIPE, SIG_IGN) == SIG_ERR;
}

int testing_run(int argc, char **argv)
{
    for (size_t i = 0; i < all.count; i++) {
        if (!all.has_fixture[i]) continue;
        all.tests[i].setup_func = all.set_up;
        all.tests[i].teardown_func = all.tear_down;
    }
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return _cmocka_run_group_tests("tests", all.tests, all.count, all.group_set_up,
                                   all.group_tear_down);
}
