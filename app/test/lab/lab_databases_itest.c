/*
 * The lab's scenarios in PostgreSQL: what they claim is what that server answered, and it goes with the lab.
 */
#include <limits.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab/lab.h"
#include "lab/plays/scenarios.h"
#include "lab/show/render.h"
#include "lab/stage/stage.h"
#include "lab/stage/stage_internal.h"
#include "start/private_server.h"
#include "test/support/app_lab.h"
#include "test/support/testing.h"

enum { AGAIN = 4 };

static char *play(struct lab *lab, const char *name)
{
    struct lab_run *run = app_lab_play(lab, scenarios_named(name));

    char *json = render_json(run, LAB_ENGLISH);
    assert_non_null(json);
    lab_run_free(run);
    return json;
}

#define POSTGRES(reply) "\"reply\":\"" reply "\",\"server\":\"postgres\""

TEST(each_claim_is_an_answer_of_postgres)
{
    static const struct {
        const char *scenario;
        const char *calls[3]; /* in this order */
    } table[] = {
        {"session-lost",
         {"advisory_lock", "pg_terminate_backend", "XADD seckill:{lamp}:ledger * event sold by A"}},
        {"session-writes",
         {POSTGRES("[1]"), "pg_terminate_backend", "COMMIT\"," POSTGRES("(the session is over)")}},
        {"lease-by-now", {"UPDATE seckill.lease", "until > now()\"," POSTGRES("[1]"), "sold by A"}},
        {"lease-by-clock",
         {"UPDATE seckill.lease", "until > clock_timestamp()\"," POSTGRES("[0]"), "sold by B"}},
        {"unlock-before-commit", {"pg_advisory_unlock", "COMMIT", "COMMIT"}},
        {"lock-until-commit", {"::int\"," POSTGRES("[1]"), "::int\"," POSTGRES("[0]"), "COMMIT"}},
        {"cache-set",
         {"RETURNING units\"," POSTGRES("[1]"), "RETURNING units\"," POSTGRES("[0]"),
          "RETURNING units\"," POSTGRES("[-1]")}},
        {"cache-deleted",
         {"RETURNING units\"," POSTGRES("[1]"), "RETURNING units\"," POSTGRES("[0]"),
          "RETURNING units\"," POSTGRES("UPDATE 0")}},
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char *json = play(*state, table[i].scenario);
        const char *at = json;

        for (size_t k = 0; k < 3; k++) {
            at = at ? strstr(at + 1, table[i].calls[k]) : NULL;
            if (!at)
                fail_msg("\"%s\" is not in %s: %s", table[i].calls[k], table[i].scenario, json);
        }
        free(json);
    }
}

TEST(every_play_has_the_same_events)
{
    size_t count = 0;

    for (size_t i = 0; scenarios_at(i); i++) {
        if (scenarios_at(i)->beside != TAP_POSTGRES) continue;
        assert_null(servers_lack(TAP_POSTGRES));
        char *first = play(*state, scenarios_at(i)->name);
        for (unsigned again = 1; again < AGAIN; again++) {
            char *json = play(*state, scenarios_at(i)->name);

            assert_string_equal(json, first);
            free(json);
        }
        free(first);
        count++;
    }
    assert_int_equal(count, 8);
}

static void play_without_a_session(struct stage *stage)
{
    stage_beside(stage, TAP_POSTGRES);
    stage_sell(stage, 1);
    STAGE_DO(stage, END_SESSION("", ""));
}

static void play_without_a_lease(struct stage *stage)
{
    stage_beside(stage, TAP_POSTGRES);
    stage_sell(stage, 1);
    STAGE_DO(stage, LAPSE(STAGE_KEY("lock"), "", ""));
}

TEST(a_scenario_that_goes_wrong_says_where)
{
    static const struct {
        void (*play)(struct stage *stage);
        const char *reason;
    } table[] = {{play_without_a_session, "step 1: the lock: nobody's session was there to end"},
                 {play_without_a_lease, "step 1: seckill:{lamp}:lock: there was no lease"}};

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const struct lab_scenario scenario = {
            .number = "0", .name = "wrong", .play = table[i].play};
        struct lab_run *run = lab_play(*state, &scenario);

        assert_non_null(run);
        if (!strstr(run->failure.text, table[i].reason)) fail_msg("%s", run->failure.text);
        lab_run_free(run);
    }
}

TEST(the_server_goes_and_its_folder_with_it)
{
    char dir[APP_PATH_SIZE];
    char socket[PATH_MAX];
    struct start_error why = {0};

    app_folder_make(dir);
    struct database *database = database_start(dir, &why);
    assert_non_null(database);
    (void)snprintf(socket, sizeof socket, "%s", database_socket(database));
    assert_int_equal(access(socket, F_OK), 0);
    *strrchr(socket, '/') = '\0';
    assert_true(app_lab_processes(socket) > 0);
    database_stop(database);
    assert_int_not_equal(access(socket, F_OK), 0);
    assert_int_equal(app_lab_processes(socket), 0);
    app_folder_remove(dir);
}

TEST(a_server_that_died_is_started_anew)
{
    char dir[APP_PATH_SIZE];
    char data[PATH_MAX];
    siginfo_t end;
    struct start_error why = {0};

    app_folder_make(dir);
    struct servers *servers = servers_open(dir, &why);
    assert_true(servers_prepare_beside(servers, TAP_POSTGRES, "", &why));
    (void)snprintf(data, sizeof data, "%s", servers_socket(servers, TAP_POSTGRES));
    (void)stpcpy(strrchr(data, '/'), "/data");
    pid_t pid = (pid_t)strtol(app_file(data, "postmaster.pid"), NULL, 10);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT), 0);
    assert_true(servers_prepare_beside(servers, TAP_POSTGRES, "", &why));
    assert_string_equal(why.text, "");
    servers_free(servers);
    app_folder_remove(dir);
}

GROUP(app_lab_open, app_lab_close);

int main(int argc, char **argv)
{
    if (private_server_is_this(argc, argv) || actor_is_this(argc, argv)) return 2;
    return testing_run(argc, argv);
}
