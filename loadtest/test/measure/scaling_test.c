/*
 * The simulation of more masters: what must come out of any such model.
 */
#include "measure/scaling.h"
#include "test/support/testing.h"

static const struct scaling_times times = {
    .purchase_us = 25, .batch_us = 40, .each_us = 8, .round_us = 500, .batch_most = 64};

static struct scaling_run simulate(const struct scaling_times *with, int masters, uint64_t seed)
{
    struct scaling_run run;

    assert_true(scaling_simulate(with, masters, seed, &run));
    assert_true(run.per_s > 0 && run.early_per_s >= run.per_s * 0.999);
    return run;
}

/* One master sells no more than its own times allow, 3 instances sending full batches. */
TEST(one_master_is_bound_by_its_times)
{
    double round_us = 3 * (40 + 64 * 8) + 500;
    double most = 3 * 64 * 1e6 / round_us;
    struct scaling_run run = simulate(&times, 1, 1);

    assert_int_equal(3, scaling_instances(&times, 1));
    assert_true(run.per_s <= most && run.per_s > most * 0.9);
    assert_int_equal(0, run.moves);
}

TEST(more_masters_sell_more_and_units_move)
{
    double before = 0;
    long moves = 0;

    for (int masters = 1; masters <= SCALING_MASTERS_MAX; masters *= 4) {
        struct scaling_run run = simulate(&times, masters, 1);
        assert_true(run.per_s > 2 * before);
        before = run.per_s;
        moves += run.moves;
    }
    assert_true(moves > 0);
}

TEST(instances_that_are_slow_bound_it)
{
    struct scaling_times slow = times;

    slow.purchase_us = 10000;
    assert_int_equal(SCALING_INSTANCES_MAX, scaling_instances(&slow, SCALING_MASTERS_MAX));
    assert_true(simulate(&slow, SCALING_MASTERS_MAX, 1).per_s <=
                SCALING_INSTANCES_MAX * 1e6 / 10000);
}

/* Nobody takes away what another one has fetched, however short a turn is. */
TEST(it_comes_to_its_end_whatever_the_times_are)
{
    static const struct scaling_times rows[] = {
        {35, 0, 0.1, 1, 256}, {35, 0, 12, 0, 256}, {35, 500, 8, 5000, 256}, {900, 1, 9, 2, 1}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint64_t seed = 1; seed <= SCALING_SEEDS; seed++)
            (void)simulate(&rows[i], 2, seed);
}

TEST(a_seed_tells_all)
{
    struct scaling_run one = simulate(&times, 8, 7);

    assert_true(one.per_s == simulate(&times, 8, 7).per_s);
    assert_true(one.per_s != simulate(&times, 8, 8).per_s);
}
