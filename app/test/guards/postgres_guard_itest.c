/*
 * Guards with a PostgreSQL: while it is away nothing is sold, and what is sold is right; where it was not
 * named, that is said.
 */
#include "test/postgres/lk_postgres.h"
#include "test/support/app_topology.h"

enum { SOON_MS = 10000 };

static struct {
    struct lkp_server *postgres;
    struct app_process redis;
    struct app_topology with;    /* an instance with --postgres */
    struct app_topology without; /* another one, on the same Redis */
} fixture;

BEFORE_EACH()
{
    fixture.postgres = lkp_server_start();
    app_topology_begin(&fixture.with);
    app_topology_begin(&fixture.without);
    assert_true(app_start_redis(&fixture.redis, fixture.with.dir));
    const char *const with[] = {"--redis", fixture.redis.redis, "--postgres", fixture.postgres->url,
                                NULL};
    const char *const without[] = {"--redis", fixture.redis.redis, NULL};
    assert_true(app_start(&fixture.with.service, fixture.with.dir, with));
    assert_true(app_start(&fixture.without.service, fixture.without.dir, without));
}

AFTER_EACH()
{
    app_topology_end(&fixture.without);
    (void)app_stop(&fixture.with.service);
    (void)app_stop(&fixture.redis);
    app_topology_end(&fixture.with);
    lkp_server_stop(fixture.postgres);
}

static const char *const guards[] = {"postgres", "database", "skip-locked"};

static void sell_before_while_and_after(const char *guard)
{
    struct app_topology *shop = &fixture.with;

    assert_int_equal(app_topology_create(shop, guard, 3, guard), 201);
    assert_int_equal(app_topology_buy(shop, guard, "ann", "k"), 201);
    lkp_server_kill(fixture.postgres);
    assert_int_equal(app_topology_buy(shop, guard, "bob", NULL), 503);
    assert_true(app_is_problem(&shop->reply, 503, "store-unavailable"));
    assert_int_equal(app_topology_look_up(shop, guard, "bob"), 404); /* surely not executed */
    lkp_server_restart(fixture.postgres);
    LKS_EVENTUALLY(app_topology_buy(shop, guard, "bob", NULL) == 201, SOON_MS);
    assert_int_equal(app_topology_buy(shop, guard, "ann", "k"), 201); /* replayed */
    assert_int_equal(app_topology_step(shop, guard, "restock", "{\"units\":1}"), 200);
    assert_int_equal(app_topology_buy(shop, guard, "cid", NULL), 201);
    LKS_EVENTUALLY(app_topology_buy(shop, guard, "dan", NULL) == 201, SOON_MS); /* it cools */
    assert_int_equal(app_topology_buy(shop, guard, "eve", NULL), 409);
    app_topology_assert_books(shop, guard, 4, 0);
}

TEST(while_it_is_away_nothing_is_sold)
{
    for (size_t i = 0; i < sizeof guards / sizeof guards[0]; i++)
        sell_before_while_and_after(guards[i]);
}

/* As an instance that was killed leaves it: decided there, and not recorded in Redis. */
static void decide_and_die(const char *guard)
{
    static const char of_stock[] = "UPDATE seckill.sale SET stock = stock - 1"
                                   " WHERE name LIKE 'database/%' RETURNING name";
    static const char of_units[] =
        "DELETE FROM seckill.unit WHERE ctid = (SELECT min(ctid) FROM seckill.unit) RETURNING sale";
    (void)lkp_ask(fixture.postgres,
                  "WITH taken (sale) AS (%s) INSERT INTO seckill.orders (sale, buyer, id, process,"
                  " attempt) SELECT sale, 'lost', '77', 'gone', 1 FROM taken",
                  strcmp(guard, "database") == 0 ? of_stock : of_units);
}

static void nobody_is_told_sold_out(const char *guard)
{
    struct app_topology *shop = &fixture.with;

    assert_int_equal(app_topology_create(shop, guard, 2, guard), 201);
    assert_int_equal(app_topology_buy(shop, guard, "ann", NULL), 201);
    decide_and_die(guard);
    assert_int_equal(app_topology_buy(shop, guard, "bob", NULL), 503);
    assert_true(app_is_problem(&shop->reply, 503, "lock-timeout"));
    LKS_EVENTUALLY(app_topology_buy(shop, guard, "bob", NULL) == 201, SOON_MS);
    assert_int_equal(app_topology_buy(shop, guard, "cid", NULL), 409);
    app_topology_assert_books(shop, guard, 2, 0);
}

TEST(nobody_is_told_sold_out_while_a_unit_may_come_back)
{
    for (size_t i = 1; i < sizeof guards / sizeof guards[0]; i++)
        nobody_is_told_sold_out(guards[i]);
}

/* The tables are made as soon as there is a server for them. */
TEST(it_may_be_away_also_at_the_start)
{
    const char *const args[] = {"--redis", fixture.redis.redis, "--postgres", fixture.postgres->url,
                                NULL};

    (void)lkp_ask(fixture.postgres, "DROP SCHEMA lockkit CASCADE");
    lkp_server_kill(fixture.postgres);
    (void)app_stop(&fixture.without.service);
    assert_true(app_start(&fixture.without.service, fixture.without.dir, args));
    for (size_t i = 0; i < sizeof guards / sizeof guards[0]; i++)
        assert_int_equal(app_topology_create(&fixture.without, guards[i], 1, guards[i]), 201);
    assert_int_equal(app_topology_buy(&fixture.without, guards[0], "ann", NULL), 503);
    lkp_server_restart(fixture.postgres);
    for (size_t i = 0; i < sizeof guards / sizeof guards[0]; i++)
        LKS_EVENTUALLY(app_topology_buy(&fixture.without, guards[i], "ann", NULL) == 201, SOON_MS);
}

TEST(an_instance_without_it_says_so)
{
    for (size_t i = 0; i < sizeof guards / sizeof guards[0]; i++) {
        assert_int_equal(app_topology_create(&fixture.without, "pot", 1, guards[i]), 403);
        assert_non_null(strstr(app_member(&fixture.without.reply, "detail"), "--postgres"));
        assert_int_equal(app_topology_create(&fixture.with, guards[i], 1, guards[i]), 201);
        assert_int_equal(app_topology_buy(&fixture.without, guards[i], "ann", NULL), 503);
        assert_non_null(strstr(app_member(&fixture.without.reply, "detail"), "--postgres"));
        assert_int_equal(app_topology_buy(&fixture.with, guards[i], "ann", NULL), 201);
    }
}
