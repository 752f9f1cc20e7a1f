/*
 * The deployment's Redis users (docker/redis/users.acl.in, made by docker/secrets.sh) and a seckilld that
 * logs in as one of them: all that a sale needs is allowed, and nothing else.
 *
 * Everything is played twice: in batches, and with a lock for each purchase and buyers who wait for it.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lockkit/lockkit.h"

#include "base/clock.h"
#include "common/port.h"
#include "test/support/app_stream.h"
#include "test/support/app_support.h"
#include "test/support/app_texts.h"
#include "test/support/testing.h"

enum {
    PATH_SIZE = APP_PATH_SIZE + 32,
    SECRET_SIZE = 128,
    LINE_SIZE = 256,
    LOG_SIZE = 32768,
    CROWD = 6,
    SOON_MS = 10000,
};

static const char *const guards[] = {"mutex", "mutex-watchdog", "reentrant", "fair",
                                     "spin",  "fenced",         "script",    "watch"};

enum { GUARDS = sizeof guards / sizeof guards[0] };

struct fixture {
    char dir[APP_PATH_SIZE];
    char secrets[PATH_SIZE];
    char acl[PATH_SIZE];
    char password[PATH_SIZE]; /* file */
    char loader[PATH_SIZE];   /* file */
    char port[8];
    char url[LINE_SIZE];       /* of the service's user, without the password */
    char admin_url[LINE_SIZE]; /* with it */
    struct app_process redis;
    struct app_process service;
    struct app_reply reply;
    struct app_stream stream;
    char log[LOG_SIZE];
};

/* ---- the deployment's files -------------------------------------------------------------------- */

static int run_script(const char *to)
{
    char sh[] = "sh";
    char script[] = "docker/secrets.sh";
    char folder[PATH_SIZE];
    char *const args[] = {sh, script, folder, NULL};
    posix_spawn_file_actions_t files;
    pid_t pid = 0;
    int status = -1;

    (void)snprintf(folder, sizeof folder, "%s", to);
    (void)posix_spawn_file_actions_init(&files);
    (void)posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", 1, 0);
    if (posix_spawnp(&pid, sh, &files, NULL, args, environ) == 0) (void)waitpid(pid, &status, 0);
    (void)posix_spawn_file_actions_destroy(&files);
    return status;
}

static void start_redis(struct fixture *self)
{
    const char *const args[] = {"--port",    self->port, "--bind", "127.0.0.1",
                                "--aclfile", self->acl,  NULL};

    assert_true(app_start_redis_with(&self->redis, self->dir, args));
}

SET_UP(struct fixture, self)
{
    char password[SECRET_SIZE];

    self->stream.fd = -1;
    app_folder_make(self->dir);
    (void)snprintf(self->secrets, sizeof self->secrets, "%.100s/secrets", self->dir);
    (void)snprintf(self->acl, sizeof self->acl, "%.100s/secrets/users.acl", self->dir);
    (void)snprintf(self->password, sizeof self->password, "%.100s/secrets/redis-seckill",
                   self->dir);
    (void)snprintf(self->loader, sizeof self->loader, "%.100s/secrets/redis-loader", self->dir);
    assert_false(run_script(self->secrets) != 0);
    (void)snprintf(self->port, sizeof self->port, "%d", port_free());
    (void)snprintf(password, sizeof password, "%.100s", app_file(self->secrets, "redis-admin"));
    password[strcspn(password, "\n")] = '\0';
    assert_true(password[0]);
    (void)snprintf(self->url, sizeof self->url, "redis://seckill@127.0.0.1:%s", self->port);
    (void)snprintf(self->admin_url, sizeof self->admin_url, "redis://admin:%s@127.0.0.1:%s",
                   password, self->port);
    start_redis(self);
}

TEAR_DOWN(struct fixture, self)
{
    if (self->stream.fd >= 0) app_stream_close(&self->stream);
    (void)app_stop(&self->service);
    (void)app_stop(&self->redis);
    app_folder_remove(self->dir);
}

/* ---- Redis, as its administrator ---------------------------------------------------------------- */

/* The text behind a name in an entry of ACL LOG. */
static const char *of_entry(const lk_reply *entry, const char *name)
{
    for (size_t i = 0; i + 1 < lk_reply_count(entry); i += 2) {
        const char *here = lk_reply_bytes(lk_reply_at(entry, i)).data;
        const char *text = lk_reply_bytes(lk_reply_at(entry, i + 1)).data;

        if (here && strcmp(here, name) == 0) return text ? text : "";
    }
    return "";
}

