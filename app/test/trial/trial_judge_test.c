/*
 * trial_judge.c: which lesson a play teaches, on plays made up here.
 */
#include "lab/plays/scenarios.h"
#include "lab/trial/trial.h"
#include "test/support/testing.h"

#define LOCK "seckill:{lamp}:lock"

/* What a step leaves behind; its command is what was done in it. */
struct row {
    int actor;
    const char *command; /* NULL: none */
    enum lab_lease lease;
    size_t orders;
    long long stock;
    const char *told;
};

enum { ROWS_MAX = 8 };

struct play_data {
    struct lab_run run;
    struct tap_call calls[ROWS_MAX];
    char commands[ROWS_MAX][64];
};

static struct lab_run *run_of(struct play_data *data, const struct row *rows, size_t count)
{
    *data = (struct play_data){.run = {.step_count = count, .units = 2, .lock_count = 1}};
    for (size_t i = 0; i < count; i++) {
        struct lab_step *step = &data->run.steps[i];

        step->actor = rows[i].actor;
        step->told = rows[i].told;
        step->state.lock[0].lease = rows[i].lease;
        step->state.order_count = rows[i].orders;
        step->state.stock = rows[i].stock;
        if (!rows[i].command) continue;
        (void)snprintf(data->commands[i], sizeof data->commands[i], "%s", rows[i].command);
        data->calls[i] = (struct tap_call){.command = data->commands[i]};
        step->calls = (struct tap_calls){.list = &data->calls[i], .count = 1};
    }
    return &data->run;
}

#define RUN_OF(data, ...)                                                                          \
    run_of((data), (const struct row[]){__VA_ARGS__},                                              \
           sizeof((const struct row[]){__VA_ARGS__}) / sizeof(struct row))

static struct trial_marks no_marks;

static void assert_broken(const struct trial *trial, enum trial_claim claim, const char *lesson)
{
    assert_int_equal(trial->findings[claim].state, TRIAL_BROKEN);
    assert_string_equal(trial->findings[claim].lesson, lesson);
    assert_true(strlen(trial->findings[claim].words) > 20);
    for (enum trial_claim other = 0; other < TRIAL_CLAIM_COUNT; other++) {
        if (other != claim) assert_int_equal(trial->findings[other].state, TRIAL_NOT_TRIED);
    }
}

/* A's lease ends before its last command, which meets the lock of B. */
static void judge_last_command(const char *before, const char *last, const char *lesson)
{
    const struct trial_play play = {
        .kind = TRIAL_LATE, .first = 2, .second = 2, .marks = &no_marks};
    struct trial trial = {.habits = {.exchange_count = 2}};
    struct play_data data;
    struct lab_run *run =
        RUN_OF(&data, {0, NULL, LAB_FREE, 0, 2, NULL}, {0, before, LAB_LEASED, 1, 1, NULL},
               {LAB_TIME, "PEXPIRE " LOCK " 0", LAB_FREE, 1, 1, NULL},
               {1, "SET " LOCK " B#1 NX PX 1", LAB_LEASED, 1, 1, NULL},
               {0, last, LAB_FREE, 1, 1, "created"},
               {1, "SET seckill:{lamp}:stock 0", LAB_FREE, 2, 0, "created"});

    assert_true(trial_judge(&play, run, &trial));

    assert_broken(&trial, TRIAL_RELEASE, lesson);
    assert_ptr_equal(trial.findings[TRIAL_RELEASE].run, run);
}

TEST(a_foreign_release_teaches_by_what_was_done_before_it)
{
    judge_last_command("SET seckill:{lamp}:stock 1", "DEL " LOCK, "overslept-delete");
    judge_last_command("GET " LOCK, "DEL " LOCK, "get-del");
    judge_last_command("SET " LOCK " A NX PX 1", "DEL " LOCK, "overslept-delete");
    judge_last_command("GET " LOCK, "EVAL <if redis> 1 " LOCK " me", "atomic-release");
}

TEST(time_and_the_holder_may_free_a_lock)
{
    const struct trial_play play = {
        .kind = TRIAL_LATE, .first = 2, .second = 2, .marks = &no_marks};
    struct trial trial = {.habits = {.exchange_count = 2}};
    struct play_data data;
    struct lab_run *run = RUN_OF(&data, {0, "SET " LOCK " A NX PX 1", LAB_LEASED, 0, 2, NULL},
                                 {LAB_TIME, "PEXPIRE " LOCK " 0", LAB_FREE, 0, 2, NULL},
                                 {1, "SET " LOCK " B NX PX 1", LAB_LEASED, 1, 1, NULL},
                                 {1, "DEL " LOCK, LAB_FREE, 1, 1, "created"},
                                 {0, "DEL " LOCK, LAB_FREE, 1, 1, "lock-timeout"});

    assert_false(trial_judge(&play, run, &trial));

    assert_int_equal(trial.findings[TRIAL_RELEASE].state, TRIAL_NOT_TRIED);
}

/* One unit is in the stock that was sold already. */
static void judge_wrong_books(enum trial_kind kind, enum trial_claim claim, const char *lesson)
{
    const struct trial_play play = {.kind = kind, .first = 1, .second = 1, .marks = &no_marks};
    struct trial trial = {.habits = {.exchange_count = 1}};
    struct play_data data;
    struct lab_run *run =
        RUN_OF(&data, {1, "SET seckill:{lamp}:stock 1", LAB_FREE, 1, 1, "created"},
               {0, "SET seckill:{lamp}:stock 1", LAB_FREE, 2, 1, "created"});

    assert_true(trial_judge(&play, run, &trial));

    assert_broken(&trial, claim, lesson);
    assert_false(trial_judge(&play, run, &trial)); /* the first one stays */
}

