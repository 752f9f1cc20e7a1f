/*
 * Two instances of the selling core (client, store, group commit) on one server, and a sale "s".
 */
#ifndef SECKILL_SALE_SHOPS_H
#define SECKILL_SALE_SHOPS_H

#include "sale/sale_keys.h"
#include "sale_support.h"
#include "sell/group_commit.h"
#include "store/store.h"

enum { SALE_SHOPS = 2 };

struct sale_shop {
    lk_client *client;
    struct store *store;
    struct group_commit *group;
};

struct sale_world {
    struct sale_server server;
    lk_client *client;     /* the test's own */
    struct sale_keys keys; /* of sale "s" */
    int64_t answer_ms;     /* of the shops' clients; 0: generous */
    struct sale_shop shops[SALE_SHOPS];
};

/* cmocka's set-up and tear-down of a whole program: the server, and no shops yet. */
int sale_world_open(void **state);
int sale_world_close(void **state);

/*
 * Empty the server, open the shops anew, and put up sale "s" with these units and that guard. Of the
 * options those about clients are set here; queue, lease and deadline are generous unless given.
 */
bool sale_shops_open(struct sale_world *world, const char *guard, int64_t units,
                     const struct group_commit_options *options);

/* Buy in the first shop; the outcome is in the result. */
struct purchase sale_shops_buy(struct sale_world *world, const char *buyer, const char *key);

#endif
