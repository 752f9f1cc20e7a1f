/*
 * /readyz beside real Redis servers that answer and take no writes, and of a service that is told to stop.
 * A rolling restart behind a real proxy is docker/test/g_upgrade_dtest.sh.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lockkit/lockkit.h"

#include "base/clock.h"
#include "test/support/app_fixture.h"
#include "test/support/lk_support.h"

enum {
    SOON_MS = 10000,
    CALL_MS = 3000,
    TOGETHER_MS = 5000, /* a mute server costs 1 s at least: one look after the other, 6 s */
    DRAIN_MS = 3000,
    LOOKERS = 6,
};

APP_FOLDER();

/* ---- Redis --------------------------------------------------------------------------------------- */

static void tell(struct app_fixture *self, const char *command)
{
    lk_reply *reply = app_redis_command(self->redis.redis, command);

    assert_true(reply && lk_reply_type_of(reply) != LK_REPLY_ERROR);
    lk_reply_free(reply);
}

/* How often a SET was executed. */
static long long count_sets(struct app_fixture *self)
{
    lk_reply *reply = app_redis_command(self->redis.redis, "INFO commandstats");
    const char *text = lk_reply_bytes(reply).data;
    const char *at = text ? strstr(text, "cmdstat_set:calls=") : NULL;
    long long number = at ? strtoll(strchr(at, '=') + 1, NULL, 10) : 0;

    lk_reply_free(reply);
    return number;
}

static void start_with(struct app_fixture *self, const char *const *settings)
{
    const char *const args[] = {"--redis", self->redis.redis, NULL};

    assert_true(app_start_redis_with(&self->redis, self->dir, settings));
    assert_true(app_start(&self->service, self->dir, args));
}

struct claim {
    struct app_fixture *self;
    long status;
    const char *body;
};

static bool readiness_is(void *arg)
{
    struct claim *claim = arg;
    struct app_fixture *self = claim->self;

    app_http(
        &(struct app_call){.base = self->service.buyers, .path = "/readyz", .limit_ms = CALL_MS},
        &self->reply);
    bool is_plain = self->reply.status == claim->status && /* for balancers: why is not theirs */
                    strcmp(self->reply.body, claim->status == 200 ? "ready\n" : "not ready\n") == 0;
    app_http(
        &(struct app_call){.base = self->service.admin, .path = "/readyz", .limit_ms = CALL_MS},
        &self->reply);
    return is_plain && self->reply.status == claim->status &&
           strcmp(self->reply.body, claim->body) == 0 &&
           app_metric(self, "seckill_ready") == (claim->status == 200);
}

static void assert_readiness(struct app_fixture *self, long status, const char *body)
{
    struct claim claim = {self, status, body};

    if (!app_eventually(readiness_is, &claim, SOON_MS))
        fail_msg("not %ld %s: %ld %s", status, body, self->reply.status, self->reply.body);
}

TEST(readiness_is_not_counted_while_nobody_asks, struct app_fixture *self)
{
    start_with(self, NULL);
    (void)app_get(self, self->service.admin, "/metrics");
    assert_non_null(strstr(self->reply.body, "# TYPE seckill_ready gauge\n"));
    assert_null(strstr(self->reply.body, "\nseckill_ready "));
}

