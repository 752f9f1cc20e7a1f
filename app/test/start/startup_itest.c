/*
 * Real Redis servers that are unfit, slow or shy, and what seckilld says of them at its start.
 */
#include <sys/resource.h>

#include "lockkit/lockkit.h"

#include "test/support/app_fixture.h"

APP_FOLDER();

/* Start seckilld on a Redis with these settings: exit 1, and one line that says so. */
static void assert_refused(struct app_fixture *self, const char *const *settings, const char *says)
{
    const char *const args[] = {"--listen",    "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
                                "--data",      self->dir,     "--redis",        self->redis.redis,
                                "--log-level", "error",       "--lab",          NULL};
    char line[512];

    assert_true(app_start_redis_with(&self->redis, self->dir, settings));
    assert_int_equal(app_run("seckilld", args, self->out, sizeof self->out), 1);
    (void)snprintf(line, sizeof line, "seckilld: redis: %s\n", says);
    assert_string_equal(self->out, line);
}

TEST(a_redis_that_evicts_is_refused)
{
    assert_refused(
        *state,
        (const char *const[]){"--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru", NULL},
        "maxmemory 52428800 with maxmemory-policy allkeys-lru: orders and locks could be "
        "evicted; set maxmemory-policy noeviction");
}

TEST(a_replica_is_refused)
{
    assert_refused(*state, (const char *const[]){"--replicaof", "127.0.0.1", "1", NULL},
                   "role slave: a replica cannot sell; give --redis the address of its master");
}

TEST(an_evicting_redis_is_found_out_without_config)
{
    assert_refused(*state,
                   (const char *const[]){"--maxmemory", "50mb", "--maxmemory-policy",
                                         "volatile-lru", "--user", "default", "on", "nopass", "~*",
                                         "&*", "+@all", "-config", NULL},
                   "maxmemory 52428800 with maxmemory-policy volatile-lru: orders and locks could "
                   "be evicted; set maxmemory-policy noeviction");
}

TEST(a_password_is_never_shown, struct app_fixture *self)
{
    static const char *const urls[] = {
        "redis://me:geheim@127.0.0.1:1",
        "redis://me:geheim@127.0.0.1:99999",
        "redis+sentinel://me:geheim@127.0.0.1:1,127.0.0.1:2/main",
        "redis+cluster://me:geheim@127.0.0.1:1,127.0.0.1:2",
        "redis+cluster://me:geheim@127.0.0.1:1,,",
        "redis+nothing://me:geheim@127.0.0.1:1",
    };

    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        const char *const args[] = {"--data", self->dir, "--redis", urls[i], "--lab", NULL};

        assert_int_not_equal(app_run("seckilld", args, self->out, sizeof self->out), 0);
        assert_non_null(strstr(self->out, "redis"));
        assert_null(strstr(self->out, "geheim"));
    }
}

/* Start on a Redis with these settings, whose appendfsync we are told to be "no"; what /version and the log then say. */
static void assert_durability(struct app_fixture *self, const char *const *settings,
                              const char *name, const char *meaning)
{
    const char *const args[] = {"--redis", self->redis.redis, "--redis-fsync", "no", NULL};

    assert_true(app_start_redis_with(&self->redis, self->dir, settings));
    assert_true(app_start(&self->service, self->dir, args));
    (void)app_get(self, self->service.admin, "/version");
    assert_string_equal(app_member(&self->reply, "durability"), name);
    assert_non_null(strstr(app_file(self->dir, "seckilld.log"), meaning));
}

