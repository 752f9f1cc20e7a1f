/*
 * group_commit.c under a crowd of threads: the guard is a plain counter, so two batches at once would
 * be a race that the thread sanitizer sees, and everybody must learn his own fate.
 * link: -Wl,--wrap=guards_find,--wrap=store_load_sale,--wrap=order_node_number
 */
#include <pthread.h>

#include "test/support/sale_fakes.h"
#include "test/support/testing.h"

enum { CROWD = 64, EACH = 40, UNITS = 1500, NAME_SIZE = 16 };

/* Guarded by nothing but group commit. */
static struct {
    long stock;
    unsigned batches;
    size_t largest;
    unsigned char times_sold[CROWD * EACH];
} shelf;

static struct guard_result shelf_sell(const struct guard_ctx *ctx, struct purchase **batch,
                                      size_t count)
{
    shelf.batches++;
    if (count > shelf.largest) shelf.largest = count;
    for (size_t i = 0; i < count; i++) {
        long buyer = strtol(batch[i]->buyer + 1, NULL, 10);

        batch[i]->outcome = shelf.stock > 0 ? OUTCOME_CREATED : OUTCOME_SOLD_OUT;
        if (shelf.stock <= 0) continue;
        shelf.stock--;
        shelf.times_sold[buyer]++;
    }
    return (struct guard_result){.status = GUARD_DONE};
}

static const struct guard shelf_guard = {
    .name = "shelf", .expected = VERDICT_SOUND, .sell = shelf_sell};

struct shopper {
    pthread_t thread;
    struct group_commit *group;
    pthread_barrier_t *start;
    int number;
    unsigned created;
    unsigned sold_out;
    bool got[EACH];
};

static void *shop(void *arg)
{
    struct shopper *shopper = arg;

    (void)pthread_barrier_wait(shopper->start);
    for (int i = 0; i < EACH; i++) {
        char name[NAME_SIZE];
        struct purchase purchase = {.buyer = name, .key = "", .outcome = OUTCOME_COUNT};

        (void)snprintf(name, sizeof name, "b%d", shopper->number * EACH + i);
        (void)group_commit_sell(shopper->group, "sale", &purchase);
        shopper->got[i] = purchase.outcome == OUTCOME_CREATED;
        shopper->created += shopper->got[i];
        shopper->sold_out += purchase.outcome == OUTCOME_SOLD_OUT;
    }
    return NULL;
}

static void send_crowd(struct shopper *shoppers, struct group_commit *group)
{
    pthread_barrier_t start;

    assert_int_equal(pthread_barrier_init(&start, NULL, CROWD), 0);
    for (int i = 0; i < CROWD; i++) {
        shoppers[i] = (struct shopper){.group = group, .start = &start, .number = i};
        assert_int_equal(pthread_create(&shoppers[i].thread, NULL, shop, &shoppers[i]), 0);
    }
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(pthread_join(shoppers[i].thread, NULL), 0);
    (void)pthread_barrier_destroy(&start);
}

TEST(a_crowd_buys_every_unit_and_each_learns_his_own_fate)
{
    static const unsigned bounds[] = {2, 16, 1024};
    static struct shopper shoppers[CROWD];

    for (size_t b = 0; b < sizeof bounds / sizeof bounds[0]; b++) {
        struct group_commit *group = group_commit_new(&(struct group_commit_options){
            .batch = bounds[b], .queue_max = CROWD, .deadline_ms = 30000, .lease_ms = 3000});
        unsigned created = 0;
        unsigned sold_out = 0;

        sale_fakes_reset(&shelf_guard, 1);
        assert_non_null(group);
        memset(&shelf, 0, sizeof shelf);
        shelf.stock = UNITS;
        send_crowd(shoppers, group);

        for (int i = 0; i < CROWD; i++) {
            created += shoppers[i].created;
            sold_out += shoppers[i].sold_out;
            for (int k = 0; k < EACH; k++)
                assert_int_equal(shelf.times_sold[i * EACH + k], shoppers[i].got[k]);
        }
        assert_int_equal(created, UNITS);
        assert_int_equal(created + sold_out, CROWD * EACH);
        assert_int_equal(shelf.stock, 0);
        assert_true(shelf.largest <= bounds[b]);
        assert_int_equal(group_commit_depth(group), 0);
        group_commit_free(group);
    }
}
