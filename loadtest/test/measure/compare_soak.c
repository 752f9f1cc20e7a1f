/*
 * Guards side by side on the real service, small: the table, the shape of result.json, the verdicts
 * of sound and flawed guards, and that nothing outlives the run.
 */
#include "test/support/lt_load.h"
#include "test/support/testing.h"

#define SMALL "--batch 1 --stock 200 --buyers 2000 --seed 7 --connections 200 "

/* The row of that guard. */
static const json_t *row_of(const json_t *result, const char *guard)
{
    const json_t *rows = json_object_get(json_object_get(result, "comparison"), "guards");

    for (size_t i = 0; i < json_array_size(rows); i++)
        if (strcmp(lt_load_text(json_array_get(rows, i), "guard"), guard) == 0)
            return json_array_get(rows, i);
    fail_msg("no guard %s", guard);
    return NULL;
}

static double median_of(const json_t *row, const char *measure)
{
    return lt_load_number(json_object_get(row, measure), "median");
}

static void check_sound(const json_t *row, size_t rounds)
{
    assert_true(json_is_null(json_object_get(row, "flaw")));
    assert_string_equal("sound", lt_load_text(row, "expected"));
    assert_string_equal("held", lt_load_text(row, "result"));
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
    const char *said =
        lt_load_run(*state, SMALL "--guard none,redlock,mutex --fault none --repeat 2", 0);

    assert_non_null(strstr(said, "3 guards in 3 ways, 2 rounds, seed 7"));
    assert_non_null(strstr(said, "\nPASS\n"));
    json_t *result = lt_load_result(*state);
    const json_t *none = row_of(result, "none");
    check_sound(row_of(result, "mutex"), 2);
    check_sound(row_of(result, "redlock"), 2);
    assert_string_equal("compare", lt_load_text(result, "mode"));
    assert_string_equal("oversells", lt_load_text(none, "expected"));
    assert_true(strlen(lt_load_text(none, "flaw")) > 0);
    assert_string_equal("showed its flaw", lt_load_text(none, "result"));
    assert_true(median_of(none, "oversold") > 0);
    assert_int_equal(6, json_array_size(json_object_get(result, "runs")));
    assert_int_equal(7, lt_load_number(result, "comparison.seed"));
    json_decref(result);
}

/* In calm setnx looks sound; when its holder dies, its lock stays, and the table says which promise fell by what. */
TEST(a_flaw_shows_under_its_fault)
{
    const char *said = lt_load_run(*state, "--guard setnx,mutex --repeat 2", 0);
    json_t *result = lt_load_result(*state);
    const json_t *rows = json_object_get(json_object_get(result, "comparison"), "guards");
    static const char *const wanted[][3] = {{"mutex", "", "held"},
                                            {"mutex", "kill", "held"},
                                            {"setnx", "", "held"},
                                            {"setnx", "kill", "showed its flaw"}};

    assert_non_null(strstr(said, "showed its flaw"));
    assert_int_equal(4, json_array_size(rows));
    for (size_t i = 0; i < 4; i++) {
        const json_t *row = json_array_get(rows, i);
        const char *fault = json_string_value(json_object_get(row, "fault"));
        assert_string_equal(wanted[i][0], lt_load_text(row, "guard"));
        assert_string_equal(wanted[i][1], fault ? fault : "");
        assert_string_equal(wanted[i][2], lt_load_text(row, "result"));
    }
    const json_t *fallen = json_object_get(json_array_get(rows, 3), "fallen");
    assert_string_equal("no undersell", json_string_value(json_array_get(fallen, 0)));
    json_decref(result);
}

TEST(a_guard_that_is_not_there_is_named)
{
    const char *said = lt_load_run(*state, SMALL "--guard mutex,mutexx --repeat 1", 2);

    assert_non_null(strstr(said, "no guard \"mutexx\""));
}

FIXTURE(lt_load_open, lt_load_close);