/* Address space stands for whatever the system gives too little of. */
TEST(a_start_with_fewer_threads_than_asked_for_fails, struct app_fixture *self)
{
    const char *const args[] = {"--data",      self->dir,        "--lab",       "--listen",
                                "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", NULL};
    struct rlimit usual;
    struct rlimit tight;
    int status = 0;

    assert_int_equal(getrlimit(RLIMIT_AS, &usual), 0);
    tight = (struct rlimit){.rlim_cur = 600 << 20, .rlim_max = usual.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
    status = app_run("seckilld", args, self->out, sizeof self->out);
    assert_int_equal(setrlimit(RLIMIT_AS, &usual), 0);
    assert_int_equal(status, 1);
    assert_non_null(strstr(self->out, " needs 4226 threads, the system gave "));
    assert_non_null(strstr(self->out, "take fewer --connections"));
}

TEST(fsync_always_loses_nothing, struct app_fixture *self)
{
    assert_durability(self, NULL, "appendfsync-always",
                      "appendfsync-always: no accepted order is lost by a crash\n");
    assert_true(strlen(app_member(&self->reply, "redis")) >= 5);
}

TEST(fsync_everysec_can_lose_a_second)
{
    assert_durability(*state, (const char *const[]){"--appendfsync", "everysec", NULL},
                      "appendfsync-everysec",
                      "up to about a second of accepted orders can be lost on a Redis crash\n");
}

TEST(a_redis_that_stores_nothing_is_told_so)
{
    assert_durability(*state, (const char *const[]){"--appendonly", "no", NULL}, "none",
                      "all accepted orders are lost when Redis ends: it stores nothing\n");
}

TEST(snapshots_are_told_apart)
{
    assert_durability(*state,
                      (const char *const[]){"--appendonly", "no", "--save", "3600", "1", NULL},
                      "snapshots", "orders accepted since the last snapshot are lost");
}

TEST(what_redis_does_not_say_we_may_be_told, struct app_fixture *self)
{
    assert_durability(self,
                      (const char *const[]){"--user", "default", "on", "nopass", "~*", "&*",
                                            "+@all", "-config", NULL},
                      "appendfsync-no", "appendfsync-no: accepted orders survive a crash");
}

TEST(a_redis_that_may_not_be_asked_is_unknown_and_serves, struct app_fixture *self)
{
    assert_durability(self,
                      (const char *const[]){"--user", "default", "on", "nopass", "~*", "&*",
                                            "+@all", "-config", "-info", NULL},
                      "unknown", "does not say whether it keeps accepted orders");
    assert_string_equal(app_member(&self->reply, "redis"), "");
    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"cup\",\"stock\":1}"));
    assert_int_equal(app_buy(self->service.buyers, "cup", "anna", NULL, &self->reply), 201);
}

/* Fill a Redis, then start it again with a pause at each key: it is loading for a second or two. */
static void start_loading_redis(struct app_fixture *self)
{
    static const char fill[] = "for i = 1, 2000 do redis.call('SET', 'k' .. i, i) end "
                               "redis.call('SADD', 'seckill:sales', 'x')";
    static const char *const saves[] = {"--appendonly", "no", "--save", "3600", "1", NULL};
    static const char *const slowly[] = {"--appendonly",
                                         "no",
                                         "--save",
                                         "3600",
                                         "1",
                                         "--key-load-delay",
                                         "1000",
                                         "--loading-process-events-interval-bytes",
                                         "1024",
                                         NULL};
    const struct lk_bytes words[] = {LK_BYTES("EVAL"), lk_bytes_of(fill), LK_BYTES("0")};
    lk_client *client = NULL;
    lk_reply *reply = NULL;

    assert_true(app_start_redis_with(&self->redis, self->dir, saves));
    client = lk_client_open(&(struct lk_client_options){.url = self->redis.redis}, NULL);
    assert_non_null(client);
    assert_int_equal(lk_client_call(client, &(struct lk_command){words, 3}, 1, 0, &reply, NULL),
                     LK_OK);
    lk_reply_free(reply);
    lk_client_close(client);
    assert_int_equal(app_stop(&self->redis), 0); /* saves */
    assert_true(app_start_redis_with(&self->redis, self->dir, slowly));
}

TEST(a_redis_that_is_loading_is_waited_for, struct app_fixture *self)
{
    const char *const args[] = {"--redis", self->redis.redis, NULL};

    start_loading_redis(self);
    assert_true(app_start(&self->service, self->dir, args));
    assert_int_equal(app_ask_redis(self->redis.redis, "SCARD", "seckill:sales"), 1);
    assert_non_null(
        strstr(app_file(self->dir, "seckilld.log"), "info redis: loading its data; waiting\n"));
}