/* Passwords of replicas are in Redis's settings: nobody but its administrator reads them. */
static bool is_expected(const lk_reply *entry)
{
    return strcmp(of_entry(entry, "username"), "seckill") == 0 &&
           strcmp(of_entry(entry, "object"), "config|get") == 0;
}

/* Nothing was denied that is not meant to be. */
static void assert_nothing_denied(const struct fixture *self)
{
    lk_reply *log = app_redis_command(self->admin_url, "ACL LOG 128");
    size_t denied = 0;

    assert_int_equal(lk_reply_type_of(log), LK_REPLY_ARRAY);
    for (size_t i = 0; i < lk_reply_count(log); i++) {
        const lk_reply *entry = lk_reply_at(log, i);

        if (is_expected(entry)) continue;
        denied++;
        print_message("# denied: %s: %s %s (%s)\n", of_entry(entry, "username"),
                      of_entry(entry, "reason"), of_entry(entry, "object"),
                      of_entry(entry, "context"));
    }
    lk_reply_free(log);
    assert_int_equal(denied, 0);
}

/* ---- a sale from its first day to its last ------------------------------------------------------- */

static void start_service(struct fixture *self, const char *batch)
{
    const char *const args[] = {"--redis",
                                self->url,
                                "--redis-password",
                                self->password,
                                "--redis-loader",
                                self->loader,
                                "--batch",
                                batch,
                                "--deadline-ms",
                                "1500",
                                NULL};

    assert_true(app_start(&self->service, self->dir, args));
    assert_null(strstr(self->service.redis, "seckill"));
}

static long buy(struct fixture *self, const char *sale, const char *user, const char *key)
{
    return app_buy(self->service.buyers, sale, user, key, &self->reply);
}

static long get(struct fixture *self, const char *base, const char *path, const char *user)
{
    return app_http(
        &(struct app_call){
            .base = base, .path = path, .user = user, .token = user ? NULL : app_token(self->dir)},
        &self->reply);
}

/* What operators do to a sale; body NULL: a look. */
static void operate(struct fixture *self, const char *method, const char *sale, const char *step,
                    const char *body)
{
    char path[LINE_SIZE];

    (void)snprintf(path, sizeof path, "/api/v1/admin/sales/%s%s", sale, step);
    app_http(
        &(struct app_call){.method = method,
                           .base = self->service.admin,
                           .path = path,
                           .token = app_token(self->dir),
                           .body = body,
                           .headers = {"Content-Type: application/json", "Idempotency-Key: k"}},
        &self->reply);
    if (self->reply.status != 200)
        fail_msg("%s %s: %ld %s", method, path, self->reply.status, self->reply.body);
}

static void create(struct fixture *self, const char *sale, const char *guard, int stock)
{
    char body[LINE_SIZE];

    (void)snprintf(body, sizeof body, "{\"id\":\"%s\",\"stock\":%d,\"guard\":\"%s\"}", sale, stock,
                   guard);
    if (!app_create_sale(&self->service, self->dir, body)) fail_msg("%s is not created", sale);
}

struct buyer {
    const struct fixture *fixture;
    const char *sale;
    unsigned number;
    long status;
};

static void *buy_in_a_crowd(void *arg)
{
    struct buyer *buyer = arg;
    struct app_reply *reply = calloc(1, sizeof *reply);
    char user[32];

    (void)snprintf(user, sizeof user, "crowd-%u", buyer->number);
    if (reply) app_buy(buyer->fixture->service.buyers, buyer->sale, user, NULL, reply);
    buyer->status = reply ? reply->status : 0;
    free(reply);
    return NULL;
}

static void sell_to_a_crowd(struct fixture *self, const char *sale)
{
    struct buyer buyers[CROWD];
    pthread_t threads[CROWD];

    for (unsigned i = 0; i < CROWD; i++) {
        buyers[i] = (struct buyer){self, sale, i, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, buy_in_a_crowd, &buyers[i]), 0);
    }
    for (size_t i = 0; i < CROWD; i++)
        (void)pthread_join(threads[i], NULL);
    for (size_t i = 0; i < CROWD; i++)
        assert_int_equal(buyers[i].status, 201);
}

static void assert_books(struct fixture *self, const char *sale)
{
    operate(self, "GET", sale, "/audit", NULL);
    assert_string_equal(app_member(&self->reply, "verdict"), "pass");
}

