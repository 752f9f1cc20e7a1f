/*
 * loadtest on the real service, small: a sound guard passes, a sale nobody could buy in is void, and
 * nothing it started outlives it. Nor does a run pass that had less load than was asked for.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/lt_load.h"
#include "test/support/testing.h"

enum { READY_MS = 20000 };

TEST(sound_guard_passes)
{
    static const struct {
        const char *path;
        double least, most;
    } numbers[] = {
        {"initial", 100, 100},       {"sold", 100, 100},
        {"accepted", 100, 100},      {"left", 0, 0},
        {"buyers", 3000, 3000},      {"duplicates", 0, 0},
        {"replayed", 1, 1e9},        {"refused.sold-out", 2001, 1e9},
        {"purchases_per_s", 1, 1e9}, {"refused.already-ordered", 1, 1e9},
    };
    const char *said = lt_load_run(
        *state, "--buyers 3000 --connections 200 --stock 100 --retry-share 0.4 --repeat 2", 0);

    assert_non_null(strstr(said, "\nPASS\n"));
    json_t *result = lt_load_result(*state);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        double number = lt_load_number(result, numbers[i].path);
        if (number < numbers[i].least || number > numbers[i].most)
            fail_msg("%s: %.0f", numbers[i].path, number);
    }
    assert_string_equal("pass", lt_load_text(result, "audit.conservation"));
    assert_string_equal("pass", lt_load_text(result, "audit.honest_answers"));
    json_t *runs = json_object_get(result, "runs");
    assert_int_equal(2, json_array_size(runs));
    for (size_t i = 0; i < 2; i++) { /* each has a file of its own */
        const char *path = lt_load_text(json_array_get(runs, i), "latency_hgrm");
        assert_non_null(strstr(path, i ? "/latency-2.hgrm" : "/latency.hgrm"));
        assert_int_equal(0, access(path, R_OK));
    }
    json_decref(result);
}

/* Few units in many segments, one instance each half of the buyers: nearly every unit has to move. */
TEST(a_sale_in_segments_is_sold_to_the_last_unit)
{
    static const char *const laws[] = {"segments_add_up", "moves_arrive", "orders_at_home"};
    const char *said = lt_load_run(
        *state, "--segments 8 --buyers 600 --connections 60 --stock 60 --retry-share 0.4", 0);

    assert_non_null(strstr(said, ", 8 segments\n"));
    json_t *result = lt_load_result(*state);
    assert_int_equal(60, (int)lt_load_number(result, "sold"));
    assert_int_equal(0, (int)lt_load_number(result, "left"));
    assert_int_equal(8, (int)lt_load_number(result, "settings.segments"));
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++) {
        char path[48];
        (void)snprintf(path, sizeof path, "audit.%s", laws[i]);
        assert_string_equal("pass", lt_load_text(result, path));
    }
    json_decref(result);
}

/* With a provider that does all it may, one instance killed, and some who do not pay in time. */
TEST(each_unit_is_paid_for_in_the_end)
{
    const char *said =
        lt_load_run(*state,
                    "--pay 0.8 --cancel 0.1 --window 1000 --payer-faults all --fault "
                    "kill:300 --stock 20 --buyers 400 --connections 20",
                    0);
    static const char *const laws[] = {
        "unit_conservation", "one_final_state", "return_matches_hold", "no_early_expiry",
        "payment_explained", "refund_once",     "told_paid_is_paid"};

    assert_non_null(strstr(said, " = paid 20 + cancelled "));
    json_t *result = lt_load_result(*state);
    assert_int_equal(20, (int)lt_load_number(result, "sold"));
    assert_int_equal(20, (int)lt_load_number(result, "payments.paid"));
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++) {
        char path[48];
        (void)snprintf(path, sizeof path, "audit.%s", laws[i]);
        assert_string_equal("pass", lt_load_text(result, path));
    }
    json_decref(result);
}

/* A seckilld of our own with its own Redis, and what its ready line says. */
struct running {
    struct process process;
    char buyers[100], admin[100], redis[LT_PATH_MAX + 64], token[LT_PATH_MAX + 64];
    const struct lt_sandbox *sandbox;
};

static bool is_ready(void *arg)
{
    struct running *running = arg;
    char said[1024];

    lt_sandbox_read(running->sandbox, "running", said, sizeof said);
    const char *line = strstr(said, ": buyers ");
    return line && strchr(line, '\n') &&
           sscanf(line, ": buyers %99[^,], admin %99[^,], redis %250s", running->buyers,
                  running->admin, running->redis) == 3;
}

enum { PLACES = 100 }; /* connections that it serves at a time */

static bool start_running(const struct lt_sandbox *sandbox, const char *lab,
                          struct running *running)
{
    char data[LT_PATH_MAX + 32];
    const char *const argv[] = {
        "seckilld",    "--data",        data,  "--listen", "127.0.0.1:0", "--admin-listen",
        "127.0.0.1:0", "--connections", "100", lab,        NULL};

