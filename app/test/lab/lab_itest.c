/*
 * The lock lab on its real Redis: every scenario comes to its verdict, twice the same, and has its
 * texts in both languages; a scenario that goes wrong says where; the command, also when it is interrupted.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "guards/guards.h"
#include "lab/lab.h"
#include "lab/plays/scenarios.h"
#include "lab/show/render.h"
#include "lab/stage/stage.h"
#include "lab/stage/stage_internal.h"
#include "start/private_server.h"
#include "test/support/app_lab.h"
#include "test/support/testing.h"

enum { OUT_SIZE = 1 << 18, PATIENCE_MS = 20000 };

/* ---- scenarios --------------------------------------------------------------------------------- */

/* Chinese characters are three bytes from E4 to E9. */
static void assert_chinese(const char *text)
{
    assert_non_null(text);
    for (; *text; text++) {
        if ((unsigned char)*text >= 0xE4 && (unsigned char)*text <= 0xE9) return;
    }
    fail_msg("no Chinese in a text");
}

static void assert_texts(const struct lab_run *run)
{
    assert_chinese(run->scenario->title.zh);
    assert_chinese(run->scenario->lesson.zh);
    assert_true(strlen(run->scenario->lesson.en) > 100);
    assert_true(run->step_count > 0);
    for (size_t i = 0; i < run->step_count; i++) {
        assert_chinese(run->steps[i].did.zh);
        assert_non_null(run->steps[i].did.en);
    }
}

static char *play_as_json(struct lab *lab, const struct lab_scenario *scenario)
{
    struct lab_run *run = app_lab_play(lab, scenario);

    assert_texts(run);
    char *json = render_json(run, LAB_ENGLISH);
    assert_non_null(json);
    lab_run_free(run);
    return json;
}

/* A place in a queue is for 6 s instead of 5 when the step stood still: then it is played again. */
static bool is_same_twice(struct lab *lab, const struct lab_scenario *scenario)
{
    bool is_same = false;

    for (int i = 0; i < APP_LAB_TRIES && !is_same; i++) {
        char *first = play_as_json(lab, scenario);
        char *second = play_as_json(lab, scenario);

        is_same = strcmp(first, second) == 0;
        if (!is_same) print_message("# %s\n%s\n%s\n", scenario->name, first, second);
        free(first);
        free(second);
    }
    return is_same;
}

TEST(every_scenario_comes_to_its_verdict_twice_by_the_same_events)
{
    size_t count = 0;

    for (; scenarios_at(count); count++) {
        if (scenarios_at(count)->beside == TAP_ZOOKEEPER) continue; /* lab_zookeeper_interop */
        if (scenarios_lack(scenarios_at(count)))
            continue; /* the server is too old for its command */
        assert_true(is_same_twice(*state, scenarios_at(count)));
    }
    assert_true(count >= 85);
}

TEST(names_are_unique_and_lead_to_each_other)
{
    for (size_t i = 0; scenarios_at(i); i++) {
        const struct lab_scenario *scenario = scenarios_at(i);

        assert_ptr_equal(scenarios_named(scenario->name), scenario);
        if (scenario->leads_to) assert_non_null(scenarios_named(scenario->leads_to));
    }
    assert_null(scenarios_named("nonsense"));
}

TEST(the_list_is_in_the_order_of_teaching)
{
    char *part = NULL;
    long before = 0;

    for (size_t i = 0; scenarios_at(i); i++) { /* "9", "10", "13a", "13b" */
        long number = strtol(scenarios_at(i)->number, &part, 10) * 256 + part[0];

        assert_true(number > before);
        before = number;
    }
}

/* What a scenario claims must be true of the commands, not only of its words. */
TEST(the_stale_write_is_refused_by_redis_itself)
{
    static const struct {
        const char *scenario;
        const char *reply;
    } table[] = {{"checked-write", "ERROR NOTOWNER"},  {"fencing-token", "ERROR STALE"},
                 {"late-pipeline", "ERROR VOID"},      {"one-per-buyer", "A1002"},
                 {"pay-in-one-step", "[\\\"L\\\"]"},   {"late-payment-owed", "[\\\"L\\\"]"},
                 {"single-return", "[0, <ms>, 0, 0]"}, {"no-rollback", "ERROR WRONGTYPE"},
                 {"basket-half", "ERROR WRONGTYPE"}};

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char *json = play_as_json(*state, scenarios_named(table[i].scenario));

        assert_non_null(strstr(json, table[i].reply));
        free(json);
    }
}

/* What an actor asked with that reply, but in the last step. */
static size_t calls_of(const struct lab_run *run, int actor, const char *reply)
{
    size_t count = 0;

    for (size_t i = 0; i + 1 < run->step_count; i++) {
        const struct tap_calls *calls = &run->steps[i].calls;

        for (size_t k = 0; run->steps[i].actor == actor && k < calls->count; k++)
            count += calls->list[k].reply && strcmp(calls->list[k].reply, reply) == 0;
    }
    return count;
}

