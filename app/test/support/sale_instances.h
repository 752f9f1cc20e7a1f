/*
 * Two instances of the selling core (client, store, group commit) on one server, and a sale "s".
 */
#ifndef SECKILL_SALE_INSTANCES_H
#define SECKILL_SALE_INSTANCES_H

#include "sale/sale_keys.h"
#include "sale_support.h"
#include "sell/group_commit.h"
#include "store/store.h"

enum { SALE_INSTANCES = 2 };

struct sale_instance {
    lk_client *client;
    struct store *store;
    struct group_commit *group;
};

struct sale_world {
    struct sale_server server;
    lk_client *client;     /* the test's own */
    struct sale_keys keys; /* of sale "s" */
    int64_t answer_ms;     /* of the clients of the next shops; 0: generous */
    struct sale_instance shops[SALE_INSTANCES];
    struct guard_servers servers; /* the shops' guards may need them (sale_postgres.h) */
};

/* cmocka's set-up and tear-down of a whole program: the server, and no shops yet. */
int sale_world_open(void **state);
int sale_world_close(void **state);
/* No shops, an empty server that answers: also after a test that failed and left it stopped, or a replica. */
void sale_world_empty(struct sale_world *world);

/*
 * Empty the world, open the shops anew, and put up sale "s" with these units and that guard. Of the
 * options those about clients are set here; queue, lease and deadline are generous unless given.
 */
void sale_instances_open(struct sale_world *world, const char *guard, int64_t units,
                         const struct group_commit_options *options);
void sale_instances_close(struct sale_world *world);
/* SALE_INSTANCES(world, "mutex", 9, .batch = 8) */
#define SALE_INSTANCES(world, guard, units, ...)                                                   \
    sale_instances_open((world), (guard), (units), &(struct group_commit_options){__VA_ARGS__})

/* Buy in a shop, or in the first; the outcome is in the result. */
struct purchase sale_instances_buy_in(struct sale_world *world, size_t shop, const char *buyer,
                                      const char *key);
struct purchase sale_instances_buy(struct sale_world *world, const char *buyer, const char *key);
/* The same without a key; fail unless that comes of it. */
void sale_instances_expect(struct sale_world *world, const char *buyer, outcome expected);
/* A command whose answer is a number: "GET seckill:{s}:stock". */
int64_t sale_number(struct sale_world *world, const char *command);
/* Fail unless there are so many orders, units left and entries in the ledger. */
void sale_books_are(struct sale_world *world, int64_t orders, int64_t left, int64_t entries);

#endif
