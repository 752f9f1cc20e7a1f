/*
 * What a sweep measures, by the service's help and its own flags.
 */
#include "measure/bench_stage.h"
#include "test/support/testing.h"

static const char help[] = "Usage: seckilld [FLAG...]\n\n"
                           "  --batch N      purchases served together [256]\n"
                           "\nGuards:\n"
                           "  mutex        SET NX PX\n"
                           "  none         nothing\n"
                           "               FLAWED, needs --lab, oversells: lost update\n"
                           "  script       no lock\n"
                           "\nMore text\n";

SET_UP(struct bench, sweep)
{
    assert_true(guard_list_parse(help, &sweep->guards));
}

TEAR_DOWN(struct bench, sweep)
{
    (void)sweep;
}

static void check_point(const struct bench *sweep, int which, const char *guard, long batch,
                        int instance, long connections)
{
    const struct bench_point *point = &sweep->points[which];

    assert_string_equal(guard, point->guard);
    assert_int_equal(batch, point->batch);
    assert_int_equal(instance, point->instance);
    assert_int_equal(connections, point->connections);
}

TEST(all_means_the_sound_guards_and_batches_of_mutex, struct bench *sweep)
{
    struct options options = {.sweep = "all", .connections = {16, 128}, .connection_steps = 2};

    assert_true(bench_points_of_sweep(sweep, &options, NULL));
    assert_int_equal(256, sweep->guards.batch);
    assert_int_equal(8, sweep->point_count);
    check_point(sweep, 0, "mutex", 256, 0, 16);
    check_point(sweep, 1, "script", 256, 0, 16);
    check_point(sweep, 3, "script", 256, 0, 128);
    check_point(sweep, 4, "mutex", 1, 1, 128);
    check_point(sweep, 7, "mutex", 64, 1, 128);
}

TEST(a_guard_may_be_named_a_flawed_one_too, struct bench *sweep)
{
    struct options options = {.sweep = "none", .connections = {8}, .connection_steps = 1};

    assert_true(bench_points_of_sweep(sweep, &options, NULL));
    assert_int_equal(5, sweep->point_count);
    check_point(sweep, 0, "none", 256, 0, 8);
    check_point(sweep, 4, "none", 64, 1, 8);
}

TEST(an_unknown_guard_is_refused, struct bench *sweep)
{
    struct options options = {.sweep = "mutex,nothing", .connections = {8}, .connection_steps = 1};
    struct failure failure = {.text = ""};

    assert_false(bench_points_of_sweep(sweep, &options, &failure));
    assert_non_null(strstr(failure.text, "nothing"));
}