TEST(a_sleeper_asks_twice_and_is_told_a_poller_asks_on)
{
    struct lab_run *sleeper = app_lab_play(*state, scenarios_named("woken-by-message"));
    struct lab_run *poller = app_lab_play(*state, scenarios_named("polling"));

    assert_int_equal(calls_of(sleeper, 1, "[0, <ms>]"), 2);
    assert_int_equal(calls_of(sleeper, 1, "(listens)"), 1);
    assert_int_equal(calls_of(sleeper, 1, "(heard)"), 1);
    assert_int_equal(calls_of(poller, 1, "[0, <ms>]"), 3);
    assert_int_equal(calls_of(poller, 1, "(heard)"), 0);
    lab_run_free(sleeper);
    lab_run_free(poller);
}

/* By whom the lamps were sold, one after the other. */
static void assert_served(struct lab *lab, const char *scenario, const char *buyers)
{
    struct lab_run *run = app_lab_play(lab, scenarios_named(scenario));

    const struct lab_state *end = &run->steps[run->step_count - 1].state;
    assert_int_equal(end->order_count, strlen(buyers));
    for (size_t i = 0; i < end->order_count; i++) {
        assert_int_equal(end->orders[i].buyer[0], buyers[i]);
        assert_int_equal(strlen(end->orders[i].buyer), 1);
    }
    lab_run_free(run);
}

TEST(the_fair_lock_serves_in_the_order_of_coming_but_for_the_dead)
{
    assert_served(*state, "fair-order", "ABC");
    assert_served(*state, "dead-head", "AC");
}

/* Who is inside, at most. */
static size_t most_owners(const struct lab_run *run)
{
    size_t most = 0;

    for (size_t i = 0; i < run->step_count; i++) {
        const char *owner = run->steps[i].state.lock[0].owner;
        size_t count = *owner != '\0';

        for (; *owner; owner++)
            count += *owner == ',';
        if (count > most) most = count;
    }
    return most;
}

TEST(two_readers_are_inside_and_the_writer_is_alone)
{
    struct lab_run *run = app_lab_play(*state, scenarios_named("readers-writer"));

    assert_int_equal(most_owners(run), 2);
    assert_string_equal(run->steps[1].state.lock[0].owner, "A#1,B#1");
    assert_string_equal(run->steps[6].state.lock[0].owner, "C#1:write");
    lab_run_free(run);
}

/* ---- scenarios that go wrong --------------------------------------------------------------------- */

static void play_past_the_end(struct stage *stage)
{
    int a = stage_add(stage, &(struct stage_cast){.name = "A", .guard = &guard_none});

    stage_sell(stage, 1);
    STAGE_DO(stage, UNTIL(a, "NO SUCH COMMAND", "", ""));
    STAGE_DO(stage, FINISH(a, "", ""));
}

static void play_without_a_lease(struct stage *stage)
{
    stage_sell(stage, 1);
    STAGE_DO(stage, LAPSE(STAGE_KEY("lock"), "", ""));
}

static void play_without_a_crash(struct stage *stage)
{
    int a = stage_add(stage, &(struct stage_cast){
                                 .name = "A", .guard = &guard_mutex_unchecked, .is_process = true});

    stage_sell(stage, 1);
    STAGE_DO(stage, UNTIL(a, "XADD", "", "")); /* and is left there, alive */
}

/* Does not wait, so it ends. */
static void play_without_a_wait(struct stage *stage)
{
    int a = stage_add(stage, &(struct stage_cast){.name = "A", .guard = &guard_mutex});

    stage_sell(stage, 1);
    STAGE_DO(stage, WAIT(a, "", ""));
}

/* Asks by itself, again and again, and is not to be taken for one that sleeps. */
static void ask_often(struct stage_actor *self)
{
    lk_client *client = lk_client_open(
        &(struct lk_client_options){.url = tap_url(self->stage->tap, self->wire), .poll_ms = 20},
        NULL);
    lk_lock *lock = lk_mutex_new(client, STAGE_KEY("lock"), NULL);
    lk_status status =
        lk_lock_acquire(lock, &(struct lk_lock_options){.wait_ms = STAGE_LONG_MS}, NULL);

    (void)status;
    lk_lock_free(lock);
    lk_client_close(client);
}

static bool has_asked(void *arg)
{
    const struct stage *stage = arg;

    return tap_has_asked(stage->tap, stage->actors[1].wire);
}

static void play_without_sleep(struct stage *stage)
{
    int a = stage_add(stage, &(struct stage_cast){.name = "A", .guard = &guard_mutex_unchecked});
    int b = stage_add(stage, &(struct stage_cast){.name = "B", .body = ask_often});

    stage_sell(stage, 1);
    STAGE_DO(stage, UNTIL(a, "EVALSHA mutex_release", "", ""));
    STAGE_DO(stage, WAIT(b, "", ""));
    (void)app_eventually(has_asked, stage, PATIENCE_MS);
    STAGE_DO(stage, FINISH(a, "", ""));
    STAGE_DO(stage, WAKE(b, "SET", "", ""));
}

