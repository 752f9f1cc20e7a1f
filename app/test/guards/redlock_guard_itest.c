/*
 * The guard redlock: a sale under a lock of three independent servers. One of them may be down, two
 * may not; whatever they do, the books are right. And where it cannot run, that is said.
 */
#include <pthread.h>

#include "test/support/app_topology.h"

enum { SERVERS = 3, SOON_MS = 10000, OUT_SIZE = 4096, URLS_SIZE = 512 };

struct fixture {
    struct lks_server *servers[SERVERS];
    struct app_process redis;    /* where the stock is */
    struct app_topology with;    /* an instance with --redlock */
    struct app_topology without; /* another one, on the same Redis */
    char urls[URLS_SIZE];
    char out[OUT_SIZE];
};

static struct fixture fixture;

static void join_urls(const size_t *places, size_t count)
{
    size_t len = 0;

    for (size_t i = 0; i < count; i++)
        len += (size_t)snprintf(fixture.urls + len, sizeof fixture.urls - len, "%s%s",
                                i > 0 ? "," : "", fixture.servers[places[i]]->tcp_url);
    assert_true(len < sizeof fixture.urls);
}

BEFORE_EACH()
{
    static const size_t all[SERVERS] = {0, 1, 2};

    fixture = (struct fixture){0};
    for (size_t i = 0; i < SERVERS; i++)
        fixture.servers[i] = lks_server_start(&(struct lks_server_options){.is_tcp = true});
    join_urls(all, SERVERS);
    app_topology_begin(&fixture.with);
    assert_true(app_start_redis(&fixture.redis, fixture.with.dir));
    app_topology_begin(&fixture.without);
}

AFTER_EACH()
{
    app_topology_end(&fixture.without);
    (void)app_stop(&fixture.with.service);
    (void)app_stop(&fixture.redis);
    app_topology_end(&fixture.with);
    for (size_t i = 0; i < SERVERS; i++)
        lks_server_stop(fixture.servers[i]);
}

/* Both instances on one Redis; only the first has the servers. */
static void start_instances(void)
{
    const char *const with[] = {"--redis", fixture.redis.redis, "--redlock", fixture.urls, NULL};
    const char *const without[] = {"--redis", fixture.redis.redis, NULL};

    assert_true(app_start(&fixture.with.service, fixture.with.dir, with));
    assert_true(app_start(&fixture.without.service, fixture.without.dir, without));
}

TEST(with_one_server_down_it_sells_and_with_two_it_does_not)
{
    struct app_topology *shop = &fixture.with;

    start_instances();
    assert_int_equal(app_topology_create(shop, "cup", 4, "redlock"), 201);
    assert_int_equal(app_topology_buy(shop, "cup", "ann", "k"), 201);
    assert_int_equal(app_topology_buy(shop, "cup", "ann", "k"), 201);
    lks_server_kill(fixture.servers[1]);
    assert_int_equal(app_topology_buy(shop, "cup", "bob", NULL), 201);
    lks_server_kill(fixture.servers[2]);
    assert_int_equal(app_topology_buy(shop, "cup", "cid", NULL), 503);
    assert_true(app_is_problem(&shop->reply, 503, "store-unavailable"));
    assert_int_equal(app_topology_look_up(shop, "cup", "cid"), 404); /* surely not executed */
    lks_server_restart(fixture.servers[1]);
    LKS_EVENTUALLY(app_topology_buy(shop, "cup", "cid", NULL) == 201, SOON_MS);
    LKS_EVENTUALLY(app_topology_buy(shop, "cup", "dan", NULL) == 201, SOON_MS);
    assert_int_equal(app_topology_buy(shop, "cup", "eve", NULL), 409);
    app_topology_assert_books(shop, "cup", 4, 0);
    assert_true(app_topology_metric(
                    shop, "seckill_orders_total{guard=\"redlock\",outcome=\"created\"}") == 4);
    assert_true(app_topology_metric(shop, "seckill_lock_hold_seconds_count{guard=\"redlock\"}") >=
                4);
}

