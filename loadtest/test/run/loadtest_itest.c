/*
 * loadtest on the real service, small: a sound guard passes, no guard fails, a sale nobody could
 * buy in is void, and nothing it started outlives it.
 */
#include <signal.h>
#include <sys/wait.h>

#include <jansson.h>

#include "test/support/lt_place.h"
#include "test/support/testing.h"

enum { LIMIT_MS = 60000, READY_MS = 20000, TRIES = 3 };

static int open_place(void **state)
{
    static struct lt_place place;
    *state = &place;
    return lt_place_open(&place) ? 0 : -1;
}

static int close_place(void **state)
{
    lt_place_close(*state);
    return 0;
}

static json_t *read_result(const struct lt_place *place)
{
    char path[LT_PATH_MAX + 64];

    (void)snprintf(path, sizeof path, "%s/out/result.json", place->dir);
    return json_load_file(path, 0, NULL);
}

static json_int_t number_of(const json_t *result, const char *name)
{
    const json_t *value = json_object_get(result, name);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static const char *verdict_of(const json_t *result, const char *check)
{
    const char *verdict =
        json_string_value(json_object_get(json_object_get(result, "audit"), check));
    assert_non_null(verdict);
    return verdict;
}

static bool run_loadtest(const struct lt_place *place, const char *const more[],
                         struct lt_outcome *outcome)
{
    char out[LT_PATH_MAX + 32];
    const char *argv[LT_WORDS_MAX] = {"loadtest", "--out", out};
    size_t count = 3;

    (void)snprintf(out, sizeof out, "%s/out", place->dir);
    for (size_t i = 0; more[i]; i++)
        argv[count++] = more[i];
    return lt_run(place, argv, LIMIT_MS, outcome);
}

TEST(sound_guard_passes)
{
    const char *const flags[] = {"--buyers",      "3000", "--connections", "200", "--stock", "100",
                                 "--retry-share", "0.4",  "--repeat",      "2",   NULL};
    const struct lt_place *place = *state;
    static struct lt_outcome outcome;

    assert_true(run_loadtest(place, flags, &outcome));
    if (outcome.status != 0) print_message("%s\n", outcome.output);
    assert_int_equal(0, outcome.status);
    assert_non_null(strstr(outcome.output, "\nPASS\n"));

    json_t *result = read_result(place);
    assert_non_null(result);
    assert_int_equal(100, number_of(result, "initial"));
    assert_int_equal(100, number_of(result, "sold"));
    assert_int_equal(100, number_of(result, "accepted"));
    assert_int_equal(0, number_of(result, "left"));
    assert_int_equal(3000, number_of(result, "buyers"));
    assert_int_equal(0, number_of(result, "duplicates"));
    assert_true(number_of(result, "replayed") > 0);
    json_t *refused = json_object_get(result, "refused");
    assert_true(number_of(refused, "sold-out") > 2000);
    assert_true(number_of(refused, "already-ordered") > 0);
    assert_true(json_real_value(json_object_get(result, "purchases_per_s")) > 0);
    assert_string_equal("pass", verdict_of(result, "conservation"));
    assert_string_equal("pass", verdict_of(result, "honest_answers"));
    assert_int_equal(2, json_array_size(json_object_get(result, "runs")));
    json_decref(result);
    assert_int_equal(0, lt_place_count_processes(place));
}

TEST(no_guard_is_found_out)
{
    const char *const flags[] = {"--guard",       "none", "--buyers", "5000",
                                 "--connections", "400",  "--quiet",  NULL};
    const struct lt_place *place = *state;
    static struct lt_outcome outcome;
    int tries = 0;

    do {
        assert_true(run_loadtest(place, flags, &outcome));
        tries++;
    } while (outcome.status == 0 && tries < TRIES); /* a race need not happen every time */

    if (outcome.status != 1) print_message("%s\n", outcome.output);
    assert_int_equal(1, outcome.status);
    json_t *result = read_result(place);
    assert_string_equal("fail", json_string_value(json_object_get(result, "verdict")));
    json_decref(result);
}

/* A seckilld of our own with its own Redis, and what its ready line says. */
struct running {
    struct process process;
    char buyers[100], admin[100], redis[LT_PATH_MAX + 64], token[LT_PATH_MAX + 64];
    const struct lt_place *place;
};

static bool is_ready(void *arg)
{
    struct running *running = arg;
    char said[1024];

    lt_place_read(running->place, "running", said, sizeof said);
    const char *line = strstr(said, ": buyers ");
    return line && strchr(line, '\n') &&
           sscanf(line, ": buyers %99[^,], admin %99[^,], redis %250s", running->buyers,
                  running->admin, running->redis) == 3;
}

static bool start_running(const struct lt_place *place, const char *lab, struct running *running)
{
    char data[LT_PATH_MAX + 32];
    const char *const argv[] = {
        "seckilld",    "--data",        data,  "--listen", "127.0.0.1:0", "--admin-listen",
        "127.0.0.1:0", "--connections", "300", lab,        NULL};

    (void)snprintf(data, sizeof data, "%s/data", place->dir);
    running->place = place;
    (void)snprintf(running->token, sizeof running->token, "%s/admin.token", data);
    return lt_start(place, argv, "running", &running->process) &&
           lt_eventually(is_ready, running, READY_MS);
}

static bool run_against(const struct lt_place *place, const struct running *running,
                        struct lt_outcome *outcome)
{
    const char *const flags[] = {"--url",         running->buyers, "--admin-url", running->admin,
                                 "--admin-token", running->token,  "--redis",     running->redis,
                                 "--buyers",      "1000",          "--stock",     "50",
                                 "--connections", "100",           NULL};
    return run_loadtest(place, flags, outcome);
}

TEST(running_instances_are_tested_and_left_running)
{
    const struct lt_place *place = *state;
    static struct lt_outcome outcome;
    struct running running = {.token = ""};

    bool is_started = start_running(place, "--lab", &running);
    bool is_run = is_started && run_against(place, &running, &outcome);
    bool still_runs = process_is_running(&running.process);
    process_stop(&running.process, READY_MS);

    assert_true(is_started);
    assert_true(is_run);
    if (outcome.status != 0) print_message("%s\n", outcome.output);
    assert_int_equal(0, outcome.status);
    assert_true(still_runs);
    assert_int_equal(0, lt_place_count_processes(place));
}

/* Without --lab nobody is known: all are refused, nothing is sold, nothing is proved. */
TEST(sale_that_served_nobody_is_void)
{
    const struct lt_place *place = *state;
    static struct lt_outcome outcome;
    struct running running = {.token = ""};

    bool is_started = start_running(place, NULL, &running);
    bool is_run = is_started && run_against(place, &running, &outcome);
    process_stop(&running.process, READY_MS);

    assert_true(is_started);
    assert_true(is_run);
    if (outcome.status != 2) print_message("%s\n", outcome.output);
    assert_int_equal(2, outcome.status);
    assert_non_null(strstr(outcome.output, "\nVOID\n"));
    assert_non_null(strstr(outcome.output, "nothing was sold"));
}

static bool is_under_load(void *arg)
{
    return lt_place_count_processes(arg) == 6; /* loadtest, Redis, two instances, two wrk */
}

static bool is_all_gone(void *arg)
{
    return lt_place_count_processes(arg) == 0;
}

static bool start_long_run(struct lt_place *place, struct process *out_loadtest)
{
    char out[LT_PATH_MAX + 32];
    const char *const argv[] = {"loadtest", "--out",         out,   "--buyers",
                                "10000000", "--connections", "100", NULL};

    (void)snprintf(out, sizeof out, "%s/out", place->dir);
    return lt_start(place, argv, "output", out_loadtest) &&
           lt_eventually(is_under_load, place, READY_MS);
}

TEST(ctrl_c_leaves_no_process)
{
    struct lt_place *place = *state;
    struct process loadtest = {.pid = 0};

    bool is_started = start_long_run(place, &loadtest);
    process_signal(&loadtest, SIGINT);
    bool has_ended = process_wait(&loadtest, READY_MS);
    process_stop(&loadtest, 0);

    assert_true(is_started);
    assert_true(has_ended);
    assert_true(WIFEXITED(loadtest.wait_status));
    assert_int_equal(130, WEXITSTATUS(loadtest.wait_status));
    assert_int_equal(0, lt_place_count_processes(place));
}

TEST(kill_leaves_no_process)
{
    struct lt_place *place = *state;
    struct process loadtest = {.pid = 0};

    bool is_started = start_long_run(place, &loadtest);
    process_signal(&loadtest, SIGKILL);
    bool has_ended = process_wait(&loadtest, READY_MS);

    assert_true(is_started);
    assert_true(has_ended);
    assert_true(lt_eventually(is_all_gone, place, READY_MS));
}

TEST(speed_run_prints_the_ratio)
{
    const char *const flags[] = {
        "--against", "livez", "--connections", "8,16", "--duration", "1", "--repeat", "1", NULL};
    const struct lt_place *place = *state;
    static struct lt_outcome outcome;

    assert_true(run_loadtest(place, flags, &outcome));
    if (outcome.status != 0) print_message("%s\n", outcome.output);
    assert_int_equal(0, outcome.status);

    json_t *result = read_result(place);
    json_t *steps = json_object_get(result, "steps");
    assert_int_equal(2, json_array_size(steps));
    json_t *ratio = json_object_get(json_array_get(steps, 1), "ratio");
    assert_true(json_real_value(json_object_get(ratio, "median")) > 0);
    json_decref(result);
    assert_int_equal(0, lt_place_count_processes(place));
}

TEST(what_cannot_run_says_why)
{
    const char *const bad_flag[] = {"--batch", "many", NULL};
    const char *const bad_guard[] = {"--guard", "no-such-guard", NULL};
    const char *const no_scripts[] = {"--wrk-dir", "/nonexistent", NULL};
    const struct lt_place *place = *state;
    static struct lt_outcome outcome;

    assert_true(run_loadtest(place, bad_flag, &outcome));
    assert_int_equal(2, outcome.status);
    assert_string_equal("loadtest: --batch: \"many\" is not a number from 1 to 1024\n",
                        outcome.output);

    assert_true(run_loadtest(place, bad_guard, &outcome));
    assert_int_equal(3, outcome.status);
    assert_non_null(strstr(outcome.output, "loadtest: the sale was not created: 400"));

    assert_true(run_loadtest(place, no_scripts, &outcome));
    assert_int_equal(3, outcome.status);
    assert_non_null(strstr(outcome.output, "loadtest: --wrk-dir: /nonexistent/purchase.lua"));
    assert_int_equal(0, lt_place_count_processes(place));
}

FIXTURE(open_place, close_place);
