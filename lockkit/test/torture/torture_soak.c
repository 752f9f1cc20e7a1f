/*
 * Every kind of lock under torture, about two minutes in all; and flawed locks, which torture must find
 * out. The work is the program's (`torture --help`), which prints its seeds; LK_TEST_SEED repeats
 * one.
 */
#include "test/support/lk_ctl.h"
#include "torture/torture_kinds.h"

enum { TESTS_MAX = 32, LIMIT_MS = 280000, FOUND = 1, WRONG_USAGE = 2 };

static struct lkc_program program;

/* As TAP's comments, line by line: cmocka cuts a long message short, and a test's result with it. */
static void show(const char *output)
{
    for (const char *line = output; *line;) {
        int len = (int)strcspn(line, "\n");

        print_message("# %.*s\n", len < 500 ? len : 500, line);
        line += len + (line[len] == '\n');
    }
}

/* Run it for some seconds; its exit status. */
static int torture(const char *kind)
{
    const char *seed = getenv("LK_TEST_SEED"); /* NOLINT(concurrency-mt-unsafe): one thread */
    const char *const words[] = {"--kind", kind, "--seconds", "6", seed ? "--seed" : NULL,
                                 seed,     NULL};

    program.limit_ms = LIMIT_MS;
    lkc_start_program(&program, "torture", words);
    int status = lkc_finish(&program);
    show(program.out);
    show(program.err);
    return status;
}

/* ---- tests --------------------------------------------------------------------------------------------- */

static void nothing_is_found(void **state)
{
    const struct torture_kind *kind = *(const struct torture_kind **)*state;

    if (torture(kind->name) != 0) fail_msg("%s", program.out);
}

static void the_flaw_is_found(void **state)
{
    const struct torture_kind *kind = *(const struct torture_kind **)*state;

    static const struct {
        const char *kind;
        const char *finders[3];
    } rows[] = {
        {"flawed-release", {"at work, the first: ", "history: exclusion\n", "history: named\n"}},
        {"flawed-acquire", {"at work, the first: ", "history: exclusion\n", "history: named\n"}},
        {"flawed-answer", {"history: orphans\n", "history: orphans\n", "history: orphans\n"}},
    };

    assert_int_equal(torture(kind->name), FOUND);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t k = 0; k < 3 && strcmp(rows[i].kind, kind->name) == 0; k++)
            lkc_expect(rows[i].finders[k], program.out);
    }
}

static void a_kind_that_is_none_is_refused(void **state)
{
    (void)state;
    assert_int_equal(torture("no-such-kind"), WRONG_USAGE);
    lkc_expect("no-such-kind", program.err);
}

int main(void)
{
    struct CMUnitTest tests[TESTS_MAX + 1] = {cmocka_unit_test(a_kind_that_is_none_is_refused)};
    static const struct torture_kind *kinds[TESTS_MAX];

    for (size_t i = 0; i < torture_kind_count && i < TESTS_MAX; i++) {
        kinds[i] = torture_kinds[i];
        tests[i + 1] = (struct CMUnitTest){.name = kinds[i]->name,
                                           .test_func = kinds[i]->is_flawed ? the_flaw_is_found
                                                                            : nothing_is_found,
                                           .initial_state = &kinds[i]};
    }
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