TEST(a_server_that_hangs_costs_nothing)
{
    struct app_topology *shop = &fixture.with;
    char user[16];

    start_instances();
    assert_int_equal(app_topology_create(shop, "cup", 50, "redlock"), 201);
    lks_server_pause(fixture.servers[0]);
    double began_ms = lks_now_ms();
    for (unsigned i = 0; i < 20; i++) {
        (void)snprintf(user, sizeof user, "u%u", i);
        assert_int_equal(app_topology_buy(shop, "cup", user, NULL), 201);
    }
    double took_ms = lks_now_ms() - began_ms;
    print_message("# 20 purchases in %.0f ms beside a server that hangs\n", took_ms);
    assert_true(took_ms < 3500); /* 20 waits for it would be 4000 */
    lks_server_resume(fixture.servers[0]);
    app_topology_assert_books(shop, "cup", 20, 30);
}

TEST(while_somebody_holds_a_majority_nothing_is_sold)
{
    struct app_topology *shop = &fixture.with;

    start_instances();
    assert_int_equal(app_topology_create(shop, "cup", 2, "redlock"), 201);
    for (size_t i = 0; i < 2; i++)
        LKS_DO(fixture.servers[i], "SET", "seckill:{cup}:lock", "another's", "PX", "60000");
    assert_int_equal(app_topology_buy(shop, "cup", "ann", NULL), 503);
    assert_true(app_is_problem(&shop->reply, 503, "lock-timeout"));
    LKS_DO(fixture.servers[1], "DEL", "seckill:{cup}:lock");
    LKS_EVENTUALLY(app_topology_buy(shop, "cup", "ann", NULL) == 201, SOON_MS);
    app_topology_assert_books(shop, "cup", 1, 1);
}

static void *buy_for_ann(void *arg)
{
    app_buy(fixture.with.service.buyers, "cup", "ann", NULL, arg);
    return NULL;
}

/* Its lease has ended amid its sell, and the other one has sold: the script, not the lock, decides. */
TEST(a_holder_that_pauses_past_its_lease_sells_no_unit_twice)
{
    enum { PAUSE_MS = 2500 };
    static struct app_reply ann;
    const char *const pausing[] = {
        "--redis", fixture.redis.redis, "--redlock", fixture.urls,    "--lab-pause",
        "2500",    "--lease-ms",        "1000",      "--deadline-ms", "20000",
        NULL};
    const char *const other[] = {"--redis", fixture.redis.redis, "--redlock", fixture.urls, NULL};
    pthread_t thread;

    assert_true(app_start(&fixture.with.service, fixture.with.dir, pausing));
    assert_true(app_start(&fixture.without.service, fixture.without.dir, other));
    assert_int_equal(app_topology_create(&fixture.with, "cup", 1, "redlock"), 201);
    double began_ms = lks_now_ms();
    assert_int_equal(pthread_create(&thread, NULL, buy_for_ann, &ann), 0);
    LKS_EVENTUALLY(LKS_INTEGER(fixture.servers[0], "EXISTS", "seckill:{cup}:lock") == 1, SOON_MS);
    LKS_EVENTUALLY(app_topology_buy(&fixture.without, "cup", "bob", NULL) == 201, SOON_MS);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(lks_now_ms() - began_ms >= PAUSE_MS);
    assert_true(app_is_problem(&ann, 409, "sold-out"));
    app_topology_assert_books(&fixture.without, "cup", 1, 0);
}

TEST(an_instance_without_servers_says_so)
{
    start_instances();
    assert_int_equal(app_topology_create(&fixture.without, "pot", 1, "redlock"), 403);
    assert_true(app_is_problem(&fixture.without.reply, 403, "forbidden"));
    assert_string_equal(app_member(&fixture.without.reply, "field"), "guard");
    assert_non_null(strstr(app_member(&fixture.without.reply, "detail"), "--redlock"));
    assert_int_equal(app_topology_create(&fixture.with, "cup", 1, "redlock"), 201);
    assert_int_equal(app_topology_buy(&fixture.without, "cup", "ann", NULL), 503);
    assert_true(app_is_problem(&fixture.without.reply, 503, "store-unavailable"));
    assert_non_null(strstr(app_member(&fixture.without.reply, "detail"), "--redlock"));
    assert_true(app_topology_metric(
                    &fixture.without,
                    "seckill_orders_total{guard=\"unknown\",outcome=\"guard-unavailable\"}") == 1);
    assert_int_equal(app_topology_buy(&fixture.with, "cup", "ann", NULL), 201);
}