static void sell_by(struct fixture *self, const char *sale, const char *guard)
{
    char path[LINE_SIZE];

    create(self, sale, guard, CROWD + 2);
    assert_int_equal(buy(self, sale, "anna", "k"), 201);
    assert_int_equal(buy(self, sale, "anna", "k"), 201);
    assert_int_equal(buy(self, sale, "anna", NULL), 409);
    sell_to_a_crowd(self, sale);
    assert_int_equal(buy(self, sale, "bert", NULL), 201);
    assert_int_equal(buy(self, sale, "cleo", NULL), 409);
    assert_true(app_is_problem(&self->reply, 409, "sold-out"));
    assert_int_equal(buy(self, sale, "anna", NULL), 409);
    (void)snprintf(path, sizeof path, "/api/v1/sales/%s/orders/me", sale);
    assert_int_equal(get(self, self->service.buyers, path, "bert"), 200);
    assert_books(self, sale);
}

static void wait_for_a_sale(struct fixture *self, const char *sale)
{
    char body[LINE_SIZE];
    char path[LINE_SIZE];

    (void)snprintf(body, sizeof body,
                   "{\"id\":\"%s\",\"stock\":1,\"waitingRoom\":{\"admitPerSecond\":9}}", sale);
    assert_true(app_create_sale(&self->service, self->dir, body));
    (void)snprintf(path, sizeof path, "/api/v1/sales/%s/waiting-room", sale);
    assert_int_equal(app_http(&(struct app_call){.method = "POST",
                                                 .base = self->service.buyers,
                                                 .path = path,
                                                 .user = "anna"},
                              &self->reply),
                     200);
    assert_int_equal(buy(self, sale, "anna", NULL), 403);
}

static void operate_a_sale(struct fixture *self, const char *sale)
{
    char path[LINE_SIZE];

    create(self, sale, "mutex", 2);
    operate(self, "POST", sale, "/pause", "{}");
    assert_int_equal(buy(self, sale, "anna", NULL), 503);
    operate(self, "POST", sale, "/resume", "{}");
    assert_int_equal(buy(self, sale, "anna", NULL), 201);
    operate(self, "POST", sale, "/restock", "{\"units\":3}");
    operate(self, "PATCH", sale, "", "{\"title\":\"Cups\"}");
    assert_int_equal(buy(self, sale, "bert", NULL), 201);
    operate(self, "GET", sale, "", NULL);
    operate(self, "GET", sale, "/orders", NULL);
    assert_non_null(strstr(self->reply.body, "bert"));
    assert_int_equal(get(self, self->service.admin, "/api/v1/admin/sales", NULL), 200);
    operate(self, "POST", sale, "/end", "{}");
    assert_int_equal(buy(self, sale, "cleo", NULL), 410);
    assert_books(self, sale);
    (void)snprintf(path, sizeof path, "/api/v1/sales/%s", sale);
    assert_int_equal(get(self, self->service.buyers, path, NULL), 200);
    assert_int_equal(get(self, self->service.buyers, "/api/v1/sales", NULL), 200);
    assert_int_equal(get(self, self->service.buyers, "/api/v1/time", NULL), 200);
    assert_int_equal(get(self, self->service.buyers, "/readyz", NULL), 200);
    assert_string_equal(self->reply.body, "ready\n");
    assert_int_equal(get(self, self->service.admin, "/metrics", NULL), 200);
    assert_non_null(strstr(self->reply.body, "\nseckill_store_up 1\n"));
    assert_non_null(strstr(self->reply.body, "\nseckill_stock_drift_units{sale="));
}

static void watch_a_sale(struct fixture *self, const char *sale)
{
    struct app_event event;

    create(self, sale, "mutex", 5);
    assert_true(app_stream_open(&self->stream, self->service.buyers, sale));
    assert_true(app_stream_find(&self->stream, "snapshot", &event, SOON_MS));
    assert_int_equal(buy(self, sale, "anna", NULL), 201);
    assert_true(app_stream_find(&self->stream, "stock", &event, SOON_MS));
    assert_int_equal(app_event_number(&event, "remaining"), 4);
    app_stream_close(&self->stream);
    self->stream.fd = -1;
}

/*
 * Redis stands still for longer than a round trip may take (1 s), and is back before the purchase is
 * given up: it is settled by resolve.lua, which leaves a mark.
 */
static void lose_an_answer(struct fixture *self, const char *sale)
{
    char key[LINE_SIZE];
    char user[32];

    create(self, sale, "mutex", 100);
    (void)snprintf(key, sizeof key, "seckill:{%s}:void", sale);
    for (int i = 0; i < 5 && app_ask_redis(self->admin_url, "EXISTS", key) != 1; i++) {
        assert_int_equal(buy(self, sale, "anna", "k"), 201); /* the sale is known */
        lk_reply_free(app_redis_command(self->admin_url, "CLIENT PAUSE 1200 ALL"));
        (void)snprintf(user, sizeof user, "lost-%d", i);
        (void)buy(self, sale, user, "k"); /* whatever it comes to */
        clock_pause_ms(1000);             /* Redis is back for certain, and connected to */
    }
    assert_int_equal(app_ask_redis(self->admin_url, "EXISTS", key), 1);
    assert_books(self, sale);
}

