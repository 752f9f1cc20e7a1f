/*
 * The tables and the sums of lockbench.
 */
#include "bench/plan.h"
#include "test/support/testing.h"

static struct plan plan; /* large */
static struct result result;

BEFORE_EACH()
{
    plan_make(&plan);
}

static struct row *row_named(const char *name)
{
    size_t i = 0;

    while (i < plan.row_count && strcmp(plan.rows[i].name, name) != 0)
        i++;
    if (i == plan.row_count) fail_msg("no row %s", name);
    return &plan.rows[i];
}

/* What a round has yielded. */
static void note(const struct task *task, double first, double second)
{
    struct task *ours = &plan.tasks[task - plan.tasks];

    ours->values[0][ours->rounds] = first;
    ours->values[1][ours->rounds++] = second;
}

/* ---- tables --------------------------------------------------------------------------------- */

TEST(every_row_has_a_name_of_its_own)
{
    for (size_t i = 0; i < plan.row_count; i++) {
        assert_true(strlen(plan.rows[i].name) < NAME_MAX_LEN - 1); /* else it was cut */
        assert_true(strlen(plan.rows[i].figure) > 0);
        assert_ptr_equal(&plan.rows[i], row_named(plan.rows[i].name));
    }
}

TEST(nothing_is_measured_twice_or_for_nothing)
{
    char names[TASKS_MAX][96];

    for (size_t i = 0; i < plan.task_count; i++) {
        size_t uses = 0;

        for (size_t k = 0; k < plan.row_count; k++)
            uses += plan.rows[k].over.task == &plan.tasks[i] ||
                    plan.rows[k].under.task == &plan.tasks[i];
        assert_true(uses > 0);
        plan_task_name(&plan.tasks[i], names[i], sizeof names[i]);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(names[i], names[k]);
    }
}

TEST(what_the_design_promises_is_in_the_table)
{
    static const struct {
        const char *name;
        double must, aim;
    } promises[] = {{"pair-mutex", 1.15, 1.05},
                    {"pair-mutex-tcp", 1.15, 1.05},
                    {"handover-mutex-1-p50", 1000, 0},
                    {"handover-mutex-1-trips", 1, 0.75},
                    {"read-leave", 2, 1.2},
                    {"renewal-pass", 1, 0}};

    for (size_t i = 0; i < sizeof promises / sizeof promises[0]; i++) {
        assert_true(row_named(promises[i].name)->must == promises[i].must);
        assert_true(row_named(promises[i].name)->aim == promises[i].aim);
        assert_false(row_named(promises[i].name)->is_higher_better);
    }
}

TEST(what_is_promised_beside_rivals_is_in_the_table)
{
    static const struct {
        const char *name;
        double must;
    } promises[] = {{"redsync-pair", 1.5}, {"redsync-rate-mutex", 1.5}, {"redisson-pair", 3}};

    for (size_t i = 0; i < sizeof promises / sizeof promises[0]; i++) {
        assert_true(row_named(promises[i].name)->must == promises[i].must);
        assert_true(row_named(promises[i].name)->is_higher_better);
    }
}

TEST(a_rivals_row_compares_the_same_work)
{
    for (size_t i = 0; i < plan.row_count; i++) {
        const struct row *row = &plan.rows[i];
        const struct task *over = row->over.task;
        const struct task *under = row->under.task;

        if (!under || over->library == under->library) continue;
        assert_int_equal(over->work, under->work);
        assert_int_equal(over->size, under->size);
        assert_string_equal(over->kind, under->kind);
        assert_true(row->is_higher_better);
        /* More per second, or less time: either way more than 1 means that we are better. */
        assert_int_equal(over->work == WORK_RATE, over->library == LOCKKIT);
    }
}

/* ---- choosing ------------------------------------------------------------------------------- */

TEST(only_leaves_rows_and_what_they_need)
{
    const char *unknown = NULL;
    size_t rows = 0, tasks = 0;

    assert_true(
        plan_only(&plan, (const char *const[]){"redisson-handover-8", "pair-mutex"}, 2, &unknown));
    for (size_t i = 0; i < plan.row_count; i++)
        rows += plan.rows[i].is_wanted;
    for (size_t i = 0; i < plan.task_count; i++)
        tasks += plan.tasks[i].is_wanted;

    assert_int_equal(3, rows); /* pair-mutex-tcp starts so too */
    assert_int_equal(4, tasks);
    assert_true(row_named("redisson-handover-8-p50")->is_wanted);
    assert_true(row_named("redisson-handover-8-p50")->under.task->is_wanted);
}

