/*
 * The bench's arithmetic and what it reads out of texts: no server, no wrk.
 */
#include "measure/bench_stage.h"
#include "test/support/testing.h"

enum { MANY = 100 };

static bool is_near(double left, double right)
{
    double off = left - right;
    return off < 1e-9 && off > -1e-9;
}

TEST(an_order_has_every_number_once)
{
    for (int count = 0; count <= MANY; count++) {
        int order[MANY];
        bool is_seen[MANY] = {false};
        bench_shuffle(order, count, 7, (uint64_t)count);
        for (int i = 0; i < count; i++) {
            assert_in_range(order[i], 0, count - 1);
            assert_false(is_seen[order[i]]);
            is_seen[order[i]] = true;
        }
    }
}

TEST(an_order_depends_on_seed_and_round)
{
    int order[MANY], again[MANY], other_seed[MANY], other_round[MANY];

    bench_shuffle(order, MANY, 1, 1);
    bench_shuffle(again, MANY, 1, 1);
    bench_shuffle(other_seed, MANY, 2, 1);
    bench_shuffle(other_round, MANY, 1, 2);

    assert_memory_equal(order, again, sizeof order);
    assert_memory_not_equal(order, other_seed, sizeof order);
    assert_memory_not_equal(order, other_round, sizeof order);
}

TEST(either_of_two_may_come_first)
{
    int firsts[2] = {0, 0};

    for (uint64_t round = 0; round < MANY; round++) {
        int order[2];
        bench_shuffle(order, 2, 11, round);
        firsts[order[0]]++;
    }

    assert_true(firsts[0] > MANY / 4);
    assert_true(firsts[1] > MANY / 4);
}

TEST(the_value_is_the_median_of_the_rounds)
{
    struct bench_row row = {.figure = &bench_figures[BENCH_PURCHASE_LIVEZ_64]};

    bench_add_ratio(&row, 600, 1000);
    bench_add_ratio(&row, 400, 1000);
    bench_add_ratio(&row, 1800, 2000);
    bench_sum_up(&row);

    assert_int_equal(3, row.repeats.count);
    assert_true(is_near(0.6, row.spread.median));
    assert_true(is_near(0.4, row.spread.least));
    assert_true(is_near(0.9, row.spread.most));
    assert_true(is_near(0.6, row.repeats.values[0])); /* in the order of the rounds */
    assert_true(is_near(1800, row.over_per_s.values[2]) &&
                is_near(2000, row.under_per_s.values[2]));
    assert_true(row.is_ok);
}

TEST(of_an_even_number_the_two_in_the_middle_count)
{
    struct bench_row row = {.figure = &bench_figures[BENCH_SERVICE_MEMORY]};

    spread_add(&row.repeats, 200);
    spread_add(&row.repeats, 80);
    spread_add(&row.repeats, 120);
    spread_add(&row.repeats, 100);
    bench_sum_up(&row);

    assert_true(is_near(110, row.spread.median));
    assert_true(row.is_ok);
}