static void assert_refused(const char *says)
{
    const char *const args[] = {"--listen",       "127.0.0.1:0",
                                "--admin-listen", "127.0.0.1:0",
                                "--data",         fixture.without.dir,
                                "--redis",        fixture.redis.redis,
                                "--redlock",      fixture.urls,
                                "--log-level",    "error",
                                "--lab",          NULL};

    assert_int_equal(app_run("seckilld", args, fixture.out, sizeof fixture.out), 2);
    assert_int_equal(strncmp(fixture.out, "seckilld: --redlock: ", 21), 0);
    if (!strstr(fixture.out, says)) fail_msg("%s", fixture.out);
}

TEST(servers_that_make_no_redlock_are_refused_at_the_start)
{
    static const size_t even[] = {0, 1};
    static const size_t twice[] = {0, 1, 0};

    join_urls(even, 2);
    assert_refused("odd");
    join_urls(twice, 3);
    assert_refused("twice");
    (void)snprintf(fixture.urls, sizeof fixture.urls, "redis://me:geheim@127.0.0.1:99999");
    assert_refused("port");
    assert_null(strstr(fixture.out, "geheim"));
    (void)snprintf(fixture.urls, sizeof fixture.urls, "redis://127.0.0.1:1,,redis://127.0.0.1:2");
    assert_refused("");
}

/* Neither in the ready line nor in the log; and with them it sells. */
TEST(passwords_are_used_and_not_shown)
{
    struct lks_server *locked =
        lks_server_start(&(struct lks_server_options){.is_tcp = true, .password = "geheim"});
    char url[APP_URL_SIZE];
    const char *const args[] = {"--redis", url, "--redlock", url, "--log-level", "debug", NULL};

    (void)snprintf(url, sizeof url, "redis://:geheim@127.0.0.1:%d", locked->port);
    assert_true(app_start(&fixture.with.service, fixture.with.dir, args));
    assert_null(strstr(fixture.with.service.redis, "geheim"));
    assert_int_equal(app_topology_create(&fixture.with, "cup", 1, "redlock"), 201);
    assert_int_equal(app_topology_buy(&fixture.with, "cup", "ann", NULL), 201);
    (void)app_stop(&fixture.with.service);
    const char *log = app_file(fixture.with.dir, "seckilld.log");
    assert_non_null(strstr(log, "cup"));
    assert_null(strstr(log, "geheim"));
    lks_server_stop(locked);
}

/* That of the file is for the URLs that have none. */
TEST(a_server_may_have_a_password_of_its_own)
{
    struct lks_server *stock =
        lks_server_start(&(struct lks_server_options){.is_tcp = true, .password = "geheim"});
    struct lks_server *other =
        lks_server_start(&(struct lks_server_options){.is_tcp = true, .password = "anders"});
    char urls[2][APP_URL_SIZE];
    char path[APP_PATH_SIZE + 16];
    const char *const args[] = {"--redis", urls[0], "--redis-password", path, "--redlock",
                                urls[1],   NULL};

    (void)snprintf(urls[0], sizeof urls[0], "redis://127.0.0.1:%d", stock->port);
    (void)snprintf(urls[1], sizeof urls[1], "redis://:anders@127.0.0.1:%d", other->port);
    (void)snprintf(path, sizeof path, "%s/password", fixture.with.dir);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    (void)fputs("geheim\n", file);
    (void)fclose(file);
    assert_true(app_start(&fixture.with.service, fixture.with.dir, args));
    assert_int_equal(app_topology_create(&fixture.with, "cup", 1, "redlock"), 201);
    assert_int_equal(app_topology_buy(&fixture.with, "cup", "ann", NULL), 201);
    (void)app_stop(&fixture.with.service);
    lks_server_stop(other);
    lks_server_stop(stock);
}
