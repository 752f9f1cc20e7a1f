/*
 * seckilld --lab-pause, and what it is for: flawed guards in processes of their own. While a sell of
 * one instance pauses, another instance sells, or the first is killed.
 */
#include <pthread.h>

#include "test/support/app_support.h"
#include "test/support/sale_support.h"
#include "test/support/testing.h"

#define PAUSE    "3000"
#define FOR_AGES "600000"

enum { PATIENCE_MS = 20000, OUT_SIZE = 8192 };

/* Instances: one that pauses, one on another host, one on the same, one that pauses till it is killed. */
enum { PAUSING, ELSEWHERE, BESIDE, DOOMED, INSTANCES };

static struct {
    char dir[2][APP_PATH_SIZE]; /* of two hosts */
    struct app_process redis;
    struct app_process instance[INSTANCES];
    lk_client *client;
} world;

BEFORE_ALL()
{
    static const struct {
        size_t host;
        const char *flags[5];
    } rows[INSTANCES] = {
        [PAUSING] = {0, {"--lab-pause", PAUSE, "--deadline-ms", "20000", NULL}},
        [ELSEWHERE] = {1, {"--deadline-ms", "1000", NULL}},
        [BESIDE] = {0, {"--deadline-ms", "20000", NULL}},
        [DOOMED] = {0, {"--lab-pause", FOR_AGES, "--lease-ms", "1500", NULL}},
    };

    for (size_t i = 0; i < 2; i++)
        app_folder_make(world.dir[i]);
    assert_true(app_start_redis(&world.redis, world.dir[0]));
    world.client = lk_client_open(&(struct lk_client_options){.url = world.redis.redis}, NULL);
    for (size_t i = 0; i < INSTANCES; i++) {
        const char *args[8] = {"--redis", world.redis.redis};

        memcpy(args + 2, rows[i].flags, sizeof rows[i].flags);
        assert_true(app_start(&world.instance[i], world.dir[rows[i].host], args));
    }
    assert_true(world.client);
}

AFTER_ALL()
{
    for (size_t i = 0; i < INSTANCES; i++)
        (void)app_stop(&world.instance[i]);
    lk_client_close(world.client);
    (void)app_stop(&world.redis);
    for (size_t i = 0; i < 2; i++)
        app_folder_remove(world.dir[i]);
}

static void put_up(const char *sale, const char *guard)
{
    char body[160];

    (void)snprintf(body, sizeof body,
                   "{\"id\":\"%s\",\"title\":\"t\",\"stock\":1,\"guard\":\"%s\"}", sale, guard);
    assert_true(app_create_sale(&world.instance[BESIDE], world.dir[0], body));
}

struct buyer {
    pthread_t thread;
    const char *name;
    const char *sale;
    int instance;
    struct app_reply reply;
};

static void *buy(void *arg)
{
    struct buyer *buyer = arg;
    char path[64];

    (void)snprintf(path, sizeof path, "/api/v1/sales/%s/orders", buyer->sale);
    app_http(&(struct app_call){.method = "POST",
                                .base = world.instance[buyer->instance].buyers,
                                .path = path,
                                .user = buyer->name,
                                .limit_ms = PATIENCE_MS},
             &buyer->reply);
    return NULL;
}

static void send(struct buyer *buyer)
{
    assert_int_equal(pthread_create(&buyer->thread, NULL, buy, buyer), 0);
}

static void await(struct buyer *buyer)
{
    assert_int_equal(pthread_join(buyer->thread, NULL), 0);
}

static int64_t ask(const char *command, const char *sale, const char *key)
{
    return sale_ask_number(world.client, "%s seckill:{%s}:%s", command, sale, key);
}

/* How often somebody has read the ledger's length, as guards by hand do: they read, then they pause. */
static int64_t readings(void)
{
    lk_reply *info = sale_ask(world.client, "INFO commandstats");
    const char *text = info ? lk_reply_bytes(info).data : NULL;
    const char *calls = text ? strstr(text, "cmdstat_xlen:calls=") : NULL;
    int64_t count = calls ? strtoll(strchr(calls, '=') + 1, NULL, 10) : 0;

    lk_reply_free(info);
    return count;
}

static bool have_read(void *arg)
{
    const int64_t *wanted = arg;

    return readings() >= *wanted;
}

/* A lock of the process, and one of the host, while another process and another host sell. */
TEST(a_lock_that_others_do_not_see_oversells)
{
    static struct buyer anns[] = {{.name = "ann", .sale = "of-process", .instance = PAUSING},
                                  {.name = "ann", .sale = "of-host", .instance = PAUSING},
                                  {.name = "ann", .sale = "same-host", .instance = PAUSING}};
    static struct buyer bobs[] = {{.name = "bob", .sale = "of-process", .instance = ELSEWHERE},
                                  {.name = "bob", .sale = "of-host", .instance = ELSEWHERE},
                                  {.name = "bob", .sale = "same-host", .instance = BESIDE}};
    static const long bob_gets[] = {201, 201, 409};
    int64_t wanted = 0;

    put_up("of-process", "thread");
    put_up("of-host", "file");
    put_up("same-host", "file");
    wanted = readings() + 3;
    for (size_t i = 0; i < 3; i++)
        send(&anns[i]);
    assert_true(app_eventually(have_read, &wanted, PATIENCE_MS)); /* all three pause now */
    for (size_t i = 0; i < 3; i++)
        send(&bobs[i]);
    for (size_t i = 0; i < 3; i++) {
        await(&anns[i]);
        await(&bobs[i]);
        assert_int_equal(anns[i].reply.status, 201);
        assert_int_equal(bobs[i].reply.status, bob_gets[i]);
        assert_int_equal(ask("HLEN", anns[i].sale, "orders"), bob_gets[i] == 201 ? 2 : 1);
    }
    assert_true(app_is_problem(&bobs[2].reply, 409, "sold-out"));
}

static bool is_locked(void *arg)
{
    return ask("EXISTS", arg, "lock") == 1;
}

static bool is_free(void *arg)
{
    return !is_locked(arg);
}

/* Killed while it holds the lock: two are stuck for ever, the one with a lease is not. */
TEST(a_lock_without_an_end_is_stuck_when_its_holder_is_killed)
{
    static char sales[][16] = {"setnx", "setnx-expire", "set-del"};
    static struct buyer anns[3];
    static struct buyer bob;

    for (size_t i = 0; i < 3; i++) {
        put_up(sales[i], sales[i]);
        anns[i] = (struct buyer){.name = "ann", .sale = sales[i], .instance = DOOMED};
        send(&anns[i]);
    }
    for (size_t i = 0; i < 3; i++)
        assert_true(app_eventually(is_locked, sales[i], PATIENCE_MS));
    app_kill(&world.instance[DOOMED]);
    for (size_t i = 0; i < 3; i++) {
        await(&anns[i]);
        assert_int_equal(anns[i].reply.status, 0); /* told nothing */
    }
    assert_true(app_eventually(is_free, sales[2], PATIENCE_MS));
    for (size_t i = 0; i < 3; i++) {
        bob = (struct buyer){.name = "bob", .sale = sales[i], .instance = ELSEWHERE};
        (void)buy(&bob);
        if (i < 2) {
            assert_true(app_is_problem(&bob.reply, 503, "lock-timeout"));
            assert_int_equal(ask("PTTL", sales[i], "lock"), -1); /* for ever */
            assert_int_equal(ask("GET", sales[i], "stock"), 1);
        } else {
            assert_int_equal(bob.reply.status, 201);
        }
    }
}