    (void)snprintf(data, sizeof data, "%s/data", sandbox->dir);
    running->sandbox = sandbox;
    (void)snprintf(running->token, sizeof running->token, "%s/admin.token", data);
    return lt_start(sandbox, argv, "running", &running->process) &&
           lt_eventually(is_ready, running, READY_MS);
}

/* A seckilld of our own is sold through, with more words, and left running. What was said. */
static const char *run_against_ours(struct lt_sandbox *sandbox, const char *lab, const char *words,
                                    int status)
{
    struct running running = {.token = ""};

    assert_true(start_running(sandbox, lab, &running));
    const char *said =
        lt_must(sandbox, status,
                "loadtest --out @out --url %s --admin-url %s --admin-token %s --redis %s "
                "%s",
                running.buyers, running.admin, running.token, running.redis, words);
    bool still_runs = process_is_running(&running.process);
    process_stop(&running.process, READY_MS);
    assert_true(still_runs);
    assert_int_equal(0, lt_sandbox_count_processes(sandbox));
    return said;
}

TEST(running_instances_are_tested_and_left_running)
{
    (void)run_against_ours(*state, "--lab", "--buyers 1000 --stock 50 --connections 100", 0);
}

/* Without --lab nobody is known: all are refused, nothing is sold, nothing is proved. */
TEST(sale_that_served_nobody_is_void)
{
    const char *said =
        run_against_ours(*state, NULL, "--buyers 1000 --stock 50 --connections 100", 4);

    assert_non_null(strstr(said, "\nVOID\n"));
    assert_non_null(strstr(said, "nothing was sold"));
}

/* Three times as many connections as the service takes: the audit passes, and proves little. */
TEST(a_sale_on_fewer_connections_than_asked_for_is_void)
{
    const char *said =
        run_against_ours(*state, "--lab", "--buyers 2000 --stock 50 --connections 300", 4);
    const char *first = strstr(said, "\nSale ");

    assert_non_null(first);
    assert_non_null(strstr(said, "of 300 connections established"));
    assert_true(strstr(said, "\n  load: VOID, less load than was asked for: ") <
                strstr(said, "sold 50 of 50"));
    assert_non_null(strstr(said, "\nVOID\n"));
    assert_null(strstr(said, "fail"));
    json_t *result = lt_load_result(*state);
    assert_int_equal(300, lt_load_number(result, "load.connections"));
    assert_true(lt_load_number(result, "load.established") <= 1.05 * PLACES);
    assert_non_null(strstr(lt_load_text(result, "load.void"), " of 300 connections were establ"));
    assert_string_equal("void", lt_load_text(result, "verdict"));
    json_decref(result);
}

/* ... unless whoever asks says that he breaks something. */
TEST(a_load_that_may_come_short_is_told)
{
    const char *said = run_against_ours(
        *state, "--lab", "--allow-errors --buyers 2000 --stock 50 --connections 300", 0);

    assert_non_null(strstr(said, "of 300 connections established"));
    assert_non_null(strstr(said, "\nPASS\n"));
}

TEST(ctrl_c_leaves_no_process)
{
    static const struct {
        const char *words;
        int processes;
    } rows[] = {
        {"--buyers 10000000 --connections 100", 6}, /* itself, Redis, two instances, two wrk */
        {"--pay 0.5 --stock 100000 --buyers 10000000 --connections 100", 7}, /* and payd */
        {"--bench", 4},
        {"--guard all", 4}, /* itself, Redis, two instances */
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int status = lt_load_signal(*state, rows[i].words, rows[i].processes, SIGINT);
        assert_true(WIFEXITED(status));
        assert_int_equal(130, WEXITSTATUS(status));
    }
}

TEST(kill_leaves_no_process)
{
    (void)lt_load_signal(*state, "--buyers 10000000 --connections 100", 6, SIGKILL);
}

TEST(speed_run_prints_the_ratio)
{
    (void)lt_load_run(*state, "--against livez --connections 8,16 --duration 1 --repeat 1", 0);
    json_t *result = lt_load_result(*state);
    json_t *steps = json_object_get(result, "steps");
    assert_int_equal(2, json_array_size(steps));
    assert_true(lt_load_number(json_array_get(steps, 1), "ratio.median") > 0);
    json_decref(result);
}

TEST(what_cannot_run_says_why)
{
    static const struct lt_case rows[] = {
        {"--batch many", 2, "loadtest: --batch: \"many\" is not a number from 1 to 1024\n"},
        {"--guard no-such-guard", 2, "has no guard \"no-such-guard\"; it has mutex "},
        {"--help", 0, "setnx (kill)"},
        {"--wrk-dir /nonexistent", 3, "loadtest: --wrk-dir: /nonexistent/purchase.lua"},
        {"--redis sentinel://h", 2,
         "loadtest: --redis: Redis URL: write redis://[user:password@]host"},
        {"--redis redis://auditor@h", 2, "a user without a password: "},
        {NULL, 0, NULL},
    };

    lt_must_all(*state, "loadtest --out @out", rows);
    assert_int_equal(0, lt_sandbox_count_processes(*state));
}

FIXTURE(lt_load_open, lt_load_close);
