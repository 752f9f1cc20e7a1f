/*
 * lockbench as a program, as small as it gets: a row of each kind, the shape of its file, rivals
 * that are not installed, and that nothing outlives it. How fast anything is, is not looked at.
 * link: -Wl,--no-as-needed -ljansson
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "test/support/lk_support.h"

enum { LIMIT_MS = 60000, OUTPUT_MAX = 16384, EXIT_VOID = 3, EXIT_INTERRUPTED = 130 };

/* A folder of our own, which is its TMPDIR too, and what it has said. */
struct place {
    char dir[64], json[96], log[96];
    char output[OUTPUT_MAX];
};

static int open_place(void **state)
{
    static struct place place;

    *state = &place;
    (void)snprintf(place.dir, sizeof place.dir, "/tmp/lockkit-itest-XXXXXX");
    if (!mkdtemp(place.dir)) return -1;
    (void)snprintf(place.json, sizeof place.json, "%s/locks.json", place.dir);
    (void)snprintf(place.log, sizeof place.log, "%s/output", place.dir);
    /* What it starts and leaves behind becomes our child. */
    return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* Empty but for what we have put there; else it stays, and the test fails. */
static int close_place(void **state)
{
    struct place *place = *state;

    (void)unlink(place->json);
    (void)unlink(place->log);
    return rmdir(place->dir);
}

/* ---- the program ---------------------------------------------------------------------------- */

static pid_t start(const struct place *place, const char *const *words)
{
    const char *build_dir = getenv("BUILD_DIR"); /* NOLINT(concurrency-mt-unsafe): one thread */
    char program[256];
    char *argv[32] = {program};

    (void)snprintf(program, sizeof program, "%s/lockbench",
                   build_dir ? build_dir : "build/release");
    for (size_t i = 0; words[i]; i++)
        memcpy(&argv[i + 1], &words[i], sizeof argv[0]); /* exec changes nothing */
    int log = open(place->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    pid_t pid = fork();
    if (pid != 0) {
        (void)close(log);
        assert_true(pid > 0);
        return pid;
    }
    (void)setenv("TMPDIR", place->dir, 1); /* NOLINT(concurrency-mt-unsafe): one thread */
    (void)dup2(log, 1);
    (void)dup2(log, 2);
    (void)execv(program, argv);
    _exit(127);
}

/* Its exit status; -1 when a signal ended it. */
static int finish(struct place *place, pid_t pid)
{
    int status = 0;
    size_t len = 0;

    LKS_EVENTUALLY(waitpid(pid, &status, WNOHANG) == pid, LIMIT_MS);
    FILE *file = fopen(place->log, "re");
    if (file) {
        len = fread(place->output, 1, OUTPUT_MAX - 1, file);
        (void)fclose(file);
    }
    place->output[len] = '\0';
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define RUN(place, ...) finish((place), start((place), (const char *const[]){__VA_ARGS__, NULL}))

static bool has_no_children(void)
{
    int status = 0;

    return waitpid(-1, &status, WNOHANG) < 0 && errno == ECHILD;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static const json_t *row_named(const json_t *result, const char *name)
{
    const json_t *rows = json_object_get(result, "rows");

    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *found = json_string_value(json_object_get(row, "name"));

        if (found && strcmp(found, name) == 0) return row;
    }
    fail_msg("no row %s", name);
    return NULL;
}

static void check_row(const json_t *row)
{
    const json_t *repeats = json_object_get(row, "repeats");

    assert_true(strlen(json_string_value(json_object_get(row, "figure"))) > 0);
    assert_true(strlen(json_string_value(json_object_get(row, "better"))) > 0);
    assert_true(json_real_value(json_object_get(row, "value")) > 0);
    assert_true(json_is_boolean(json_object_get(row, "ok")));
    assert_true(json_is_null(json_object_get(row, "void")));
    assert_int_equal(1, json_array_size(repeats));
    assert_true(json_real_value(json_array_get(repeats, 0)) > 0);
}

TEST(every_kind_of_row_is_measured, struct place *place)
{
    int status =
        RUN(place, "--repeat", "1", "--duration", "0.05", "--seed", "5", "--json", place->json,
            "--only", "pair-mutex", "--only", "handover-mutex-8-p50", "--only", "rate-permits",
            "--only", "renewal-pass", "--only", "redisson-pair", "--interop", "/nowhere");
    if (status != 0) print_message("%s\n", place->output);
    assert_int_equal(0, status);
    assert_non_null(strstr(place->output, "seed 5;"));
    assert_non_null(strstr(place->output, "not measured: make interop first"));

    json_t *result = json_load_file(place->json, 0, NULL);
    assert_non_null(result);
    assert_int_equal(6, json_array_size(json_object_get(result, "rows"))); /* with pair-mutex-tcp */
    check_row(row_named(result, "pair-mutex"));
    check_row(row_named(result, "handover-mutex-8-p50"));
    check_row(row_named(result, "rate-permits"));
    check_row(row_named(result, "renewal-pass"));
    const json_t *pair = row_named(result, "pair-mutex");
    assert_true(json_real_value(json_object_get(pair, "must")) > 1);
    assert_int_equal(1, json_array_size(json_object_get(pair, "under")));
    const json_t *absent = row_named(result, "redisson-pair");
    assert_true(json_is_null(json_object_get(absent, "value")));
    assert_true(json_is_false(json_object_get(absent, "ok")));
    assert_non_null(strstr(json_string_value(json_object_get(absent, "void")), "make interop"));
    assert_true(json_is_false(json_object_get(result, "void")));
    const json_t *machine = json_object_get(result, "machine");
    assert_true(json_integer_value(json_object_get(machine, "cores")) > 0);
    assert_string_not_equal(
        "?", json_string_value(json_object_get(json_object_get(machine, "versions"), "redis")));
    json_decref(result);
    assert_true(has_no_children());
}

TEST(a_server_that_is_not_ours_is_left_as_it_was, struct place *place)
{
    struct lks_server *server = lks_server_start(&(struct lks_server_options){.is_tcp = true});

    LKS_DO(server, "SET", "theirs", "1");
    int status = RUN(place, "--repeat", "1", "--duration", "0.05", "--redis", server->tcp_url,
                     "--only", "pair-semaphore", "--only", "rate-semaphore", "--only", "rate-read");
    if (status != 0) print_message("%s\n", place->output);
    assert_int_equal(0, status);
    assert_int_equal(1, LKS_INTEGER(server, "DBSIZE"));
    lks_server_stop(server);
}

TEST(a_bad_word_is_said_and_nothing_is_started, struct place *place)
{
    assert_int_equal(2, RUN(place, "--repeat", "0"));
    assert_non_null(strstr(place->output, "lockbench: --repeat: \"0\" is not a number"));
    assert_int_equal(2, RUN(place, "--only", "speed"));
    assert_non_null(strstr(place->output, "no row's name starts with \"speed\""));
}

TEST(without_a_server_it_says_so, struct place *place)
{
    assert_int_equal(EXIT_VOID, RUN(place, "--redis", "unix:///nowhere/s"));
    assert_non_null(strstr(place->output, "lockbench: /nowhere/s: No such file or directory"));
}

static bool has_begun(struct place *place)
{
    FILE *file = fopen(place->log, "re");
    size_t len = file ? fread(place->output, 1, OUTPUT_MAX - 1, file) : 0;

    if (file) (void)fclose(file);
    place->output[len] = '\0';
    return strstr(place->output, "handover lockkit") != NULL;
}

TEST(ctrl_c_stops_everything, struct place *place)
{
    const char *const words[] = {"--duration", "30", "--only", "handover-mutex-8-p50", NULL};
    pid_t pid = start(place, words);

    LKS_EVENTUALLY(has_begun(place), LIMIT_MS);
    lks_nap(300); /* among the players by now, or just before */
    (void)kill(pid, SIGINT);

    assert_int_equal(EXIT_INTERRUPTED, finish(place, pid));
    assert_true(has_no_children());
}

FIXTURE(open_place, close_place);
