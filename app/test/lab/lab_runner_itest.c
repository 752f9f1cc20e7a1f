/*
 * The lab's thread in a service, on its real Redis: one run at a time, each within its time, the lab
 * closed when nobody asks, and whatever ends a run leaves nothing behind.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "base/clock.h"
#include "guards/guards.h"
#include "lab/plays/scenarios.h"
#include "lab/served/lab_runner.h"
#include "lab/stage/stage.h"
#include "start/private_server.h"
#include "test/support/app_lab.h"
#include "test/support/testing.h"

enum {
    PATIENCE_MS = 20000,
    PROMPT_MS = 8000, /* far less than an actor of the lab may wait... */
    LONG_MS = 30000,  /* ...which is so long */
};

/* ---- scenarios ----------------------------------------------------------------------------------- */

static struct {
    sem_t is_on;
    sem_t may_end;
} gate;

/* It plays until the test lets it end. */
static void play_at_the_gate(struct stage *stage)
{
    stage_sell(stage, 1);
    (void)sem_post(&gate.is_on);
    (void)sem_wait(&gate.may_end);
}

static const char *const key = STAGE_KEY("lock");

/* Takes both. */
static void wait_for_the_other(lk_lock *first, lk_lock *second)
{
    (void)!lk_lock_acquire(first, NULL, NULL); /* or somebody else has it already */
    (void)!lk_lock_acquire(second, &(struct lk_lock_options){.wait_ms = LONG_MS}, NULL);
    lk_lock_free(second);
    lk_lock_free(first);
}

static void wait_in_vain(struct stage_actor *self)
{
    lk_client *client = stage_client(self);

    wait_for_the_other(lk_mutex_new(client, key, NULL), lk_mutex_new(client, key, NULL));
}

static void wait_in_a_queue(struct stage_actor *self)
{
    lk_client *client = stage_client(self);

    wait_for_the_other(lk_fair_new(client, key, NULL, NULL), lk_fair_new(client, key, NULL, NULL));
}

static void wait_for_a_permit(struct stage_actor *self)
{
    lk_semaphore *semaphore = lk_semaphore_new(stage_client(self), key, NULL);

    (void)!lk_semaphore_try_set(semaphore, 0, NULL);
    (void)!lk_semaphore_acquire(semaphore, 1, LONG_MS, NULL);
    lk_semaphore_free(semaphore);
}

static void wait_for_others(struct stage_actor *self)
{
    lk_latch *latch = lk_latch_new(stage_client(self), key, NULL);

    (void)!lk_latch_try_set(latch, 1, NULL);
    (void)!lk_latch_await(latch, LONG_MS, NULL);
    lk_latch_free(latch);
}

static void (*waiting)(struct stage_actor *self); /* one of the above */

/* Until it is asleep. */
static void play_a_sleep(struct stage *stage)
{
    int a = stage_add(stage, &(struct stage_cast){.name = "A", .body = waiting});

    stage_sell(stage, 1);
    STAGE_DO(stage, WAIT(a, "", ""));
    (void)sem_post(&gate.is_on);
    STAGE_DO(stage, FINISH(a, "", ""));
}

static void play_a_wait(struct stage *stage)
{
    int a = stage_add(stage, &(struct stage_cast){.name = "A", .body = wait_in_vain});

    stage_sell(stage, 1);
    (void)sem_post(&gate.is_on);
    STAGE_DO(stage, FINISH(a, "", ""));
}

/* A process stands still, and another actor will never be let go. */
static void play_a_pause(struct stage *stage)
{
    int a = stage_add(stage, &(struct stage_cast){.name = "A",
                                                  .guard = guards_find("mutex-unchecked"),
                                                  .is_process = true});
    int b = stage_add(stage, &(struct stage_cast){.name = "B", .body = wait_in_vain});

    stage_sell(stage, 1);
    STAGE_DO(stage, UNTIL(a, "XADD", "", ""));
    (void)sem_post(&gate.is_on);
    STAGE_DO(stage, FINISH(b, "", ""));
}

static void play_a_mistake(struct stage *stage)
{
    stage_sell(stage, 1);
    STAGE_DO(stage, LAPSE(STAGE_KEY("lock"), "", ""));
}

static const struct lab_scenario at_the_gate = {
    .number = "0", .name = "gate", .title = {"", ""}, .lesson = {"", ""}, .play = play_at_the_gate};
static const struct lab_scenario waits = {
    .number = "0", .name = "wait", .title = {"", ""}, .lesson = {"", ""}, .play = play_a_wait};
static const struct lab_scenario pauses = {
    .number = "0", .name = "pause", .title = {"", ""}, .lesson = {"", ""}, .play = play_a_pause};
static const struct lab_scenario sleeps = {
    .number = "0", .name = "sleep", .title = {"", ""}, .lesson = {"", ""}, .play = play_a_sleep};
