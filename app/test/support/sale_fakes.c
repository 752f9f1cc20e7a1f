/*
 * See sale_fakes.h. The fakes, any thread; the rest, the main one.
 */
#include "sale_fakes.h"

#include <unistd.h>

#include "base/clock.h"
#include "sale_support.h"
#include "sell/order_node.h"
#include "test/support/testing.h"

struct sale_fakes sale_fakes;

void sale_fakes_reset(const struct guard *guards, size_t count)
{
    sale_fakes.guards = guards;
    sale_fakes.guard_count = count;
    sale_fakes.guard = sale_fakes.far_guard = NULL;
    sale_fakes.on_node = sale_fakes.on_load = NULL;
    atomic_store(&sale_fakes.node, 1);
    atomic_store(&sale_fakes.answer, STORE_OK);
    atomic_store(&sale_fakes.loads, 0);
}

FAKE(const struct guard *, guards_find, const char *name)
{
    for (size_t i = 0; i < sale_fakes.guard_count; i++) {
        if (strcmp(sale_fakes.guards[i].name, name) == 0) return &sale_fakes.guards[i];
    }
    return NULL;
}

FAKE(store_status, store_load_sale, struct store *store, const char *id, struct sale *out_sale,
     struct lk_error *err)
{
    store_status status = (store_status)atomic_load(&sale_fakes.answer);
    const char *guard = sale_fakes.guard ? sale_fakes.guard : sale_fakes.guards[0].name;

    atomic_fetch_add(&sale_fakes.loads, 1);
    if (sale_fakes.on_load) sale_fakes.on_load();
    if (status != STORE_OK) return status;
    if (sale_fakes.far_guard && strcmp(id, "far") == 0) guard = sale_fakes.far_guard;
    *out_sale = (struct sale){.initial = 1000, .left = 1000, .epoch = 1, .stored_state = "open"};
    (void)snprintf(out_sale->id, sizeof out_sale->id, "%s", id);
    (void)snprintf(out_sale->guard, sizeof out_sale->guard, "%s", guard);
    return STORE_OK;
}

FAKE(int, order_node_number, struct order_node *node)
{
    if (sale_fakes.on_node) sale_fakes.on_node();
    return atomic_load(&sale_fakes.node);
}

static void *buy(void *arg)
{
    struct sale_buyer *buyer = arg;

    atomic_store(&buyer->thread_id, gettid());
    buyer->guard = group_commit_sell(buyer->group, buyer->sale_id, &buyer->purchase);
    atomic_store(&buyer->is_back, true);
    return NULL;
}

static void prepare(struct sale_buyer *buyer, struct group_commit *group, const char *sale,
                    int number)
{
    *buyer = (struct sale_buyer){.group = group, .sale_id = sale};
    (void)snprintf(buyer->name, sizeof buyer->name, "b%d", number);
    buyer->purchase = (struct purchase){
        .buyer = buyer->name, .key = "", .outcome = OUTCOME_COUNT, .retry_ms = -1};
}

void sale_buyer_buys(struct sale_buyer *buyer, struct group_commit *group, const char *sale,
                     int number)
{
    prepare(buyer, group, sale, number);
    (void)buy(buyer);
}

void sale_await_sleep(const atomic_int *thread_id, const atomic_bool *is_back)
{
    for (unsigned naps = 0; naps < 2 && !(is_back && atomic_load(is_back)); clock_pause_ms(1))
        naps = sale_thread_sleeps(atomic_load(thread_id)) ? naps + 1 : 0;
}

void sale_buyer_enters(struct sale_buyer *buyer, struct group_commit *group, const char *sale,
                       int number)
{
    unsigned before = group_commit_depth(group);

    prepare(buyer, group, sale, number);
    assert_int_equal(pthread_create(&buyer->thread, NULL, buy, buyer), 0);
    while (group_commit_depth(group) == before && !atomic_load(&buyer->is_back))
        clock_pause_ms(1);
    sale_await_sleep(&buyer->thread_id, &buyer->is_back);
}

void sale_buyer_leaves(struct sale_buyer *buyer)
{
    assert_int_equal(pthread_join(buyer->thread, NULL), 0);
}
