/*
 * The load test on a deployment as an operator has one: instances without --lab behind a proxy, that
 * know buyers by tokens alone; a Redis with users, of which the load test is one that may only read.
 * It keeps its pace, and comes to a verdict though an instance dies under it.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "common/port.h"
#include "test/support/lt_http_proxy.h"
#include "test/support/lt_load.h"
#include "test/support/lt_net.h"
#include "test/support/testing.h"

enum { LIMIT_MS = 90000, READY_MS = 20000, STOP_MS = 8000, PATH_ROOM = LT_PATH_MAX + 64 };

/* What ledger.h says that it takes. */
#define RIGHTS "%R~seckill:* -@all +ping +info +exists +get +hget +hlen +hscan +xrange +pttl"

struct deployment {
    struct lt_sandbox sandbox;
    struct lt_http_proxy *proxy;
    struct process redis;
    struct process instances[LT_HTTP_PROXY_INSTANCES];
    char admin_url[100];
    char front_url[100];
    char root_url[100], reader_url[100]; /* of Redis */
};

static bool start_redis(struct deployment *all)
{
    char acl[PATH_ROOM], log[PATH_ROOM], port_text[16];
    int port = port_free();

    (void)snprintf(port_text, sizeof port_text, "%d", port);
    (void)snprintf(log, sizeof log, "%s/redis.log", all->sandbox.dir);
    (void)snprintf(all->root_url, sizeof all->root_url, "redis://root:top@127.0.0.1:%d", port);
    (void)snprintf(all->reader_url, sizeof all->reader_url, "redis://auditor@127.0.0.1:%d", port);
    if (!lt_sandbox_write(&all->sandbox, "users.acl",
                          "user default off\nuser root on >top ~* &* +@all\n"
                          "user auditor on >only@read:ing " RIGHTS "\n",
                          acl))
        return false;
    const char *const argv[] = {
        "redis-server", "--port", port_text, "--bind", "127.0.0.1", "--aclfile",      acl,
        "--appendonly", "yes",    "--save",  "",       "--dir",     all->sandbox.dir, NULL};
    return process_start(&all->redis, argv, log, log, NULL) &&
           lt_eventually(lt_redis_answers, all->root_url, READY_MS);
}

/* ---- instances ---- */

struct awaited {
    const struct deployment *all;
    char name[16];
    char buyers[16], admin[16]; /* ports */
};

static bool has_said_ready(void *arg)
{
    struct awaited *awaited = arg;
    char said[1024];

    lt_sandbox_read(&awaited->all->sandbox, awaited->name, said, sizeof said);
    const char *line = strstr(said, ": buyers ");
    return line && strchr(line, '\n') &&
           sscanf(line, ": buyers http://127.0.0.1:%15[0-9], admin http://127.0.0.1:%15[0-9]",
                  awaited->buyers, awaited->admin) == 2;
}

static bool start_instance(struct deployment *all, int number)
{
    struct awaited awaited = {.all = all};
    struct lt_command line;
    char output[PATH_ROOM];

    (void)snprintf(awaited.name, sizeof awaited.name, "i%d", number + 1);
    (void)snprintf(output, sizeof output, "%s/%s", all->sandbox.dir, awaited.name);
    (void)unlink(output); /* of its life before */
    lt_command_make(
        &line, &all->sandbox,
        "seckilld --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --redis %s --instance "
        "%s --data @data-%s --admin-token @token --token-key @key --connections 200",
        all->root_url, awaited.name, awaited.name);
    if (!lt_start(&all->sandbox, line.argv, awaited.name, &all->instances[number]) ||
        !lt_eventually(has_said_ready, &awaited, READY_MS))
        return false;
    lt_http_proxy_set(all->proxy, number, (int)strtol(awaited.buyers, NULL, 10));
    if (number == 0)
        (void)snprintf(all->admin_url, sizeof all->admin_url, "http://127.0.0.1:%s", awaited.admin);
    return true;
}

static void kill_instance(struct deployment *all, int number)
{
    process_signal(&all->instances[number], SIGKILL);
    (void)process_wait(&all->instances[number], STOP_MS);
}

static void make_secrets(struct deployment *all)
{
    char path[PATH_ROOM];

    assert_true(lt_sandbox_write(&all->sandbox, "password", "only@read:ing\n", path));
    assert_true(
        lt_sandbox_write(&all->sandbox, "token", "0123456789abcdef0123456789abcdef\n", path));
    (void)lt_must(&all->sandbox, 0, "seckillctl key --out @key");
}

SET_UP(struct deployment, all)
{
    int port = 0;

    all->proxy = lt_http_proxy_start(&port);
    (void)snprintf(all->front_url, sizeof all->front_url, "http://127.0.0.1:%d", port);
    assert_true(all->proxy && lt_sandbox_open(&all->sandbox));
    make_secrets(all);
    assert_true(start_redis(all) && start_instance(all, 0) && start_instance(all, 1));
}

TEAR_DOWN(struct deployment, all)
{
    for (int i = 0; i < LT_HTTP_PROXY_INSTANCES; i++)
        process_stop(&all->instances[i], STOP_MS);
    process_stop(&all->redis, STOP_MS);
    lt_http_proxy_stop(all->proxy);
    lt_sandbox_close(&all->sandbox);
}

/* ---- runs ---- */