static const struct lab_scenario mistakes = {.number = "0",
                                             .name = "mistake",
                                             .title = {"", ""},
                                             .lesson = {"", ""},
                                             .play = play_a_mistake};

/* ---- a runner, and somebody who asks it ---------------------------------------------------------- */

struct fixture {
    char dir[APP_PATH_SIZE]; /* of labs */
};

SET_UP(struct fixture, self)
{
    assert_false(sem_init(&gate.is_on, 0, 0) != 0 || sem_init(&gate.may_end, 0, 0) != 0);
    app_lab_folder_make(self->dir);
}

TEAR_DOWN(struct fixture, self)
{
    bool is_gone = app_lab_is_gone(self->dir);

    app_lab_folder_remove(self->dir);
    assert_true(is_gone);
}

static struct lab_runner *start(int64_t limit_ms, int64_t idle_ms)
{
    struct lab_runner *runner =
        lab_runner_new(&(struct lab_runner_options){.limit_ms = limit_ms, .idle_ms = idle_ms});

    assert_non_null(runner);
    return runner;
}

struct visitor {
    pthread_t thread;
    struct lab_runner *runner;
    const struct lab_scenario *scenario;
    lab_runner_status status;
    struct lab_runner_answer answer;
};

static void *visit(void *arg)
{
    struct visitor *self = arg;

    self->status = lab_runner_play(self->runner, &(struct lab_wish){.scenario = self->scenario},
                                   &self->answer);
    return NULL;
}

/* Come back when the scenario has got to its point. */
static void send_in(struct visitor *visitor, struct lab_runner *runner,
                    const struct lab_scenario *scenario)
{
    const struct timespec limit = {.tv_sec = clock_unix_ms() / 1000 + PATIENCE_MS / 1000};

    *visitor = (struct visitor){.runner = runner, .scenario = scenario};
    assert_int_equal(pthread_create(&visitor->thread, NULL, visit, visitor), 0);
    if (sem_timedwait(&gate.is_on, &limit) == 0) return;
    lab_runner_stop(runner);
    (void)pthread_join(visitor->thread, NULL);
    fail_msg("%s does not get there: %s", scenario->name, visitor->answer.why.text);
}

static lab_runner_status end_of(struct visitor *visitor)
{
    assert_int_equal(pthread_join(visitor->thread, NULL), 0);
    free(visitor->answer.json);
    return visitor->status;
}

static lab_runner_status play_named(struct lab_runner *runner, const char *name)
{
    struct lab_runner_answer answer;
    lab_runner_status status = LAB_RUNNER_FAILED;

    for (int i = 0; i < APP_LAB_TRIES && status == LAB_RUNNER_FAILED; i++)
        status =
            lab_runner_play(runner, &(struct lab_wish){.scenario = scenarios_named(name)}, &answer);
    assert_int_equal(answer.json != NULL, status == LAB_RUNNER_PLAYED);
    if (answer.json) assert_non_null(strstr(answer.json, "\"isExpected\":true"));
    free(answer.json);
    return status;
}

TEST(the_lab_opens_at_the_first_run_and_closes_when_nobody_asks, struct fixture *self)
{
    struct lab_runner *runner = start(0, 500);

    assert_true(app_lab_is_gone(self->dir));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(play_named(runner, "thread-lock"), LAB_RUNNER_PLAYED);
        assert_true(app_eventually(app_lab_is_gone, self->dir, PATIENCE_MS));
    }
    lab_runner_free(runner);
}

TEST(a_lab_stays_open_between_runs, struct fixture *self)
{
    struct lab_runner *runner = start(0, 0);

    assert_int_equal(play_named(runner, "thread-lock"), LAB_RUNNER_PLAYED);
    assert_true(app_lab_is_open(self->dir));
    assert_int_equal(play_named(runner, "paused-process"), LAB_RUNNER_PLAYED);
    assert_int_equal(app_lab_processes(self->dir), 1);
    lab_runner_free(runner);
}

TEST(one_scenario_plays_at_a_time)
{
    struct lab_runner *runner = start(0, 0);
    struct visitor visitor;

    send_in(&visitor, runner, &at_the_gate);
    assert_int_equal(play_named(runner, "thread-lock"), LAB_RUNNER_BUSY);
    assert_int_equal(play_named(runner, "thread-lock"), LAB_RUNNER_BUSY);
    (void)sem_post(&gate.may_end);
    assert_int_equal(end_of(&visitor), LAB_RUNNER_PLAYED);
    assert_int_equal(play_named(runner, "thread-lock"), LAB_RUNNER_PLAYED);
    lab_runner_free(runner);
}

