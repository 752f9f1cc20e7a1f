/*
 * Every kind of lock under torture, about two minutes in all; and two flawed locks, which torture must
 * find out. The work is the program's (`torture --help`), which prints its seeds; LK_TEST_SEED repeats
 * one.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/lk_support.h"
#include "torture/torture_kinds.h"

enum { TESTS_MAX = 32, WORDS_MAX = 16, OUTPUT_MAX = 16384, FOUND = 1, WRONG_USAGE = 2 };

static const char seconds[] = "6"; /* of each kind */

/* ---- the program ------------------------------------------------------------------------------------ */

static pid_t start(const char *const words[WORDS_MAX], const char *path, int output)
{
    char *argv[WORDS_MAX]; /* exec changes nothing, its prototype is older than const */

    memcpy((void *)argv, (const void *)words, sizeof argv);
    pid_t pid = fork();
    if (pid != 0) return pid;
    (void)dup2(output, STDOUT_FILENO);
    (void)dup2(output, STDERR_FILENO);
    (void)execv(path, argv);
    _exit(127);
}

/* Until its end; what does not fit is left out. */
static void read_all(int from, char out[OUTPUT_MAX])
{
    char rest[256];
    size_t used = 0;
    ssize_t got = 0;

    while (used + 1 < OUTPUT_MAX && (got = read(from, out + used, OUTPUT_MAX - 1 - used)) > 0)
        used += (size_t)got;
    while (got > 0)
        got = read(from, rest, sizeof rest);
    out[used] = '\0';
}

/* As TAP's comments, line by line: cmocka cuts a long message short, and a test's result with it. */
static void show(const char *output)
{
    for (const char *line = output; *line;) {
        int len = (int)strcspn(line, "\n");

        print_message("# %.*s\n", len < 500 ? len : 500, line);
        line += len + (line[len] == '\n');
    }
}

/* Run it; its exit status. */
static int torture(const char *kind, char output[OUTPUT_MAX])
{
    const char *folder = getenv("BUILD_DIR");  /* NOLINT(concurrency-mt-unsafe): one thread */
    const char *seed = getenv("LK_TEST_SEED"); /* NOLINT(concurrency-mt-unsafe): one thread */
    const char *words[WORDS_MAX] = {"torture", "--kind", kind, "--seconds", seconds};
    char path[4096];
    int ends[2];
    int status = -1;

    if (seed) {
        words[5] = "--seed";
        words[6] = seed;
    }
    (void)snprintf(path, sizeof path, "%s/torture", folder ? folder : "build/release");
    assert_int_equal(pipe(ends), 0);
    pid_t pid = start(words, path, ends[1]);
    assert_true(pid > 0);
    (void)close(ends[1]);
    read_all(ends[0], output);
    (void)close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    show(output);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- tests --------------------------------------------------------------------------------------------- */

static void nothing_is_found(void **state)
{
    const struct torture_kind *kind = *(const struct torture_kind **)*state;
    char output[OUTPUT_MAX];

    if (torture(kind->name, output) != 0) fail_msg("%s", output);
}

static void the_flaw_is_found(void **state)
{
    const struct torture_kind *kind = *(const struct torture_kind **)*state;
    char output[OUTPUT_MAX];

    assert_int_equal(torture(kind->name, output), FOUND);
    assert_non_null(strstr(output, "at work, the first: ")); /* by the board, or an answer... */
    assert_non_null(strstr(output, "exclusion: "));          /* ...and by the history */
}

static void a_kind_that_is_none_is_refused(void **state)
{
    char output[OUTPUT_MAX];

    assert_int_equal(torture("no-such-kind", output), WRONG_USAGE);
    assert_non_null(strstr(output, "no-such-kind"));
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