TEST(only_names_the_word_that_fits_nothing)
{
    const char *unknown = NULL;

    assert_false(plan_only(&plan, (const char *const[]){"pair", "speed"}, 2, &unknown));

    assert_string_equal("speed", unknown);
}

TEST_WITH(a_shuffle_depends_on_seed_and_round_alone, NULL, NULL)
{
    size_t first[TASKS_MAX], same[TASKS_MAX], other[TASKS_MAX], later[TASKS_MAX];
    bool is_there[TASKS_MAX] = {false};

    plan_shuffle(first, TASKS_MAX, 7, 1);
    plan_shuffle(same, TASKS_MAX, 7, 1);
    plan_shuffle(other, TASKS_MAX, 8, 1);
    plan_shuffle(later, TASKS_MAX, 7, 2);
    for (size_t i = 0; i < TASKS_MAX; i++)
        is_there[first[i]] = true;

    assert_memory_equal(first, same, sizeof first);
    assert_memory_not_equal(first, other, sizeof first);
    assert_memory_not_equal(first, later, sizeof first);
    for (size_t i = 0; i < TASKS_MAX; i++)
        assert_true(is_there[i]);
}

/* ---- sums ----------------------------------------------------------------------------------- */

TEST_WITH(quantiles_are_numbers_that_were_measured, NULL, NULL)
{
    static const struct {
        size_t count;
        double share, expected;
    } cases[] = {{1, 0.5, 1},   {1, 0.99, 1},   {100, 0.5, 50}, {100, 0.99, 99},
                 {100, 1, 100}, {101, 0.5, 51}, {10, 0.99, 10}, {10, 0, 1}};
    double numbers[101];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t k = 0; k < cases[i].count; k++)
            numbers[k] = (double)(cases[i].count - k);
        assert_true(plan_quantile(numbers, cases[i].count, cases[i].share) == cases[i].expected);
    }
}

TEST(a_ratio_is_taken_round_by_round)
{
    const struct row *row = row_named("pair-mutex");

    note(row->over.task, 30, 20); /* 1.5: the machine was busy with something else */
    note(row->over.task, 44, 40); /* 1.1 */
    note(row->over.task, 60, 50); /* 1.2 */
    plan_result(row, &result);

    assert_null(result.doubt);
    assert_int_equal(3, result.count);
    assert_true(result.spread.median > 1.19 && result.spread.median < 1.21);
    assert_true(result.spread.least < 1.11 && result.spread.most > 1.49);
    assert_true(result.repeats[0] == 1.5);
    assert_false(result.is_ok); /* must be 1.15 at most */
}

TEST(a_row_is_ok_when_its_median_is)
{
    const struct row *row = row_named("handover-mutex-1-p50");

    note(row->over.task, 999, 0);
    note(row->over.task, 5000, 0);
    note(row->over.task, 100, 0);
    plan_result(row, &result);

    assert_true(result.is_ok);
    assert_true(result.spread.median == 999);
}

TEST(a_share_of_a_core_is_cpu_over_the_time_between_passes)
{
    const struct row *row = row_named("renewal-share");

    note(row->over.task, 0.1, 250); /* ms of CPU, every 10 s */
    plan_result(row, &result);

    assert_true(result.spread.median > 2.49 && result.spread.median < 2.51);
}

TEST(a_row_without_rounds_is_not_measured)
{
    plan_result(row_named("pair-fair"), &result);

    assert_string_equal("not measured", result.doubt);
    assert_false(result.is_ok);
    assert_false(result.is_absent);
}

TEST(the_doubt_of_either_side_is_the_rows)
{
    const struct row *row = row_named("redisson-pair");
    struct task *theirs = &plan.tasks[row->under.task - plan.tasks];

    note(row->over.task, 10, 0);
    (void)snprintf(theirs->doubt, sizeof theirs->doubt, "not measured: make interop first");
    theirs->is_absent = true;
    plan_result(row, &result);

    assert_string_equal("not measured: make interop first", result.doubt);
    assert_true(result.is_absent);
    plan_result(row_named("rate-reentrant"), &result); /* and nobody else's */
    assert_string_equal("not measured", result.doubt);
}