TEST(a_run_that_takes_too_long_is_ended_and_the_next_one_plays)
{
    int64_t began_ms = clock_mono_ms();
    struct lab_runner *runner = start(1500, 0);
    struct lab_runner_answer answer;

    assert_int_equal(lab_runner_play(runner, &(struct lab_wish){.scenario = &waits}, &answer),
                     LAB_RUNNER_FAILED);
    assert_string_equal(answer.why.text, "it took longer than 1500 ms and was interrupted");
    assert_null(answer.json);
    assert_true(clock_mono_ms() - began_ms < PROMPT_MS);
    lab_runner_free(runner);

    runner = start(0, 0);
    assert_int_equal(play_named(runner, "thread-lock"), LAB_RUNNER_PLAYED);
    lab_runner_free(runner);
}

TEST(a_scenario_that_goes_wrong_says_so_and_the_next_one_gets_a_new_lab, struct fixture *self)
{
    struct lab_runner *runner = start(0, 0);
    struct lab_runner_answer answer;

    assert_int_equal(lab_runner_play(runner, &(struct lab_wish){.scenario = &mistakes}, &answer),
                     LAB_RUNNER_FAILED);
    assert_non_null(strstr(answer.why.text, "step 1: seckill:{lamp}:lock: there was no lease"));
    assert_true(app_eventually(app_lab_is_gone, self->dir, PATIENCE_MS));
    assert_int_equal(play_named(runner, "thread-lock"), LAB_RUNNER_PLAYED);
    lab_runner_free(runner);
}

/* Also when an actor is a process that waits to be let go, and another waits for a lock. */
TEST(a_stop_ends_what_plays_at_once_and_leaves_nothing_behind, struct fixture *self)
{
    struct lab_runner *runner = start(0, 0);
    struct visitor visitor;
    struct lab_runner_answer answer;

    send_in(&visitor, runner, &pauses);
    assert_int_equal(app_lab_processes(self->dir), 2); /* the lab's Redis, and an actor */
    int64_t began_ms = clock_mono_ms();
    lab_runner_stop(runner);
    assert_int_equal(end_of(&visitor), LAB_RUNNER_STOPPED);
    assert_int_equal(lab_runner_play(runner, &(struct lab_wish){.scenario = &waits}, &answer),
                     LAB_RUNNER_STOPPED);
    lab_runner_free(runner);
    assert_true(clock_mono_ms() - began_ms < PROMPT_MS);
    assert_true(app_lab_is_gone(self->dir));
}

/* Redis, and an actor: else whoever is at the other end of what we close hears nothing of that. */
TEST(its_processes_inherit_nothing)
{
    struct lab_runner *runner = start(0, 0);
    struct visitor visitor;
    int ends[2];
    char byte = 0;

    assert_int_equal(pipe(ends), 0); /* as a socket is that another thread has not marked yet */
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    send_in(&visitor, runner, &pauses);
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    (void)close(ends[0]);
    lab_runner_stop(runner);
    assert_int_equal(end_of(&visitor), LAB_RUNNER_STOPPED);
    lab_runner_free(runner);
}

/* Some who wait have a place in a queue, and insist on giving it back. */
TEST(a_stop_ends_whatever_is_waited_for)
{
    static void (*const waits_for[])(struct stage_actor *) = {wait_in_vain, wait_in_a_queue,
                                                              wait_for_a_permit, wait_for_others};

    for (size_t i = 0; i < sizeof waits_for / sizeof waits_for[0]; i++) {
        struct lab_runner *runner = start(0, 0);
        struct visitor visitor;

        waiting = waits_for[i];
        send_in(&visitor, runner, &sleeps);
        int64_t began_ms = clock_mono_ms();
        lab_runner_stop(runner);
        assert_int_equal(end_of(&visitor), LAB_RUNNER_STOPPED);
        lab_runner_free(runner);
        assert_in_range(clock_mono_ms() - began_ms, 0, PROMPT_MS);
    }
}

TEST(an_answer_has_a_largest_size)
{
    static char long_text[LAB_RUNNER_JSON_MAX + 1];
    struct lab_scenario scenario = at_the_gate;
    struct lab_runner *runner = start(0, 0);
    struct lab_runner_answer answer;

    memset(long_text, 'x', sizeof long_text - 1);
    scenario.lesson.en = long_text;
    (void)sem_post(&gate.may_end);
    assert_int_equal(lab_runner_play(runner, &(struct lab_wish){.scenario = &scenario}, &answer),
                     LAB_RUNNER_FAILED);
    assert_string_equal(answer.why.text, "its answer would be too large");
    lab_runner_free(runner);
}

TEST(freeing_nothing_is_fine)
{
    lab_runner_stop(NULL);
    lab_runner_free(NULL);
    lab_runner_free(start(0, 0)); /* nobody has asked it */
}

int main(int argc, char **argv)
{
    if (private_server_is_this(argc, argv) || actor_is_this(argc, argv)) return 2;
    return testing_run(argc, argv);
}
