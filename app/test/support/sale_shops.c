/*
 * See sale_shops.h. The main thread; buying, any.
 */
#include "sale_shops.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static void close_shops(struct sale_world *world)
{
    for (size_t i = 0; i < SALE_SHOPS; i++) {
        group_commit_free(world->shops[i].group);
        store_free(world->shops[i].store);
        lk_client_close(world->shops[i].client);
        world->shops[i] = (struct sale_shop){0};
    }
}

static bool open_shop(const struct sale_world *world, struct sale_shop *shop, const char *name,
                      const struct group_commit_options *options)
{
    struct group_commit_options own = *options;

    shop->client =
        sale_connect(&world->server, 16, world->answer_ms ? world->answer_ms : SALE_GENEROUS_MS);
    if (!shop->client) return false;
    shop->store = store_new(shop->client, name, NULL);
    if (!shop->store) return false;
    own.client = shop->client;
    own.store = shop->store;
    own.instance = name;
    own.lab = true;
    if (!own.dir) own.dir = world->server.dir; /* the shops are on one host */
    if (own.queue_max == 0) own.queue_max = 1000;
    if (own.lease_ms == 0) own.lease_ms = 3000;
    if (own.deadline_ms == 0) own.deadline_ms = 20000;
    shop->group = group_commit_new(&own);
    return shop->group != NULL;
}

bool sale_shops_open(struct sale_world *world, const char *guard, int64_t units,
                     const struct group_commit_options *options)
{
    static const char *const names[SALE_SHOPS] = {"first", "second"};
    struct sale sale = {.id = "s", .title = "t", .initial = units};

    close_shops(world);
    if (!sale_do(world->client, "CONFIG SET maxmemory 0")) return false;
    if (!sale_do(world->client, "FLUSHALL")) return false;
    for (size_t i = 0; i < SALE_SHOPS; i++) {
        if (!open_shop(world, &world->shops[i], names[i], options)) return false;
    }
    (void)snprintf(sale.guard, sizeof sale.guard, "%s", guard);
    return store_create_sale(world->shops[0].store, &sale, NULL) == STORE_OK;
}

struct purchase sale_shops_buy(struct sale_world *world, const char *buyer, const char *key)
{
    struct purchase purchase = {.buyer = buyer, .key = key, .outcome = OUTCOME_COUNT};

    (void)group_commit_sell(world->shops[0].group, "s", &purchase);
    return purchase;
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

    close_shops(world);
    lk_client_close(world->client);
    sale_server_remove(&world->server);
    free(world);
    return 0;
}