/* loadtest on all of it, with more words. */
static void start_load(struct deployment *all, const char *more, struct process *loadtest)
{
    struct lt_command line;

    lt_command_make(&line, &all->sandbox,
                    "loadtest --url %s --admin-url %s --admin-token @token --redis %s "
                    "--redis-password @password --tokens --token-key @key --out @out --keep %s",
                    all->front_url, all->admin_url, all->reader_url, more);
    assert_true(lt_start(&all->sandbox, line.argv, "output", loadtest));
}

static int end_of(const struct deployment *all, struct process *loadtest)
{
    static char said[LT_OUTPUT_MAX];
    bool has_ended = process_wait(loadtest, LIMIT_MS);

    process_stop(loadtest, STOP_MS);
    lt_sandbox_read(&all->sandbox, "output", said, sizeof said);
    int status =
        has_ended && WIFEXITED(loadtest->wait_status) ? WEXITSTATUS(loadtest->wait_status) : -1;
    if (status != 0) print_message("%s\n", said);
    return status;
}

TEST(the_pace_is_held_and_a_reader_judges, struct deployment *all)
{
    static const char words[] = "--buyers 600 --stock 400 --connections 60 --pace 300";
    struct process loadtest;

    start_load(all, words, &loadtest);
    assert_int_equal(0, end_of(all, &loadtest));
    json_t *result = lt_load_result(&all->sandbox);
    double per_s = lt_load_number(result, "requests") / lt_load_number(result, "seconds");
    if (per_s < 255 || per_s > 345) print_message("%.1f per second\n", per_s);
    assert_true(per_s > 300 * 0.85 && per_s < 300 * 1.15);
    assert_int_equal(400, lt_load_number(result, "sold"));
    assert_int_equal(0, lt_load_number(result, "strays"));
    assert_int_equal(0, lt_load_number(result, "unanswered"));
    assert_true(json_is_null(json_object_get(result, "locks"))); /* of which instance? */
    assert_true(json_is_null(json_object_get(result, "round_trips")));
    const json_t *settings = json_object_get(result, "settings");
    assert_int_equal(300, lt_load_number(settings, "pace"));
    assert_true(json_is_true(json_object_get(settings, "tokens")));
    assert_null(strstr(json_string_value(json_object_get(settings, "redis")), "only@read"));
    json_decref(result);
}

TEST(an_instance_may_die_and_come_back, struct deployment *all)
{
    static const char words[] =
        "--buyers 1500 --stock 1200 --connections 60 --pace 500 --allow-errors";
    struct process loadtest;

    start_load(all, words, &loadtest);
    clock_sleep_ms(1500);
    kill_instance(all, 1);
    clock_sleep_ms(700);
    assert_true(start_instance(all, 1));
    assert_int_equal(0, end_of(all, &loadtest));
    json_t *result = lt_load_result(&all->sandbox);
    assert_string_equal("pass", lt_load_text(result, "verdict"));
    assert_int_equal(0, lt_load_number(result, "lost"));
    assert_true(lt_http_proxy_own_answers(all->proxy) > 0); /* or it was not under load */
    assert_true(lt_load_number(result, "strays") > 0);
    assert_true(lt_load_number(result, "strays") <= lt_http_proxy_own_answers(all->proxy));
    assert_true(lt_load_number(result, "unanswered") >= lt_load_number(result, "strays"));
    assert_true(lt_load_number(result, "unknown") > 0);
    json_decref(result);
}

/* Longer than a request may stay unanswered: the proxy answers meanwhile, but only for itself. */
TEST(while_a_proxy_answers_for_all_the_plan_goes_on, struct deployment *all)
{
    static const char words[] =
        "--buyers 1600 --stock 500 --connections 60 --pace 250 --allow-errors";
    struct process loadtest;

    start_load(all, words, &loadtest);
    clock_sleep_ms(1500);
    kill_instance(all, 0);
    kill_instance(all, 1);
    clock_sleep_ms(9000);
    assert_true(start_instance(all, 0));
    assert_true(start_instance(all, 1));
    assert_int_equal(0, end_of(all, &loadtest));
    json_t *result = lt_load_result(&all->sandbox);
    assert_int_equal(1600, lt_load_number(result, "buyers"));
    assert_int_equal(500, lt_load_number(result, "sold"));
    json_decref(result);
}

/* ---- the auditor by itself ---- */

TEST(the_auditor_needs_its_password_and_nothing_but_reading, struct deployment *all)
{
    static const struct lt_case rows[] = {
        {"--redis-password @password", 2, "pass  conservation"}, /* no clients: void */
        {"--redis-password @wrong", 2, "WRONGPASS"},
        {"--redis-password /nonexistent", 2, "--redis-password: /nonexistent"},
        {"", 2, "a user without a password"},
        {NULL, 0, NULL},
    };
    struct process loadtest;
    char path[PATH_ROOM], program[PATH_ROOM];

    start_load(all, "--buyers 100 --stock 60 --connections 20", &loadtest);
    assert_int_equal(0, end_of(all, &loadtest));
    json_t *result = lt_load_result(&all->sandbox);
    assert_true(lt_sandbox_write(&all->sandbox, "wrong", "something\n", path));
    (void)snprintf(program, sizeof program, "audit --redis %s --sale %s", all->reader_url,
                   lt_load_text(result, "sale"));
    json_decref(result);
    lt_must_all(&all->sandbox, program, rows);
    const char *said = lt_must(&all->sandbox, 2, "%s %s", program, rows[1].words);
    assert_null(strstr(said, "only@read"));
}

GROUP(testing_ignore_sigpipe, NULL);