TEST(wrong_books_teach_by_whether_the_lease_had_ended)
{
    judge_wrong_books(TRIAL_TWO, TRIAL_TOGETHER, "lost-update");
    judge_wrong_books(TRIAL_LATE, TRIAL_WRITE, "stale-write");
}

/* A dies; the lock stays as `left`, and B is told `told`. */
static void judge_death(enum lab_lease usual, enum lab_lease left, const char *told,
                        const char *lesson)
{
    const struct trial_play play = {
        .kind = TRIAL_DEATH, .first = 2, .second = 1, .marks = &no_marks};
    struct trial trial = {.habits = {.exchange_count = 2, .lease = {LAB_FREE, usual, LAB_FREE}}};
    struct play_data data;
    struct lab_run *run = RUN_OF(&data, {0, "SETNX " LOCK " 1", left, 0, 2, NULL},
                                 {1, "SETNX " LOCK " 1", left, 0, 2, told});

    assert_int_equal(trial_judge(&play, run, &trial), lesson != NULL);

    if (lesson) assert_broken(&trial, TRIAL_CRASH, lesson);
}

TEST(a_crash_teaches_by_whether_there_ever_is_a_lease)
{
    judge_death(LAB_FOR_EVER, LAB_FOR_EVER, NULL, "setnx-crash");
    judge_death(LAB_LEASED, LAB_FOR_EVER, NULL, "setnx-expire");
    judge_death(LAB_LEASED, LAB_FREE, "lock-timeout", "setnx-expire");
    judge_death(LAB_LEASED, LAB_FREE, "created", NULL);
}

TEST(habits_are_the_commands_and_the_lease_before_each)
{
    struct trial_habits habits;
    struct play_data data;
    const struct lab_run *run =
        RUN_OF(&data, {0, NULL, LAB_FREE, 0, 1, NULL},
               {0, "SET " LOCK " A#1 NX PX 30000", LAB_LEASED, 0, 1, NULL},
               {0, "DEL " LOCK, LAB_FREE, 0, 1, "created"}, {1, NULL, LAB_FREE, 0, 0, NULL});

    trial_learn(run, &habits);

    assert_int_equal(habits.exchange_count, 2);
    assert_string_equal(habits.command[0], "SET :lock A#1 NX PX 30000");
    assert_string_equal(habits.command[1], "DEL :lock");
    assert_int_equal(habits.lease[0], LAB_FREE);
    assert_int_equal(habits.lease[1], LAB_LEASED);
    assert_int_equal(habits.lease[2], LAB_FREE);
}

TEST(what_needs_a_lease_is_not_tried_on_a_lock_without)
{
    struct trial trial = {.habits = {.exchange_count = 1, .lease = {LAB_FREE, LAB_FOR_EVER}}};

    trial_conclude(&trial);

    assert_int_equal(trial.findings[TRIAL_SELLS].state, TRIAL_KEPT);
    assert_int_equal(trial.findings[TRIAL_CRASH].state, TRIAL_KEPT);
    assert_int_equal(trial.findings[TRIAL_RELEASE].state, TRIAL_NOT_TRIED);
    assert_int_equal(trial.findings[TRIAL_WRITE].state, TRIAL_NOT_TRIED);
}

TEST(what_needs_a_lease_is_kept_when_there_was_one_and_nothing_broke)
{
    struct trial trial = {.habits = {.exchange_count = 1, .lease = {LAB_FREE, LAB_LEASED}}};

    trial_conclude(&trial);

    for (enum trial_claim claim = 0; claim < TRIAL_CLAIM_COUNT; claim++)
        assert_int_equal(trial.findings[claim].state, TRIAL_KEPT);
    assert_string_equal(trial.findings[TRIAL_WRITE].words, "");
}

TEST(who_does_not_sell_alone_has_kept_nothing)
{
    struct trial trial = {.findings = {[TRIAL_SELLS] = {.state = TRIAL_BROKEN}}};

    trial_conclude(&trial);

    for (enum trial_claim claim = TRIAL_SELLS + 1; claim < TRIAL_CLAIM_COUNT; claim++)
        assert_int_equal(trial.findings[claim].state, TRIAL_NOT_TRIED);
}

TEST(without_any_lock_there_is_nothing_to_come_late_for)
{
    struct trial trial = {.habits = {.exchange_count = 1}};

    trial_conclude(&trial);

    assert_int_equal(trial.findings[TRIAL_RELEASE].state, TRIAL_KEPT);
    assert_int_equal(trial.findings[TRIAL_WRITE].state, TRIAL_KEPT);
}

/* The lessons are names of scenarios. */
TEST(every_lesson_is_a_scenario)
{
    static const char *const lessons[] = {"setnx-crash",      "setnx-expire",  "lost-update",
                                          "overslept-delete", "get-del",       "atomic-release",
                                          "stale-write",      "checked-write", "paused-process"};

    for (size_t i = 0; i < sizeof lessons / sizeof lessons[0]; i++)
        assert_non_null(scenarios_named(lessons[i]));
}
