/*
 * lockbench as a program, as small as it gets: a row of each kind, the shape of its file, rivals
 * that are not installed, and that nothing outlives it. How fast anything is, is not looked at.
 * link: -Wl,--no-as-needed -ljansson
 */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "test/support/lk_ctl.h"

enum { LIMIT_MS = 60000, EXIT_VOID = 3, EXIT_INTERRUPTED = 130 };

/* A folder of our own, which is its TMPDIR too; and the program. */
struct place {
    char dir[64], json[96];
    struct lkc_program program;
};

static int open_place(void **state)
{
    static struct place place;

    *state = &place;
    place.program.limit_ms = LIMIT_MS;
    (void)snprintf(place.dir, sizeof place.dir, "/tmp/lockkit-itest-XXXXXX");
    if (!mkdtemp(place.dir)) return -1;
    (void)snprintf(place.json, sizeof place.json, "%s/locks.json", place.dir);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    if (setenv("TMPDIR", place.dir, 1) != 0) return -1;
    /* What it starts and leaves behind becomes our child. */
    return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* Empty but for what we have put there; else it stays, and the test fails. */
static int close_place(void **state)
{
    struct place *place = *state;

    (void)unlink(place->json);
    return rmdir(place->dir);
}

/* It shall end so, and have said that. */
static void run(struct place *place, int expected, const char *said, const char *const *words)
{
    lkc_start_program(&place->program, "lockbench", words);
    int status = lkc_finish(&place->program);

    if (status != expected) fail_msg("%d: %s%s", status, place->program.out, place->program.err);
    lkc_expect(said, expected == 0 ? place->program.out : place->program.err);
}
#define RUN(place, expected, said, ...)                                                            \
    run((place), (expected), (said), (const char *const[]){__VA_ARGS__, NULL})

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
    RUN(place, 0, "seed 5;", "--repeat", "1", "--duration", "0.05", "--seed", "5", "--json",
        place->json, "--only", "pair-mutex", "--only", "handover-mutex-8-p50", "--only",
        "rate-permits", "--only", "renewal-pass", "--only", "redisson-pair", "--interop",
        "/nowhere");
    lkc_expect("not measured: make interop first", place->program.out);

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
    RUN(place, 0, "semaphore acquire", "--repeat", "1", "--duration", "0.05", "--redis",
        server->tcp_url, "--only", "pair-semaphore", "--only", "rate-semaphore", "--only",
        "rate-read");
    assert_int_equal(1, LKS_INTEGER(server, "DBSIZE"));
    lks_server_stop(server);
}

TEST(a_bad_word_is_said_and_nothing_is_started, struct place *place)
{
    RUN(place, 2, "lockbench: --repeat: \"0\" is not a number", "--repeat", "0");
    RUN(place, 2, "no row's name starts with \"speed\"", "--only", "speed");
}

TEST(without_a_server_it_says_so, struct place *place)
{
    RUN(place, EXIT_VOID, "lockbench: /nowhere/s: No such file or directory", "--redis",
        "unix:///nowhere/s");
}

TEST(ctrl_c_stops_everything, struct place *place)
{
    struct lkc_program *program = &place->program;
    const char *const words[] = {"--duration", "30", "--only", "handover-mutex-8-p50", NULL};

    lkc_start_program(program, "lockbench", words);
    LKS_EVENTUALLY(strstr(lkc_read(program->err_path), "handover lockkit"), LIMIT_MS);
    lks_nap(300); /* among the players by now, or just before */
    (void)kill(program->pid, SIGINT);

    assert_int_equal(EXIT_INTERRUPTED, lkc_finish(program));
    assert_true(has_no_children());
}

FIXTURE(open_place, close_place);
