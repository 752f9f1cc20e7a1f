/*
 * Who looks when the time to pay is over: several expirers on a real Redis, of which one leads; each
 * unit comes back once and soon, whoever is stopped or believes in an old lease.
 */
#include <stdatomic.h>

#include "base/clock.h"
#include "sell/expirer.h"
#include "store/store_admin.h"
#include "test/support/sale_instances.h"
#include "test/support/testing.h"

enum { WINDOW_MS = 1000, SOON_MS = 5000, EXPIRERS = 2 };

static atomic_long expired[EXPIRERS];
static atomic_long refused; /* steps that the store refused */

static void note(const char *sale_id, store_status status, const struct expiry *step, void *arg)
{
    (void)sale_id;
    if (status == STORE_OK) atomic_fetch_add((atomic_long *)arg, step->expired);
    if (status == STORE_FAILED) atomic_fetch_add(&refused, 1);
}

/* Two shops, an expirer in each, and sale "p" of so many units, all of them held. */
static void open_shops(struct sale_world *world, struct expirer *out[EXPIRERS], int64_t units)
{
    struct sale sale = {.id = "p", .title = "p", .guard = "mutex", .initial = units};

    SALE_INSTANCES(world, "mutex", 1, .batch = 64);
    sale.payment = (struct sale_payment){.window_ms = WINDOW_MS, .amount = 5, .currency = "CNY"};
    assert_int_equal(store_create_sale(world->shops[0].store, &sale, NULL), STORE_OK);
    atomic_store(&refused, 0);
    for (int i = 0; i < EXPIRERS; i++) {
        atomic_store(&expired[i], 0);
        out[i] = expirer_new(&(struct expirer_options){.client = world->shops[i].client,
                                                       .store = world->shops[i].store,
                                                       .on_step = note,
                                                       .on_step_arg = &expired[i]});
        assert_non_null(out[i]);
        expirer_add(out[i], "p");
    }
}

static void buy_all(struct sale_world *world, int64_t units)
{
    for (int64_t i = 0; i < units; i++) {
        char buyer[16];
        struct purchase purchase = {.buyer = buyer, .key = ""};

        (void)snprintf(buyer, sizeof buyer, "b%d", (int)i);
        (void)group_commit_sell(world->shops[0].group, "p", &purchase);
        assert_int_equal(purchase.outcome, OUTCOME_CREATED);
    }
}

static bool has_leader(void *arg)
{
    struct expirer **expirers = arg;

    return expirer_leads(expirers[0]) || expirer_leads(expirers[1]);
}

static void close_shops(struct expirer *expirers[EXPIRERS])
{
    for (int i = 0; i < EXPIRERS; i++)
        expirer_free(expirers[i]);
}

static int64_t left(struct sale_world *world)
{
    return sale_ask_number(world->client, "GET seckill:{p}:stock");
}

static void books_agree(struct sale_world *world)
{
    struct sale_audit audit = {0};

    assert_int_equal(store_audit_sale(world->shops[0].store, "p", &audit, NULL), STORE_OK);
    assert_int_equal(audit.verdict, AUDIT_PASS);
}

/* By the ledger: how long after its time the last one of these expired. */
static int64_t lag_ms(struct sale_world *world)
{
    lk_reply *sold = sale_ask(world->client, "XRANGE seckill:{p}:ledger - +");
    int64_t due_ms = 0;
    int64_t last_ms = 0;

    for (size_t i = 0; i < lk_reply_count(sold); i++) {
        const lk_reply *entry = lk_reply_at(sold, i);
        const lk_reply *fields = lk_reply_at(entry, 1);

        last_ms = strtoll(lk_reply_bytes(lk_reply_at(entry, 0)).data, NULL, 10);
        if (strcmp(lk_reply_bytes(lk_reply_at(fields, 1)).data, "sold") == 0)
            due_ms = strtoll(lk_reply_bytes(lk_reply_at(fields, 9)).data, NULL, 10);
    }
    lk_reply_free(sold);
    return last_ms - due_ms;
}

