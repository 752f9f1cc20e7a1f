/*
 * A seckilld on several servers that act as one (lockkit/tools/redis_set), for the tests: short ways to sell and
 * to look. For the main thread; what does not play along fails the running test.
 */
#ifndef SECKILL_APP_TOPOLOGY_H
#define SECKILL_APP_TOPOLOGY_H

#include "app_support.h"
#include "test/support/lk_topology.h"

struct app_topology {
    struct lkt *topology; /* of the whole program */
    struct app_process service;
    struct app_reply reply; /* the last one */
    char dir[APP_PATH_SIZE];
};

/* Of one test: a folder, and no service yet; and its end. */
void app_topology_begin(struct app_topology *many);
void app_topology_end(struct app_topology *many);

/* Start a seckilld on them with these flags besides. */
#define APP_MANY_START(many, ...)                                                                  \
    app_topology_start((many), (const char *const[]){__VA_ARGS__, NULL})
void app_topology_start(struct app_topology *many, const char *const *flags);

/* One call each; the status. The reply stays. */
long app_topology_create(struct app_topology *many, const char *sale, int stock, const char *guard);
long app_topology_buy(struct app_topology *many, const char *sale, const char *user,
                      const char *key);
long app_topology_look_up(struct app_topology *many, const char *sale, const char *user);
long app_topology_get(struct app_topology *many, const char *path);
/* "pause", "restock"... of the operator, under the key "k"; body NULL: {}. */
long app_topology_step(struct app_topology *many, const char *sale, const char *step,
                       const char *body);

/* The last reply is of a buyer who has an order now, or has one again. Returns its id; static. */
const char *app_topology_order(const struct app_topology *many);

/* The service's own audit of the sale says pass, with so many orders and units left. */
void app_topology_assert_books(struct app_topology *many, const char *sale, int orders, int left);

/* The value of a sample of /metrics. */
double app_topology_metric(struct app_topology *many, const char *sample);

#endif
