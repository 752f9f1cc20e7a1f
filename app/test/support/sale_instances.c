/*
 * See sale_instances.h. The main thread; buying, any.
 */
#include "sale_instances.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/testing.h"

void sale_instances_close(struct sale_world *world)
{
    for (size_t i = 0; i < SALE_INSTANCES; i++) {
        group_commit_free(world->shops[i].group);
        store_free(world->shops[i].store);
        lk_client_close(world->shops[i].client);
        world->shops[i] = (struct sale_instance){0};
    }
}

void sale_world_empty(struct sale_world *world)
{
    static const char *const commands[] = {"REPLICAOF NO ONE",
                                           "CONFIG SET replica-serve-stale-data yes",
                                           "CONFIG SET maxmemory 0", "FLUSHALL"};

    if (world->server.pid) sale_server_thaw(&world->server);
    sale_instances_close(world);
    if (!world->server.pid) assert_true(sale_server_restart(&world->server));
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        assert_true(sale_do(world->client, "%s", commands[i]));
}

static void open_shop(struct sale_world *world, struct sale_instance *shop, const char *name,
                      const struct group_commit_options *options)
{
    struct group_commit_options own = *options;

    own.client = shop->client =
        sale_connect(&world->server, 16, world->answer_ms ? world->answer_ms : SALE_GENEROUS_MS);
    assert_non_null(shop->client);
    own.store = shop->store = store_new(shop->client, name, NULL);
    assert_non_null(shop->store);
    own.instance = name;
    own.lab = true;
    own.servers = &world->servers;
    if (!own.dir) own.dir = world->server.dir; /* the shops are on one host */
    if (own.queue_max == 0) own.queue_max = 1000;
    if (own.lease_ms == 0) own.lease_ms = 3000;
    if (own.deadline_ms == 0) own.deadline_ms = 20000;
    shop->group = group_commit_new(&own);
    assert_non_null(shop->group);
}

void sale_instances_open(struct sale_world *world, const char *guard, int64_t units,
                         const struct group_commit_options *options)
{
    struct sale sale = {.id = "s", .title = "t", .initial = units};

    sale_world_empty(world);
    open_shop(world, &world->shops[0], "first", options);
    open_shop(world, &world->shops[1], "second", options);
    world->answer_ms = 0;
    (void)snprintf(sale.guard, sizeof sale.guard, "%s", guard);
    assert_int_equal(store_create_sale(world->shops[0].store, &sale, NULL), STORE_OK);
}

struct purchase sale_instances_buy_in(struct sale_world *world, size_t shop, const char *buyer,
                                      const char *key)
{
    struct purchase purchase = {.buyer = buyer, .key = key, .outcome = OUTCOME_COUNT};

    (void)group_commit_sell(world->shops[shop].group, "s", &purchase);
    return purchase;
}

struct purchase sale_instances_buy(struct sale_world *world, const char *buyer, const char *key)
{
    return sale_instances_buy_in(world, 0, buyer, key);
}

void sale_instances_expect(struct sale_world *world, const char *buyer, outcome expected)
{
    const char *told = sale_outcome_name(sale_instances_buy(world, buyer, "").outcome);

    if (strcmp(told, sale_outcome_name(expected)) != 0)
        fail_msg("%s: %s, not %s", buyer, told, sale_outcome_name(expected));
}

int64_t sale_number(struct sale_world *world, const char *command)
{
    return sale_ask_number(world->client, "%s", command);
}

void sale_books_are(struct sale_world *world, int64_t orders, int64_t left, int64_t entries)
{
    assert_int_equal(sale_number(world, "HLEN seckill:{s}:orders"), orders);
    assert_int_equal(sale_number(world, "GET seckill:{s}:stock"), left);
    assert_int_equal(sale_number(world, "XLEN seckill:{s}:ledger"), entries);
}

int sale_world_open(void **state)
{
    struct sale_world *world = calloc(1, sizeof *world);

    if (!world) return -1;
    *state = world;
    sale_keys_make("s", &world->keys);
    if (!sale_server_start(&world->server)) return -1;
    world->client = sale_connect(&world->server, 4, SALE_GENEROUS_MS);
    return world->client ? 0 : -1;
}

int sale_world_close(void **state)
{
    struct sale_world *world = *state;

    sale_instances_close(world);
    lk_client_close(world->client);
    sale_server_remove(&world->server);
    free(world);
    return 0;
}