TEST(one_of_two_ends_what_is_due_soon_and_once, struct sale_world *world)
{
    enum { UNITS = 40 };
    struct expirer *expirers[EXPIRERS];

    open_shops(world, expirers, UNITS);
    assert_true(sale_eventually(has_leader, expirers, SOON_MS));
    buy_all(world, UNITS);
    assert_int_equal(left(world), 0);
    int64_t until_ms = clock_mono_ms() + SOON_MS;
    while (left(world) < UNITS && clock_mono_ms() < until_ms)
        clock_pause_ms(5);
    assert_int_equal(left(world), UNITS);
    assert_true(atomic_load(&expired[0]) == UNITS || atomic_load(&expired[1]) == UNITS);
    print_message("# the last of %d was for sale again %d ms after its time\n", (int)UNITS,
                  (int)lag_ms(world));
    assert_in_range(lag_ms(world), 0, 500); /* 100 where the machine has time */
    books_agree(world);
    close_shops(expirers);
}

/* Whoever led is stopped: its client is cut off for good, as if it was paused. Another one takes over. */
TEST(who_resigns_is_followed, struct sale_world *world)
{
    struct expirer *expirers[EXPIRERS];

    open_shops(world, expirers, 1);
    assert_true(sale_eventually(has_leader, expirers, SOON_MS));
    int first = expirer_leads(expirers[0]) ? 0 : 1;
    expirer_free(expirers[first]);
    expirers[first] = expirers[1 - first];
    assert_true(sale_eventually(has_leader, expirers, SOON_MS));
    buy_all(world, 1);
    int64_t until_ms = clock_mono_ms() + SOON_MS;
    while (left(world) < 1 && clock_mono_ms() < until_ms)
        clock_pause_ms(5);
    assert_int_equal(left(world), 1);
    books_agree(world);
    expirer_free(expirers[first]);
}

/* Its lease is taken away, and somebody else has shown a higher number: it believes still, and is refused. */
TEST(two_believers_return_a_unit_once, struct sale_world *world)
{
    enum { UNITS = 8 };
    struct expirer *expirers[EXPIRERS];
    struct expiry done = {.most = 3};

    open_shops(world, expirers, UNITS);
    assert_true(sale_eventually(has_leader, expirers, SOON_MS));
    buy_all(world, UNITS);
    assert_true(sale_do(world->client, "SET seckill:{p}:expirer-fence 9000000000000000"));
    clock_pause_ms(WINDOW_MS + 300);
    assert_int_equal(left(world), 0);
    assert_true(atomic_load(&refused) > 0);
    assert_int_equal(store_expire_orders(world->shops[1].store, "p", 9000000000000001, &done, NULL),
                     STORE_OK);
    assert_int_equal(done.expired, 3);
    expirer_wake(expirers[0], "p"); /* and one that does not lead looks besides */
    expirer_wake(expirers[1], "p");
    int64_t until_ms = clock_mono_ms() + SOON_MS;
    while (left(world) < UNITS && clock_mono_ms() < until_ms)
        clock_pause_ms(5);
    assert_int_equal(left(world), UNITS);
    books_agree(world);
    close_shops(expirers);
}

/* Of sales that nothing is paid for later, nobody is asked, and no lock taken. */
TEST(without_such_a_sale_it_asks_once_and_is_silent, struct sale_world *world)
{
    SALE_INSTANCES(world, "mutex", 1, .batch = 64);
    struct expirer *expirer = expirer_new(&(struct expirer_options){
        .client = world->shops[0].client, .store = world->shops[0].store});

    assert_non_null(expirer);
    clock_pause_ms(200);
    int64_t before = sale_ask_number(world->client, "EXISTS seckill:expirer");
    assert_int_equal(before, 0);
    assert_false(expirer_leads(expirer));
    expirer_free(expirer);
}

GROUP(sale_world_open, sale_world_close);
