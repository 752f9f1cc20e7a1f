/*
 * The bench on the real service, as small as it gets: a row of each kind, the shape of result.json,
 * and that nothing outlives it. How fast anything is, is not looked at.
 */
#include <signal.h>
#include <sys/wait.h>

#include <jansson.h>

#include "test/support/lt_place.h"
#include "test/support/testing.h"

enum { LIMIT_MS = 60000, READY_MS = 20000, ORDERS = 2000 };

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

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    assert_non_null(text);
    return text;
}

static double number_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void check_row(const json_t *row, const char *name, const char *better)
{
    const json_t *repeats = json_object_get(row, "repeats");

    assert_string_equal(name, text_of(row, "name"));
    assert_true(strlen(text_of(row, "figure")) > 0);
    assert_string_equal(better, text_of(row, "better"));
    assert_true(number_of(row, "must") > 0);
    assert_true(number_of(row, "aim") > 0);
    assert_true(number_of(row, "value") > 0);
    assert_true(json_is_boolean(json_object_get(row, "ok")));
    assert_true(json_is_null(json_object_get(row, "void")));
    assert_int_equal(1, json_array_size(repeats));
    assert_true(json_number_value(json_array_get(repeats, 0)) > 0);
}

static void check_cost(const json_t *cost, long batch)
{
    assert_string_equal("script", text_of(cost, "guard"));
    assert_int_equal(batch, number_of(cost, "batch"));
    assert_true(number_of(cost, "accepted") > 0);
    assert_true(number_of(json_object_get(cost, "round_trips_per_order"), "median") > 0);
    assert_true(number_of(json_object_get(cost, "commands_per_order"), "median") > 0);
    assert_true(json_object_size(json_object_get(cost, "commands")) > 0);
}

static void check_machine(const json_t *machine)
{
    static const char *const versions[] = {"seckilld", "redis", "wrk", "civetweb", "hiredis"};

    assert_true(strlen(text_of(machine, "cpu")) > 0);
    assert_true(number_of(machine, "cores") > 0);
    assert_int_equal(0, strncmp(text_of(machine, "kernel"), "Linux", 5));
    assert_true(strlen(text_of(machine, "commit")) > 0);
    assert_true(number_of(machine, "append_ms") > 0);
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        assert_string_not_equal("?", text_of(json_object_get(machine, "versions"), versions[i]));
    assert_string_equal("yes", text_of(json_object_get(machine, "aof"), "appendonly"));
    assert_string_equal("always", text_of(json_object_get(machine, "aof"), "appendfsync"));
}

TEST(every_kind_of_row_is_measured)
{
    const struct lt_place *place = *state;
    static struct lt_outcome outcome;
    char path[LT_PATH_MAX + 64];
    char out[LT_PATH_MAX + 32];
    const char *const argv[] = {"loadtest",   "--bench",
                                "--repeat",   "1",
                                "--duration", "1",
                                "--orders",   "2000",
                                "--seed",     "5",
                                "--only",     "refusal-livez-64",
                                "--only",     "service-memory",
                                "--only",     "redis-memory",
                                "--only",     "cost-script",
                                "--out",      out,
                                NULL};

    (void)snprintf(out, sizeof out, "%s/out", place->dir);
    assert_true(lt_run(place, argv, LIMIT_MS, &outcome));
    if (outcome.status != 0) print_message("%s\n", outcome.output);
    assert_int_equal(0, outcome.status);
    assert_non_null(strstr(outcome.output, "seed 5,"));
    assert_non_null(strstr(outcome.output, "4 KiB appended and synced in "));

    (void)snprintf(path, sizeof path, "%s/result.json", out);
    json_t *result = json_load_file(path, 0, NULL);
    assert_non_null(result);
    const json_t *rows = json_object_get(result, "rows");
    const json_t *costs = json_object_get(result, "costs");
    assert_int_equal(3, json_array_size(rows));
    check_row(json_array_get(rows, 0), "refusal-livez-64", "higher");
    check_row(json_array_get(rows, 1), "service-memory", "lower");
    check_row(json_array_get(rows, 2), "redis-memory", "lower");
    assert_true(number_of(json_array_get(rows, 0), "refused") > 0);
    assert_true(number_of(json_object_get(result, "redis_memory"), "orders") >= ORDERS);
    assert_int_equal(2, json_array_size(costs));
    assert_true(number_of(json_array_get(costs, 0), "batch") > 1);
    check_cost(json_array_get(costs, 0), (long)number_of(json_array_get(costs, 0), "batch"));
    check_cost(json_array_get(costs, 1), 1);
    check_machine(json_object_get(result, "machine"));
    assert_int_equal(5, number_of(json_object_get(result, "settings"), "seed"));
    json_decref(result);
    assert_int_equal(0, lt_place_count_processes(place));
}

static bool has_three_servers(void *arg)
{
    return lt_place_count_processes(arg) >= 4; /* and the bench itself, which names the folder */
}

TEST(ctrl_c_stops_everything)
{
    struct lt_place *place = *state;
    struct process bench;
    char out[LT_PATH_MAX + 32];
    const char *const argv[] = {"loadtest", "--bench", "--out", out, NULL};

    (void)snprintf(out, sizeof out, "%s/out", place->dir);
    assert_true(lt_start(place, argv, "output", &bench));
    bool is_up = lt_eventually(has_three_servers, place, READY_MS);
    process_signal(&bench, SIGINT);
    bool has_ended = process_wait(&bench, READY_MS);
    process_stop(&bench, 0);

    assert_true(is_up);
    assert_true(has_ended);
    assert_int_equal(130, WEXITSTATUS(bench.wait_status));
    assert_int_equal(0, lt_place_count_processes(place));
}

FIXTURE(open_place, close_place);