TEST(enough_is_at_least_or_at_most)
{
    static const struct {
        double value;
        bench_better better;
        bool is_enough;
    } cases[] = {
        {0.9, BENCH_HIGHER, false}, {1, BENCH_HIGHER, true}, {1.1, BENCH_HIGHER, true},
        {0.9, BENCH_LOWER, true},   {1, BENCH_LOWER, true},  {1.1, BENCH_LOWER, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench_figure figure = {.must = 1, .better = cases[i].better};
        assert_int_equal(cases[i].is_enough, bench_reaches(&figure, cases[i].value));
    }
    assert_false(bench_reaches(&(struct bench_figure){.better = BENCH_LOWER}, strtod("nan", NULL)));
}

TEST(a_doubtful_row_is_never_ok)
{
    struct bench_row row = {.figure = &bench_figures[BENCH_REFUSAL_LIVEZ_64]};

    bench_add_ratio(&row, 1000, 1000);
    bench_set_doubt(row.doubt, "%s", "");
    bench_set_doubt(row.doubt, "3 socket errors");
    bench_set_doubt(row.doubt, "something later");
    bench_sum_up(&row);

    assert_false(row.is_ok);
    assert_string_equal("3 socket errors", row.doubt);
    assert_true(is_near(1, row.spread.median));
}

TEST(what_was_not_measured_is_doubtful)
{
    struct bench_row nothing = {.figure = &bench_figures[BENCH_REDIS_MEMORY]};
    struct bench_row zero = {.figure = &bench_figures[BENCH_PURCHASE_SINGLE]};

    bench_sum_up(&nothing);
    bench_add_ratio(&zero, 1000, 0);
    bench_sum_up(&zero);

    assert_false(nothing.is_ok);
    assert_string_equal("not measured", nothing.doubt);
    assert_false(zero.is_ok);
    assert_true(zero.doubt[0]);
    assert_true(is_near(0, zero.spread.median));
}

TEST(every_figure_is_whole)
{
    for (int i = 0; i < BENCH_FIGURE_COUNT; i++) {
        const struct bench_figure *figure = &bench_figures[i];
        assert_non_null(figure->name);
        assert_non_null(figure->figure);
        assert_true(figure->connections > 0);
        assert_true(figure->better == BENCH_HIGHER ? figure->aim > figure->must
                                                   : figure->aim < figure->must);
        assert_int_equal(i < BENCH_RATIO_COUNT, !*figure->unit);
        for (int other = 0; other < i; other++)
            assert_string_not_equal(bench_figures[other].name, figure->name);
    }
}

TEST(only_takes_starts_of_names)
{
    const struct options all = {.only_count = 0};
    const struct options some = {.only = {"purchase-l", "cost-mutex"}, .only_count = 2};

    assert_true(bench_figures_have("refusal"));
    assert_true(bench_figures_have("redis-memory"));
    assert_true(bench_figures_have("cost"));
    assert_true(bench_figures_have("cost-any-guard"));
    assert_true(bench_figures_have("ladder-sentinel-mutex"));
    assert_false(bench_figures_have("ladders"));
    assert_false(bench_figures_have("memory"));
    assert_true(bench_wants(&all, "service-memory"));
    assert_true(bench_wants(&some, "purchase-livez-1024"));
    assert_true(bench_wants(&some, "cost-mutex-watchdog"));
    assert_false(bench_wants(&some, "purchase-single"));
}

/* The first place has all guards; the others, when nothing is said, a few that need nothing and hold. */
TEST(a_ladder_has_the_steps_that_are_wanted)
{
    static const struct guard_list guards = {
        .count = 4,
        .list = {{.name = "mutex"},
                 {.name = "spin"},
                 {.name = "redlock", .needs = "--redlock"},
                 {.name = "none", .finding = GUARD_OVERSELLS}}};
    static const struct {
        struct options options;
        int first, everysec;
    } cases[] = {
        {{.only_count = 0}, 4, 1},
        {{.only = {"ladder"}, .only_count = 1}, 4, 2},
        {{.only = {"ladder-everysec-s", "cost"}, .only_count = 2}, 0, 1},
        {{.only = {"cost"}, .only_count = 1}, 0, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench *bench = calloc(1, sizeof *bench);
        int counts[BENCH_PLACE_COUNT] = {0};
        assert_non_null(bench);
        bench->guards = guards;
        bench_points_of_ladder(bench, &cases[i].options);
        for (int k = 0; k < bench->point_count; k++)
            counts[bench->points[k].place - bench_places]++;
        free(bench);
        assert_int_equal(cases[i].first, counts[0]);
        assert_int_equal(cases[i].everysec, counts[1]);
    }
}

TEST(connections_are_listed_once)
{
    long connections[CONNECTION_STEPS_MAX];

    assert_int_equal(3, bench_figures_connections(connections, CONNECTION_STEPS_MAX));
    assert_int_equal(64, connections[0]);
    assert_int_equal(1024, connections[1]);
    assert_int_equal(2048, connections[2]);
}

TEST(samples_are_summed_by_name_and_label)
{
    static const char metrics[] = "# TYPE a_total counter\n"
                                  "a_total{guard=\"x\",outcome=\"sold-out\"} 3\n"
                                  "a_total{guard=\"y\",outcome=\"sold-out\"} 4\n"
                                  "a_total{guard=\"y\",outcome=\"created\"} 50\n"
                                  "a_total_more{outcome=\"sold-out\"} 1000\n"
                                  "plain 8";

    assert_true(is_near(7, bench_counters_sum(metrics, "a_total", "outcome=\"sold-out\"")));
    assert_true(is_near(57, bench_counters_sum(metrics, "a_total", NULL)));
    assert_true(is_near(8, bench_counters_sum(metrics, "plain", NULL)));
    assert_true(is_near(0, bench_counters_sum(metrics, "b_total", NULL)));
    assert_true(is_near(0, bench_counters_sum("", "a_total", NULL)));

    struct tally outcomes = {.count = 0};
    bench_counters_read_label(metrics, "a_total", "outcome", &outcomes);
    assert_int_equal(2, outcomes.count);
    assert_int_equal(7, bench_counters_times(&outcomes, "sold-out"));
    assert_int_equal(50, bench_counters_times(&outcomes, "created"));
    assert_int_equal(0, bench_counters_times(&outcomes, "replayed"));
}

TEST(commands_are_counted_between_two_readings)
{
    struct tally before, after;
    struct tally sums = {.count = 0};

    bench_counters_read_commands("# Commandstats\r\ncmdstat_get:calls=5,usec=1\r\n"
                                 "cmdstat_info:calls=1,usec=2\r\n",
                                 &before);
    bench_counters_read_commands(
        "cmdstat_get:calls=9,usec=1\r\ncmdstat_info:calls=2,usec=2\r\n"
        "cmdstat_client|setname:calls=3,usec=1\r\nnonsense\r\ncmdstat_bad\r\n",
        &after);

    assert_int_equal(7, bench_counters_add_calls(&before, &after, &sums));
    assert_int_equal(2, sums.count);
    assert_string_equal("get", sums.list[0].name);
    assert_int_equal(4, sums.list[0].times);
    assert_string_equal("client|setname", sums.list[1].name);
    assert_int_equal(123,
                     bench_counters_info_number("# Memory\r\nused_memory:123\r\n", "used_memory"));
    assert_int_equal(-1, bench_counters_info_number("used_memory_rss:1\r\n", "used_memory"));
}

TEST(a_guard_costs_per_accepted_order)
{
    struct bench_count count = {
        .accepted = 200, .refused = 3, .since.round_trips = 50, .commands = 600};
    struct bench_count nothing = {.doubt = "no answer at all"};
    struct bench_point cost = {.guard = "mutex"};

    count.sum = (struct tally){.list = {{"evalsha", 50}}, .count = 1};
    bench_round_add_point(&cost, &count);
    bench_round_add_point(&cost, &count);
    assert_string_equal("", cost.doubt);
    bench_round_add_point(&cost, &nothing);

    assert_int_equal(2, cost.per_s.count);
    assert_true(is_near(0.25, cost.round_trips.values[1]));
    assert_true(is_near(3, cost.commands.values[1]));
    assert_int_equal(400, cost.accepted);
    assert_int_equal(6, cost.refused);
    assert_int_equal(100, cost.sum.list[0].times);
    assert_string_equal("no answer at all", cost.doubt);
}