TEST(a_redis_that_takes_no_writes_is_not_ready, struct app_fixture *self)
{
    static const struct {
        const char *bad, *good, *says;
    } rows[] = {
        {"CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0",
         "store takes no writes: NOREPLICAS\n"},
        {"CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", "store takes no writes: OOM\n"},
        {"REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "store takes no writes: READONLY\n"},
    };

    start_with(self, NULL);
    assert_readiness(self, 200, "ready\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tell(self, rows[i].bad);
        assert_readiness(self, 503, rows[i].says);
        tell(self, rows[i].good);
        assert_readiness(self, 200, "ready\n");
    }
}

/* An order that they do not have is not accepted. */
TEST(replicas_that_orders_wait_for_must_be_there, struct app_fixture *self)
{
    static const char too_few[] = "store takes no writes: NOREPLICAS\n";
    struct lks_server *primary = lks_server_start(&(struct lks_server_options){.is_tcp = true});
    struct lks_server *replica = lks_server_start(&(struct lks_server_options){.is_tcp = true});
    char port[8];

    (void)snprintf(port, sizeof port, "%d", primary->port);
    assert_true(app_start(
        &self->service, self->dir,
        (const char *const[]){"--redis", primary->tcp_url, "--sync-replicas", "1", NULL}));
    assert_readiness(self, 503, too_few);
    LKS_DO(primary, "CONFIG", "SET", "repl-diskless-sync-delay", "0");
    LKS_DO(replica, "REPLICAOF", "127.0.0.1", port);
    assert_readiness(self, 200, "ready\n");
    lks_server_pause(replica);
    assert_readiness(self, 503, too_few);
    lks_server_resume(replica);
    assert_readiness(self, 200, "ready\n");
    lks_server_stop(replica);
    lks_server_stop(primary);
}

TEST(a_redis_whose_snapshot_failed_is_not_ready, struct app_fixture *self)
{
    static const char *const settings[] = {"--save", "3600", "1", NULL};
    char path[APP_PATH_SIZE + 16];

    start_with(self, settings);
    assert_readiness(self, 200, "ready\n");
    (void)snprintf(path, sizeof path, "%s/dump.rdb", self->dir);
    assert_int_equal(mkdir(path, 0700), 0); /* no file is renamed over a folder */
    tell(self, "BGSAVE");
    assert_readiness(self, 503, "store takes no writes: MISCONF\n");
    assert_int_equal(rmdir(path), 0);
    tell(self, "BGSAVE");
    assert_readiness(self, 200, "ready\n");
}

/* A Redis whose append-only file has no room: every write to it fails. */
static void start_on_a_full_disk(struct app_fixture *self, const char *fsync)
{
    const char *const settings[] = {"--appendfsync", fsync, NULL};
    char path[APP_PATH_SIZE + 64];

    (void)snprintf(path, sizeof path, "%s/appendonlydir", self->dir);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/appendonlydir/appendonly.aof.1.incr.aof", self->dir);
    assert_int_equal(symlink("/dev/full", path), 0);
    assert_true(app_start_redis_with(&self->redis, self->dir, settings));
    assert_true(app_start(&self->service, self->dir,
                          (const char *const[]){"--redis", self->redis.redis, NULL}));
}

TEST(a_full_disk_is_found_out_before_a_buyer_does, struct app_fixture *self)
{
    start_on_a_full_disk(self, "everysec");
    assert_readiness(self, 503, "store takes no writes: MISCONF\n");
    assert_true(app_wait(&self->redis, 0) < 0); /* it answers */
}

TEST(with_fsync_always_a_full_disk_ends_redis_and_readiness, struct app_fixture *self)
{
    start_on_a_full_disk(self, "always");
    assert_readiness(self, 503, "store unavailable\n");
    assert_true(app_wait(&self->redis, SOON_MS) >= 0);
}

TEST(many_who_look_are_one_write_a_second, struct app_fixture *self)
{
    int64_t began_ms = 0;
    long long before = 0;

    start_with(self, NULL);
    before = count_sets(self);
    began_ms = clock_mono_ms();
    for (int i = 0; i < 100; i++)
        assert_readiness(self, 200, "ready\n");
    assert_in_range(count_sets(self) - before, 1, 2 + (clock_mono_ms() - began_ms) / 1000);
}

struct looker {
    const char *base;
    long status;
    int64_t took_ms;
};

static void *look_once(void *arg)
{
    struct looker *looker = arg;
    int64_t began_ms = clock_mono_ms();

    looker->status =
        app_status(&(struct app_call){.base = looker->base, .path = "/readyz", .limit_ms = 20000});
    looker->took_ms = clock_mono_ms() - began_ms;
    return NULL;
}

/* Who waits while a mute server is asked does not ask it anew, one after the other. */
TEST(many_who_look_at_a_mute_redis_wait_together, struct app_fixture *self)
{
    struct looker lookers[LOOKERS];
    pthread_t threads[LOOKERS];

    start_with(self, NULL);
    assert_readiness(self, 200, "ready\n");
    clock_pause_ms(1100); /* until that is too old */
    assert_int_equal(kill(self->redis.pid, SIGSTOP), 0);
    for (size_t i = 0; i < LOOKERS; i++) {
        lookers[i] = (struct looker){.base = self->service.buyers};
        assert_int_equal(pthread_create(&threads[i], NULL, look_once, &lookers[i]), 0);
    }
    for (size_t i = 0; i < LOOKERS; i++)
        (void)pthread_join(threads[i], NULL);
    assert_int_equal(kill(self->redis.pid, SIGCONT), 0);
    for (size_t i = 0; i < LOOKERS; i++) {
        assert_int_equal(lookers[i].status, 503);
        assert_in_range(lookers[i].took_ms, 0, TOGETHER_MS);
    }
    assert_readiness(self, 200, "ready\n");
}

/* ---- stopping ------------------------------------------------------------------------------------ */

TEST(told_to_stop_it_goes_on_serving_and_says_so, struct app_fixture *self)
{
    int64_t began_ms = 0;
    const char *base = NULL;

    app_fixture_start_on_redis(self, (const char *const[]){"--drain-ms", "3000", NULL});
    base = self->service.buyers;
    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"cup\",\"stock\":50}"));
    assert_readiness(self, 200, "ready\n");
    began_ms = clock_mono_ms();
    assert_int_equal(kill(self->service.pid, SIGTERM), 0);
    assert_readiness(self, 503, "stopping\n");
    app_buy(base, "cup", "ann", NULL, &self->reply); /* a connection of its own */
    assert_int_equal(self->reply.status, 201);
    assert_non_null(strstr(self->reply.headers, "Connection: close"));
    assert_int_equal(app_wait(&self->service, SOON_MS), 0);
    assert_true(clock_mono_ms() - began_ms >= DRAIN_MS);
}