static void play_without_a_queue(struct stage *stage)
{
    stage_sell(stage, 1);
    STAGE_DO(stage, LAPSE_PLACE("redisson_lock_timeout:" STAGE_KEY("lock"), "", ""));
}

static void assert_fails(struct lab *lab, void (*play)(struct stage *stage), const char *reason)
{
    const struct lab_scenario scenario = {.number = "0", .name = "wrong", .play = play};
    struct lab_run *run = lab_play(lab, &scenario);

    assert_non_null(run);
    assert_false(lab_run_is_expected(run));
    assert_non_null(strstr(run->failure.text, reason));
    lab_run_free(run);
}

TEST(a_scenario_that_goes_wrong_says_where)
{
    assert_fails(*state, play_past_the_end,
                 "step 1: A: it has ended (told created), and should be at NO SUCH COMMAND");
    assert_fails(*state, play_without_a_lease, "step 1: seckill:{lamp}:lock: there was no lease");
    assert_fails(*state, play_without_a_wait,
                 "step 1: A: it has ended (told created), and should be at a wait for a message");
    assert_fails(*state, play_without_sleep, "step 4: B: it has not slept until the message");
    assert_fails(*state, play_without_a_queue,
                 "step 1: redisson_lock_timeout:seckill:{lamp}:lock: there was no lease");
}

TEST(an_actor_that_is_left_behind_does_not_reach_the_next_run)
{
    const struct lab_scenario scenario = {
        .number = "0", .name = "left", .play = play_without_a_crash};

    for (unsigned i = 0; i < 3; i++) {
        struct lab_run *run = app_lab_play(*state, &scenario);

        assert_string_equal(run->steps[0].state.lock[0].owner, "A#1");
        assert_int_equal(run->steps[0].state.order_count, 0);
        lab_run_free(run);
    }
}

/* ---- the command --------------------------------------------------------------------------------- */

static int ctl(char *out, const char *const *args)
{
    return app_run("seckillctl", args, out, OUT_SIZE);
}

#define CTL(out, ...) ctl((out), (const char *const[]){__VA_ARGS__, NULL})

static void run_one(char *out, const char *scenario, const char *flag)
{
    int status = 1;

    for (int i = 0; i < APP_LAB_TRIES && status != 0; i++)
        status = CTL(out, "lab", "run", scenario, flag);
    assert_int_equal(status, 0);
}

TEST(the_command_lists_and_runs)
{
    char *out = malloc(OUT_SIZE);

    assert_non_null(out);
    assert_int_equal(CTL(out, "lab", "list"), 0);
    assert_non_null(strstr(out, "lost-update"));
    assert_int_equal(CTL(out, "lab", "list", "--json", "--lang", "zh"), 0);
    json_t *list = json_loads(out, 0, NULL);
    assert_true(json_array_size(list) >= 31);
    assert_chinese(json_string_value(json_object_get(json_array_get(list, 0), "title")));
    json_decref(list);
    run_one(out, "thread-lock", "--lang=zh");
    assert_non_null(strstr(out, "结论：第 4 步“超卖：订单比库存多”，符合预期"));
    run_one(out, "paused-process", "--json");
    json_t *run = json_loads(out, 0, NULL);
    assert_true(json_is_true(json_object_get(json_object_get(run, "verdict"), "isExpected")));
    json_decref(run);
    free(out);
}

TEST(the_command_refuses_what_it_does_not_know)
{
    char *out = malloc(OUT_SIZE);

    assert_non_null(out);
    assert_int_equal(CTL(out, "lab", "run", "nonsense"), 2);
    assert_non_null(strstr(out, "\"nonsense\" is no scenario"));
    assert_int_equal(CTL(out, "lab", "run"), 2);
    assert_int_equal(CTL(out, "lab", "run", "all", "--lang", "fr"), 2);
    assert_int_equal(CTL(out, "lab", "list", "--lang", "fr"), 2);
    free(out);
}

static bool has_redis(void *arg)
{
    return app_redis_child_of(arg) > 0;
}

TEST(an_interrupt_leaves_nothing_behind)
{
    struct app_process process = {0};
    char dir[APP_PATH_SIZE];
    int status = 0;

    app_lab_start_command(&process, dir);
    assert_true(app_eventually(has_redis, &process, PATIENCE_MS));
    pid_t redis = app_redis_child_of(&process);
    assert_int_equal(kill(process.pid, SIGINT), 0);
    assert_int_equal(waitpid(process.pid, &status, 0), process.pid);
    assert_true(WIFEXITED(status));
    assert_int_not_equal(WEXITSTATUS(status), 0);
    assert_int_equal(kill(redis, 0), -1);
    assert_int_equal(errno, ESRCH);
    assert_int_equal(rmdir(dir), 0); /* it is empty */
}

GROUP(app_lab_open, app_lab_close);

int main(int argc, char **argv)
{
    if (private_server_is_this(argc, argv) || actor_is_this(argc, argv)) return 2;
    return testing_run(argc, argv);
}
