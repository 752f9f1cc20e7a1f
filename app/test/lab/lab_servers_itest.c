/*
 * The lab's scenarios on several Redis servers: what they claim is what those servers answered, in the same
 * order whoever answers first; and the servers go when the lab goes, also when it is killed.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guards/guards.h"
#include "lab/lab.h"
#include "lab/plays/scenarios.h"
#include "lab/show/render.h"
#include "lab/stage/own_server.h"
#include "lab/stage/stage.h"
#include "start/private_server.h"
#include "test/support/app_lab.h"
#include "test/support/testing.h"

enum { PATIENCE_MS = 60000, AGAIN = 4, SERVERS = 4 /* the shop's, and three */ };

static char *play(struct lab *lab, const char *name)
{
    struct lab_run *run = app_lab_play(lab, scenarios_named(name));

    char *json = render_json(run, LAB_ENGLISH);
    assert_non_null(json);
    lab_run_free(run);
    return json;
}

#define SET(owner) "SET seckill:{lamp}:lock " owner " NX PX 60000\",\"reply\":"

TEST(each_claim_is_an_answer_of_a_server)
{
    static const struct {
        const char *scenario;
        const char *call;
    } table[] = {
        {"failover", SET("A#1") "\"OK\",\"server\":\"redis-1\""},
        {"failover", SET("B#1") "\"OK\",\"server\":\"redis-2\""},
        {"synced-lock", "WAIT 1 100\",\"reply\":\"0\",\"server\":\"redis-1\""},
        {"synced-lock", "WAIT 1 10000\",\"reply\":\"1\",\"server\":\"redis-1\""},
        {"synced-lock", SET("C#1") "\"nil\",\"server\":\"redis-2\""},
        {"redlock", SET("B#1") "\"nil\",\"server\":\"redis-2\""},
        {"redlock", SET("C#1") "\"nil\",\"server\":\"redis-2\""},
        {"redlock", SET("C#1") "\"OK\",\"server\":\"redis-3\""},
        {"empty-restart", SET("B#1") "\"nil\",\"server\":\"redis-2\""},
        {"empty-restart", SET("C#1") "\"OK\",\"server\":\"redis-2\""},
        {"redlock-script", "\"reply\":\"[0, 0, 1, \\\"S\\\"]\",\"server\":\"shop\""},
        {"delayed-restart", "redlock_undo.lua 1 seckill:{lamp}:lock B#1\",\"reply\":\"1\""},
        {"redlock-on-cluster", "\"ERROR MOVED 14682 127.0.0.1:7003\",\"server\":\"redis-1\""},
        {"redlock-on-cluster", "\"ERROR MOVED 14682 127.0.0.1:7003\",\"server\":\"redis-2\""},
        {"redlock-on-cluster", SET("B#1") "\"OK\",\"server\":\"redis-3\""},
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char *json = play(*state, table[i].scenario);

        if (!strstr(json, table[i].call))
            fail_msg("\"%s\" is not in %s: %s", table[i].call, table[i].scenario, json);
        free(json);
    }
}

TEST(whoever_answers_first_the_events_have_one_order)
{
    size_t scenarios = 0;

    for (size_t i = 0; scenarios_at(i); i++) {
        const char *name = scenarios_at(i)->name;

        if (scenarios_at(i)->servers == 0) continue;
        char *first = play(*state, name);
        for (unsigned again = 1; again < AGAIN; again++) {
            char *json = play(*state, name);

            assert_string_equal(json, first);
            free(json);
        }
        scenarios++;
        free(first);
    }
    assert_int_equal(scenarios, 7);
}

static void play_process(struct stage *stage)
{
    stage_servers(stage, 1);
    (void)stage_add(stage, &(struct stage_cast){.name = "A",
                                                .guard = &guard_mutex,
                                                .is_process = true,
                                                .servers = STAGE_SERVER(1)});
}

static void play_without_a_lease(struct stage *stage)
{
    stage_servers(stage, 3);
    stage_sell(stage, 1);
    STAGE_DO(stage, KILL_SERVER(2, "", ""));
    STAGE_DO(stage, LAPSE(STAGE_KEY("lock"), "", ""));
}

static void assert_fails(struct lab *lab, void (*play_it)(struct stage *stage), const char *reason)
{
    const struct lab_scenario scenario = {.number = "0", .name = "wrong", .play = play_it};
    struct lab_run *run = lab_play(lab, &scenario);

    assert_non_null(run);
    assert_false(lab_run_is_expected(run));
    if (!strstr(run->failure.text, reason)) fail_msg("%s", run->failure.text);
    lab_run_free(run);
}

TEST(a_scenario_that_goes_wrong_says_where)
{
    assert_fails(*state, play_process, "A: a process speaks to one server only");
    assert_fails(*state, play_without_a_lease,
                 "step 2: seckill:{lamp}:lock: there was no lease that could run out");
    free(play(*state, "redlock")); /* and the next finds all three alive */
}

struct family {
    struct app_process process;
    pid_t redis[SERVERS];
    size_t count;
};

static bool has_all_servers(void *arg)
{
    struct family *self = arg;

    self->count = app_redis_children_of(&self->process, self->redis, SERVERS);
    return self->count == SERVERS;
}

/* Dead; somebody else may still have to reap them. */
static bool are_all_dead(void *arg)
{
    const struct family *self = arg;
    char folder[32];

    for (size_t i = 0; i < self->count; i++) {
        (void)snprintf(folder, sizeof folder, "/proc/%d", self->redis[i]);
        const char *stat = app_file(folder, "stat");
        if (stat[0] && !strstr(stat, ") Z ")) return false;
    }
    return true;
}

/* A shell blocks all for a moment whenever it starts something. */
static bool blocks_nothing(void *folder)
{
    return strstr(app_file(folder, "status"), "\nSigBlk:\t0000000000000000\n");
}

/* A service blocks SIGTERM and SIGINT in its threads: a script that inherited that could not end what it had begun. */
TEST(a_server_s_script_gets_no_signal_mask)
{
    static const char *const words[OWN_SERVER_WORDS] = {NULL};
    struct start_error why = {0};
    struct own_server server;
    char dir[APP_PATH_SIZE];
    char folder[64];
    sigset_t all;
    sigset_t before;

    app_folder_make(dir);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    bool is_started = own_server_start(&server, "postgres_server", dir, words, &why);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!is_started) fail_msg("%s", why.text);
    (void)snprintf(folder, sizeof folder, "/proc/%d", (int)server.pid);
    bool is_free = app_eventually(blocks_nothing, folder, PATIENCE_MS);
    own_server_stop(&server);
    app_folder_remove(dir);
    assert_true(is_free);
}

TEST(the_servers_of_a_killed_lab_end_with_it)
{
    struct family family = {0};
    char dir[APP_PATH_SIZE];
    int status = 0;

    app_lab_start_command(&family.process, dir);
    assert_true(app_eventually(has_all_servers, &family, PATIENCE_MS));
    assert_int_equal(kill(family.process.pid, SIGKILL), 0);
    assert_int_equal(waitpid(family.process.pid, &status, 0), family.process.pid);
    assert_true(app_eventually(are_all_dead, &family, PATIENCE_MS));
    app_folder_remove(dir);
}

GROUP(app_lab_open, app_lab_close);

int main(int argc, char **argv)
{
    if (private_server_is_this(argc, argv) || actor_is_this(argc, argv)) return 2;
    return testing_run(argc, argv);
}
