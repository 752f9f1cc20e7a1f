/*
 * Guards side by side on the real service, small: the table, the shape of result.json, the verdicts
 * of sound and flawed guards, and that nothing outlives the run.
 */
#include <signal.h>
#include <sys/wait.h>

#include <jansson.h>

#include "test/support/lt_place.h"
#include "test/support/testing.h"

enum { LIMIT_MS = 120000, READY_MS = 20000 };

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

static bool compare(const struct lt_place *place, const char *guards, const char *repeat,
                    struct lt_outcome *outcome)
{
    char out[LT_PATH_MAX + 32];
    const char *const argv[] = {"loadtest", "--guard", guards, "--repeat",      repeat, "--batch",
                                "1",        "--stock", "200",  "--buyers",      "2000", "--seed",
                                "7",        "--out",   out,    "--connections", "200",  NULL};

    (void)snprintf(out, sizeof out, "%s/out", place->dir);
    return lt_run(place, argv, LIMIT_MS, outcome);
}

static json_t *read_result(const struct lt_place *place)
{
    char path[LT_PATH_MAX + 64];

    (void)snprintf(path, sizeof path, "%s/out/result.json", place->dir);
    json_t *result = json_load_file(path, 0, NULL);
    assert_non_null(result);
    return result;
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    assert_non_null(text);
    return text;
}

/* The row of that guard. */
static const json_t *row_of(const json_t *result, const char *guard)
{
    const json_t *rows = json_object_get(json_object_get(result, "comparison"), "guards");

    for (size_t i = 0; i < json_array_size(rows); i++)
        if (strcmp(text_of(json_array_get(rows, i), "guard"), guard) == 0)
            return json_array_get(rows, i);
    fail_msg("no guard %s", guard);
    return NULL;
}

static double median_of(const json_t *row, const char *measure)
{
    const json_t *value = json_object_get(json_object_get(row, measure), "median");
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void check_sound(const json_t *row, size_t rounds)
{
    assert_true(json_is_null(json_object_get(row, "flaw")));
    assert_string_equal("sound", text_of(row, "expected"));
    assert_string_equal("held", text_of(row, "result"));
    assert_true(median_of(row, "accepted_per_s") > 0);
    assert_true(median_of(row, "accepted_p99_ms") > 0);
    assert_true(median_of(row, "round_trips_per_order") > 0.5);
    assert_true(median_of(row, "oversold") <= 0);
    assert_true(median_of(row, "undersold") <= 0);
    assert_true(median_of(row, "duplicates") <= 0);
    assert_true(median_of(row, "stuck_locks") <= 0);
    assert_in_range((int)(100 * median_of(row, "inversions")), 0, 100);
    assert_int_equal(rounds, json_array_size(json_object_get(json_object_get(row, "accepted_per_s"),
                                                             "repeats")));
    assert_int_equal(rounds, json_array_size(json_object_get(row, "results")));
}

/* redlock has lock servers of its own; none oversells, and that is what it is there for. */
TEST(sound_and_flawed_guards_stand_side_by_side)
{
    const struct lt_place *place = *state;
    static struct lt_outcome outcome;

    assert_true(compare(place, "none,redlock,mutex", "2", &outcome));
    if (outcome.status != 0) print_message("%s\n", outcome.output);
    assert_int_equal(0, outcome.status);
    assert_non_null(strstr(outcome.output, "3 guards, 2 rounds, seed 7"));
    assert_non_null(strstr(outcome.output, "\nPASS\n"));

    json_t *result = read_result(place);
    const json_t *none = row_of(result, "none");
    check_sound(row_of(result, "mutex"), 2);
    check_sound(row_of(result, "redlock"), 2);
    assert_string_equal("compare", text_of(result, "mode"));
    assert_string_equal("oversells", text_of(none, "expected"));
    assert_true(strlen(text_of(none, "flaw")) > 0);
    assert_string_equal("showed its flaw", text_of(none, "result"));
    assert_true(median_of(none, "oversold") > 0);
    assert_int_equal(6, json_array_size(json_object_get(result, "runs")));
    assert_int_equal(
        7, json_integer_value(json_object_get(json_object_get(result, "comparison"), "seed")));
    json_decref(result);
    assert_int_equal(0, lt_place_count_processes(place));
}

TEST(a_guard_that_is_not_there_is_named)
{
    const struct lt_place *place = *state;
    static struct lt_outcome outcome;

    assert_true(compare(place, "mutex,mutexx", "1", &outcome));
    assert_int_equal(3, outcome.status);
    assert_non_null(strstr(outcome.output, "no guard \"mutexx\""));
    assert_int_equal(0, lt_place_count_processes(place));
}

static bool has_servers(void *arg)
{
    return lt_place_count_processes(arg) >= 4; /* Redis, two instances, and the run itself */
}

TEST(ctrl_c_stops_everything)
{
    struct lt_place *place = *state;
    struct process run;
    char out[LT_PATH_MAX + 32];
    const char *const argv[] = {"loadtest", "--guard", "all", "--out", out, NULL};

    (void)snprintf(out, sizeof out, "%s/out", place->dir);
    assert_true(lt_start(place, argv, "output", &run));
    bool is_up = lt_eventually(has_servers, place, READY_MS);
    process_signal(&run, SIGINT);
    bool has_ended = process_wait(&run, READY_MS);
    process_stop(&run, 0);

    assert_true(is_up);
    assert_true(has_ended);
    assert_int_equal(130, WEXITSTATUS(run.wait_status));
    assert_int_equal(0, lt_place_count_processes(place));
}

FIXTURE(open_place, close_place);