static void play_all(struct fixture *self, const char *batch)
{
    char sale[40];

    start_service(self, batch);
    for (size_t i = 0; i < GUARDS; i++) {
        (void)snprintf(sale, sizeof sale, "%s-%s", guards[i], batch);
        sell_by(self, sale, guards[i]);
    }
    operate_a_sale(self, "steps");
    wait_for_a_sale(self, "room");
    watch_a_sale(self, "watched");
    lose_an_answer(self, "lost");
}

static void restart_redis(struct fixture *self)
{
    app_kill(&self->redis);
    start_redis(self);
    for (int i = 0; i < 100 && get(self, self->service.buyers, "/readyz", NULL) != 200; i++)
        clock_pause_ms(50);
    assert_int_equal(self->reply.status, 200);
}

/* A Redis that forgot all scripts is told them again. */
static void sell_after_a_restart(struct fixture *self)
{
    char sale[40];

    restart_redis(self);
    for (size_t i = 0; i < GUARDS; i++) {
        (void)snprintf(sale, sizeof sale, "again-%s", guards[i]);
        sell_by(self, sale, guards[i]);
    }
    operate_a_sale(self, "again-steps");
    watch_a_sale(self, "again-watched");
}

TEST(a_service_in_batches_needs_no_more, struct fixture *self)
{
    play_all(self, "256");
    assert_nothing_denied(self);
    sell_after_a_restart(self);
    assert_nothing_denied(self);
}

TEST(a_service_with_a_lock_for_each_needs_no_more, struct fixture *self)
{
    play_all(self, "1");
    assert_nothing_denied(self);
}

/* ---- who may what --------------------------------------------------------------------------------- */

/* "OK" or Redis's words. Words are parted by blanks. */
static bool is_allowed(struct fixture *self, const char *user, const char *command)
{
    char line[LINE_SIZE];

    (void)snprintf(line, sizeof line, "ACL DRYRUN %s %s", user, command);
    lk_reply *reply = app_redis_command(self->admin_url, line);
    if (!reply || lk_reply_type_of(reply) == LK_REPLY_ERROR)
        fail_msg("%s: %s", command, reply ? lk_reply_bytes(reply).data : "no answer");
    bool is_ok = strcmp(lk_reply_bytes(reply).data, "OK") == 0;
    lk_reply_free(reply);
    return is_ok;
}

