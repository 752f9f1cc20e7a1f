/*
 * Events of many threads in few steps, on a real Redis: each gets its own answer, in whatever batch.
 */
#include <pthread.h>

#include "sell/pay_batch.h"
#include "test/support/sale_instances.h"
#include "test/support/testing.h"

enum { THREADS = 32, EACH = 40, ORDERS = THREADS * EACH };

struct conn_scheduler {
    struct pay_batch *batch;
    char ids[ORDERS][ORDER_ID_MAX];
    int results[ORDERS][2];
    int elsewhere[THREADS]; /* of a sale that is not there */
};

struct member {
    struct conn_scheduler *crowd;
    size_t number;
    pthread_t thread;
};

static int tell(struct conn_scheduler *crowd, const char *sale, const char *buyer,
                const char *order)
{
    struct pay_wish wish = {
        .sale_id = sale, .event = {buyer, "succeeded", buyer, order, buyer, "5", "CNY", PAY_LATE}};

    pay_batch_take(crowd->batch, &wish);
    return wish.status == STORE_OK ? (int)wish.event.result : -(int)wish.status;
}

/* Every order is paid twice, by other members' events between the two. */
static void *pay(void *arg)
{
    const struct member *self = arg;
    struct conn_scheduler *crowd = self->crowd;

    for (size_t i = self->number * EACH; i < (self->number + 1) * EACH; i++) {
        char buyer[24];

        (void)snprintf(buyer, sizeof buyer, "b%zu", i);
        for (int k = 0; k < 2; k++)
            crowd->results[i][k] = tell(crowd, "p", buyer, crowd->ids[i]);
        crowd->elsewhere[self->number] = tell(crowd, "none", buyer, crowd->ids[i]);
    }
    return NULL;
}

static void put_up(struct sale_world *world, struct conn_scheduler *crowd)
{
    struct sale sale = {.id = "p", .title = "p", .guard = "mutex", .initial = ORDERS};

    SALE_INSTANCES(world, "mutex", 1, .batch = 64);
    sale.payment = (struct sale_payment){.window_ms = 3600000, .amount = 5, .currency = "CNY"};
    assert_int_equal(store_create_sale(world->shops[0].store, &sale, NULL), STORE_OK);
    for (int i = 0; i < ORDERS; i++) {
        char buyer[24];
        struct purchase purchase = {.buyer = buyer, .key = ""};

        (void)snprintf(buyer, sizeof buyer, "b%d", i);
        (void)group_commit_sell(world->shops[0].group, "p", &purchase);
        assert_int_equal(purchase.outcome, OUTCOME_CREATED);
        memcpy(crowd->ids[i], purchase.order_id, sizeof crowd->ids[i]);
    }
}

TEST(each_of_a_crowd_gets_its_own_answer, struct sale_world *world)
{
    static struct conn_scheduler crowd;
    struct member members[THREADS];

    put_up(world, &crowd);
    crowd.batch = pay_batch_new(world->shops[0].store, NULL);
    assert_non_null(crowd.batch);
    for (size_t i = 0; i < THREADS; i++) {
        members[i] = (struct member){.crowd = &crowd, .number = i};
        assert_int_equal(pthread_create(&members[i].thread, NULL, pay, &members[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(members[i].thread, NULL), 0);
        assert_int_equal(crowd.elsewhere[i], -(int)STORE_NOT_FOUND);
    }
    for (size_t i = 0; i < ORDERS; i++) {
        assert_int_equal(crowd.results[i][0], PAY_PAID);
        assert_int_equal(crowd.results[i][1], PAY_REPEATED);
    }
    int64_t steps = sale_ask_number(world->client, "XLEN seckill:{p}:ledger") - ORDERS - 1;
    print_message("# %d payments in %d steps\n", ORDERS, (int)steps);
    assert_in_range(steps, 1, ORDERS / 2);
    pay_batch_free(crowd.batch);
}

GROUP(sale_world_open, sale_world_close);
