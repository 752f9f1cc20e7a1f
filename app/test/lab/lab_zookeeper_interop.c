/*
 * The lab's scenarios in ZooKeeper, which needs Java: they come to their verdicts by what that server answered, by the
 * same events each time.
 */
#include <signal.h>

#include "lab/lab.h"
#include "lab/plays/scenarios.h"
#include "lab/show/render.h"
#include "lab/stage/servers.h"
#include "start/private_server.h"
#include "test/support/app_lab.h"
#include "test/support/testing.h"

enum { PATIENCE_MS = 5000 };

#define AT    "/seckill:{lamp}:lock/"
#define WATCH "getData " AT "_c_"

static const struct {
    const char *scenario;
    const char *calls[3]; /* in this order */
} claims[] = {
    {"session-expired",
     {"create " AT "_c_A#1-lock-", "session expired",
      "XADD seckill:{lamp}:ledger * event sold by A"}},
    {"session-fenced",
     {"session expired", "fence#2\",\"reply\":\"[1", "fence#1\",\"reply\":\"ERROR STALE"}},
    {"herd",
     {"exists " AT "A-lock-place#1 watch", "exists " AT "A-lock-place#1 watch",
      "exists " AT "A-lock-place#1 watch"}},
    {"one-by-one",
     {WATCH "A#1-lock-place#1 watch", WATCH "B#1-lock-place#2 watch",
      WATCH "C#1-lock-place#3 watch"}},
    {"node-readers",
     {WATCH "B#1-__READ__place#2 watch", WATCH "C#1-__WRIT__place#3 watch",
      "deleted " AT "_c_B#1-__READ__place#2"}},
    {"node-both",
     {"create " AT "_c_A#2-__READ__place#1", "delete " AT "_c_A#1-__WRIT__place#1",
      WATCH "A#2-__READ__place#1 watch"}},
    {"node-writers",
     {"create " AT "_c_B#1-__WRIT__", WATCH "A#1-__WRIT__place#1 watch",
      "deleted " AT "_c_A#1-__WRIT__place#1"}},
};

static char *play(struct lab *lab, const char *name)
{
    struct lab_run *run = app_lab_play(lab, scenarios_named(name));

    char *json = render_json(run, LAB_ENGLISH);
    assert_non_null(json);
    lab_run_free(run);
    return json;
}

TEST(each_claim_is_an_answer_of_zookeeper_every_time)
{
    assert_null(servers_lack(TAP_ZOOKEEPER));
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        char *first = play(*state, claims[i].scenario);
        char *second = play(*state, claims[i].scenario);
        const char *at = first;

        assert_string_equal(first, second);
        for (size_t k = 0; k < 3; k++) {
            at = at ? strstr(at + 1, claims[i].calls[k]) : NULL;
            if (!at)
                fail_msg("\"%s\" is not in %s: %s", claims[i].calls[k], claims[i].scenario, first);
        }
        free(first);
        free(second);
    }
}

static bool is_gone(void *pid)
{
    return kill(*(const pid_t *)pid, 0) != 0;
}

TEST(a_server_that_died_is_started_anew)
{
    char dir[APP_PATH_SIZE];
    char holders[ENSEMBLE_HOLDERS][ENSEMBLE_NODE];
    pid_t pid = 0;
    struct start_error why = {0};

    app_folder_make(dir);
    struct servers *servers = servers_open(dir, &why);
    assert_true(servers_prepare_beside(servers, TAP_ZOOKEEPER, "lock", &why));
    const char *pid_at = strrchr(app_file(dir, "zookeeper_server"), ' ');
    assert_non_null(pid_at);
    pid = (pid_t)strtol(pid_at, NULL, 10);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_true(app_eventually(is_gone, &pid, PATIENCE_MS));
    assert_true(servers_prepare_beside(servers, TAP_ZOOKEEPER, "lock", &why));
    assert_string_equal(why.text, "");
    assert_int_equal(ensemble_holders(servers_ensemble(servers), "lock", holders), 0);
    servers_free(servers);
    app_folder_remove(dir);
}

TEST(no_scenario_is_left_out)
{
    size_t count = 0;

    for (size_t i = 0; scenarios_at(i); i++)
        count += scenarios_at(i)->beside == TAP_ZOOKEEPER;
    assert_int_equal(count, sizeof claims / sizeof claims[0]);
}

GROUP(app_lab_open, app_lab_close);

int main(int argc, char **argv)
{
    if (private_server_is_this(argc, argv) || actor_is_this(argc, argv)) return 2;
    return testing_run(argc, argv);
}