TEST(what_each_may_and_may_not, struct fixture *self)
{
    static const struct {
        const char *user;
        bool may;
        const char *commands;
    } rows[] = {
        {"seckill", true,
         "EVALSHA digest 1 seckill:{cup}:sale|EVALSHA digest 1 lockkit_wake:seckill:{cup}:lock|"
         "SET seckill:{cup}:stock 1|SET seckill:ready:{0} 1 PX 60000|GET seckill:{cup}:stock|"
         "UNLINK seckill:{cup}:orders|HVALS seckill:{cup}:refunds|SREM seckill:sales cup|"
         "HSCAN seckill:{cup}:orders 0|XREAD COUNT 1 STREAMS seckill:{cup}:ledger 0|"
         "SUBSCRIBE lockkit_wake:seckill:{cup}:lock|WATCH seckill:{cup}:sale|MULTI|EXEC|"
         "WAIT 1 100|TIME|INFO|PING"},
        {"seckill", false,
         "EVAL return 0|EVAL_RO return 0|SCRIPT LOAD return|SCRIPT FLUSH|FUNCTION LOAD x|"
         "FCALL x 0|FLUSHALL|FLUSHDB|SWAPDB 0 1|CONFIG SET maxmemory 1|CONFIG GET masterauth|"
         "DEBUG SLEEP 1|KEYS *|SCAN 0|RANDOMKEY|DBSIZE|SAVE|BGREWRITEAOF|SHUTDOWN|"
         "REPLICAOF no one|FAILOVER|CLUSTER RESET|ACL LIST|ACL SETUSER me on|MONITOR|"
         "CLIENT KILL 127.0.0.1:1|CLIENT LIST|MODULE LOAD x.so|"
         "RENAME seckill:{cup}:sale seckill:{cup}:x|RESTORE seckill:{cup}:sale 0 x|"
         "MIGRATE 127.0.0.1 1 seckill:{cup}:sale 0 1|OBJECT FREQ seckill:{cup}:sale|GET other|"
         "SET other 1|DEL other|SET lockkit_wake:other 1|EVALSHA digest 1 other|"
         "EVALSHA digest 2 seckill:{cup}:sale other|SUBSCRIBE other|PSUBSCRIBE *|PUBLISH other x|"
         "SUBSCRIBE __sentinel__:hello"},
        {"loader", true, "SCRIPT LOAD return|PING"},
        {"loader", false,
         "SCRIPT FLUSH|SCRIPT KILL|SCRIPT EXISTS digest|EVAL return 0|EVALSHA digest 0|"
         "GET seckill:{cup}:stock|SET seckill:{cup}:stock 1|KEYS *|CONFIG GET maxmemory|INFO|"
         "SUBSCRIBE x"},
        {"auditor", true,
         "HGETALL seckill:{cup}:orders|HSCAN seckill:{cup}:orders 0|"
         "XRANGE seckill:{cup}:ledger - +|GET seckill:{cup}:stock|SMEMBERS seckill:sales|INFO|"
         "ZCARD seckill:{cup}:due|TIME|MULTI|EXEC|PING"},
        {"auditor", false,
         "SET seckill:{cup}:stock 1|DEL seckill:{cup}:stock|HSET seckill:{cup}:orders a b|"
         "XADD seckill:{cup}:ledger * a b|EVAL return 0|EVALSHA digest 0|GET other|"
         "SCRIPT LOAD return|KEYS *|CONFIG GET masterauth|FLUSHALL|SUBSCRIBE x"},
        {"health", true, "PING"},
        {"health", false, "INFO|GET seckill:{cup}:stock|CONFIG GET maxmemory"},
        {"replica", true, "PSYNC ? -1|REPLCONF ack 1|PING"},
        {"replica", false, "GET seckill:{cup}:stock|SYNC|CONFIG GET maxmemory|FLUSHALL"},
        {"sentinel", false,
         "GET seckill:{cup}:stock|SET seckill:{cup}:stock 1|EVAL return 0|FLUSHALL|"
         "CONFIG SET maxmemory 1|CONFIG GET masterauth|KEYS *|DEBUG SLEEP 1"},
    };
    const char *command = NULL;
    size_t wrong = 0;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t k = 0; (command = texts_at(rows[i].commands, k)); k++) {
            if (is_allowed(self, rows[i].user, command) == rows[i].may) continue;
            print_message("# %s may %s%s\n", rows[i].user, rows[i].may ? "not " : "", command);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

/* Without a password, and with another one. */
TEST(strangers_are_kept_out, struct fixture *self)
{
    static const char *const logins[] = {"", "seckill:wrong@", "admin:x@", "default:x@", ":x@"};

    for (size_t i = 0; i < sizeof logins / sizeof logins[0]; i++) {
        char url[LINE_SIZE];

        (void)snprintf(url, sizeof url, "redis://%s127.0.0.1:%s", logins[i], self->port);
        lk_reply *reply = app_redis_command(url, "GET seckill:{cup}:stock");
        if (reply) assert_int_equal(lk_reply_type_of(reply), LK_REPLY_ERROR);
        lk_reply_free(reply);
    }
}

/* What it says when it starts with files that are wrong; nothing in them is shown. */
TEST(wrong_secrets_are_named_and_not_shown, struct fixture *self)
{
    char wrong[PATH_SIZE];
    FILE *file = NULL;

    (void)snprintf(wrong, sizeof wrong, "%.100s/wrong", self->dir);
    file = fopen(wrong, "we");
    assert_non_null(file);
    assert_true(fputs("geheim\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    const struct {
        const char *password, *loader;
        int status;
        const char *says;
    } rows[] = {
        {wrong, self->loader, 1, "redis: "},
        {self->password, wrong, 2, "its first line is no USER:PASSWORD"},
        {"/nowhere/p", self->loader, 2, "--redis-password: /nowhere/p: No such file"},
        {self->password, "/nowhere/l", 2, "--redis-loader: /nowhere/l: No such file"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const args[] = {
            "--data",         self->dir,        "--redis",        self->url,     "--redis-password",
            rows[i].password, "--redis-loader", rows[i].loader,   "--log-level", "error",
            "--listen",       "127.0.0.1:0",    "--admin-listen", "127.0.0.1:0", NULL};

        assert_int_equal(app_run("seckilld", args, self->log, sizeof self->log), rows[i].status);
        if (!strstr(self->log, rows[i].says)) fail_msg("%s: %s", rows[i].says, self->log);
        assert_null(strstr(self->log, "geheim"));
    }
}
