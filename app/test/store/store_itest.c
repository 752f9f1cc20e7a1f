/*
 * store.c on a real Redis: sales put up, read, listed and ended, orders found and scanned, and what
 * it says when keys, rights or the server are not as they should be.
 */
#include <inttypes.h>
#include <signal.h>

#include "base/clock.h"
#include "sale/sale_keys.h"
#include "store/store_admin.h"
#include "test/support/sale_support.h"
#include "test/support/testing.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

enum { ORDERS = 5000, SOON_MS = 1500, ANSWER_MS = 300 };

struct world {
    struct sale_server server;
    lk_client *client;
    struct store *store;
    struct sale_keys keys; /* of sale "s" */
};

static struct sale a_sale(const char *id)
{
    struct sale sale = {.title = "A title: \xe7\xa7\x92\xe6\x9d\x80",
                        .guard = "mutex",
                        .initial = 7,
                        .starts_ms = 1700000000001,
                        .ends_ms = 1900000000002};

    (void)snprintf(sale.id, sizeof sale.id, "%s", id);
    return sale;
}

static void put_up(struct world *world, const char *id)
{
    struct sale sale = a_sale(id);

    assert_int_equal(store_create_sale(world->store, &sale, NULL), STORE_OK);
}

/* ---- sales -------------------------------------------------------------------------------------------- */

TEST(a_sale_is_read_as_it_was_put_up, struct world *world)
{
    struct sale sale = a_sale("s");
    struct sale read;

    assert_int_equal(store_create_sale(world->store, &sale, NULL), STORE_OK);
    assert_int_equal(store_load_sale(world->store, "s", &read, NULL), STORE_OK);
    assert_string_equal(read.id, "s");
    assert_string_equal(read.title, sale.title);
    assert_string_equal(read.guard, "mutex");
    assert_string_equal(read.stored_state, "open");
    assert_int_equal(read.initial, 7);
    assert_int_equal(read.left, 7);
    assert_int_equal(read.starts_ms, sale.starts_ms);
    assert_int_equal(read.ends_ms, sale.ends_ms);
    assert_int_equal(read.epoch, 1);
    assert_in_range(read.now_ms, clock_unix_ms() - 60000, clock_unix_ms() + 60000);
    assert_int_equal(sale_state_of(&read), SALE_ACTIVE);
}

TEST(a_sale_without_a_start_starts_now, struct world *world)
{
    struct sale sale = a_sale("s");
    struct sale read;
    int64_t before_ms = 0;

    sale.starts_ms = 0;
    sale.ends_ms = 0;
    assert_int_equal(store_time_ms(world->store, &before_ms, NULL), STORE_OK);
    assert_int_equal(store_create_sale(world->store, &sale, NULL), STORE_OK);
    assert_int_equal(store_load_sale(world->store, "s", &read, NULL), STORE_OK);
    assert_in_range(read.starts_ms, before_ms, read.now_ms);
    assert_int_equal(read.ends_ms, 0);
}

TEST(the_largest_sale_fits, struct world *world)
{
    struct sale sale = {.initial = SALE_STOCK_MAX, .starts_ms = 1, .ends_ms = 253402300799999};
    struct sale read;

    memset(sale.id, 'z', SALE_ID_MAX);
    memset(sale.title, 't', SALE_TITLE_MAX);
    memset(sale.guard, 'g', SALE_GUARD_MAX);
    assert_int_equal(store_create_sale(world->store, &sale, NULL), STORE_OK);
    assert_int_equal(store_load_sale(world->store, sale.id, &read, NULL), STORE_OK);
    assert_string_equal(read.title, sale.title);
    assert_string_equal(read.guard, sale.guard);
    assert_int_equal(read.left, SALE_STOCK_MAX);
    assert_int_equal(read.ends_ms, sale.ends_ms);
}

TEST(an_id_is_put_up_once, struct world *world)
{
    struct sale other = a_sale("s");

    put_up(world, "s");
    other.initial = 99;
    char *before = sale_dump(world->client, "s");
    assert_int_equal(store_create_sale(world->store, &other, NULL), STORE_EXISTS);
    char *after = sale_dump(world->client, "s");
    assert_string_equal(before, after);
    free(before);
    free(after);
}

TEST(a_sale_that_is_not_there_is_not_found, struct world *world)
{
    struct sale sale = {.initial = 42};
    struct order order = {.id = "42"};
    struct sale_step_end end = {.epoch = 42};

    assert_int_equal(store_load_sale(world->store, "s", &sale, NULL), STORE_NOT_FOUND);
    assert_int_equal(store_end_sale(world->store, "s", &end, NULL), STORE_NOT_FOUND);
    assert_int_equal(store_find_order(world->store, "s", "ann", &order, NULL), STORE_NOT_FOUND);
    assert_int_equal(sale.initial, 42); /* outputs keep their value */
    assert_int_equal(end.epoch, 42);
    assert_string_equal(order.id, "42");
}

TEST(sales_are_listed_by_id, struct world *world)
{
    static const char *const ids[] = {"m", "b", "z", "a-1"};
    static const char *const sorted[] = {"a-1", "b", "ghost", "m", "z"};
    struct sale sales[COUNT_OF(sorted)];
    struct sale_id *listed = NULL;
    size_t count = 0;

    for (size_t i = 0; i < COUNT_OF(ids); i++)
        put_up(world, ids[i]);
    /* Listed and never created (a crash in between), and what is no id at all. */
    assert_true(sale_do(world->client, "SADD seckill:sales ghost {} UPPER %0100d", 0));
    assert_int_equal(store_list_ids(world->store, &listed, &count, NULL), STORE_OK);
    assert_int_equal(count, COUNT_OF(sorted));
    assert_int_equal(store_load_sales(world->store, listed, count, sales, NULL), STORE_OK);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(listed[i].text, sorted[i]);
        assert_string_equal(sales[i].id, strcmp(sorted[i], "ghost") == 0 ? "" : sorted[i]);
        assert_int_equal(sales[i].left, strcmp(sorted[i], "ghost") == 0 ? 0 : sales[0].left);
    }
    assert_true(sales[0].left > 0);
    free(listed);
}

TEST(no_sales_are_an_empty_list, struct world *world)
{
    struct sale_id *listed = NULL;
    size_t count = 1;

    assert_int_equal(store_list_ids(world->store, &listed, &count, NULL), STORE_OK);
    assert_int_equal(count, 0);
    free(listed);
}

TEST(a_sale_ends_once_and_for_all, struct world *world)
{
    struct sale_step_end end;
    struct sale sale;

    put_up(world, "s");
    assert_int_equal(store_end_sale(world->store, "s", &end, NULL), STORE_OK);
    char *before = sale_dump(world->client, "s");
    assert_int_equal(store_end_sale(world->store, "s", &end, NULL), STORE_OK);
    char *after = sale_dump(world->client, "s");
    assert_string_equal(before, after); /* no second row in the ledger */
    free(before);
    free(after);
    assert_int_equal(store_load_sale(world->store, "s", &sale, NULL), STORE_OK);
    assert_int_equal(sale_state_of(&sale), SALE_ENDED);
    assert_int_equal(sale_ask_number(world->client, "XLEN %s", world->keys.text[KEY_LEDGER]), 2);
}

/* ---- orders ------------------------------------------------------------------------------------------- */

TEST(an_order_is_found_by_its_buyer, struct world *world)
{
    struct order order;
    struct lk_error err = {0};

    assert_true(sale_do(world->client, "HSET %s ann 17:held:k-1 Bob 18:held: cid garbage",
                        world->keys.text[KEY_ORDERS]));
    assert_int_equal(store_find_order(world->store, "s", "ann", &order, NULL), STORE_OK);
    assert_string_equal(order.id, "17");
    assert_string_equal(order.buyer, "ann");
    assert_string_equal(order.state, "held");
    assert_string_equal(order.key, "k-1");
    assert_int_equal(store_find_order(world->store, "s", "Bob", &order, NULL), STORE_OK);
    assert_string_equal(order.key, "");
    assert_int_equal(store_find_order(world->store, "s", "bob", &order, NULL), STORE_NOT_FOUND);
    assert_int_equal(store_find_order(world->store, "s", "cid", &order, &err), STORE_FAILED);
    assert_true(strlen(err.text) > 0);
    assert_string_equal(order.id, "18");
}

struct scan {
    unsigned seen[ORDERS];
    unsigned odd;
    unsigned count;
    unsigned stop_after;
};

static bool see(const struct order *order, void *arg)
{
    struct scan *scan = arg;
    char buyer[24];
    char id[24];
    char key[24];
    size_t number = strtoul(order->buyer + 1, NULL, 10);

    (void)snprintf(buyer, sizeof buyer, "b%zu", number);
    (void)snprintf(id, sizeof id, "%zu", 100000 + number);
    (void)snprintf(key, sizeof key, "k%zu", number);
    if (number < ORDERS && strcmp(order->buyer, buyer) == 0 && strcmp(order->id, id) == 0 &&
        strcmp(order->key, key) == 0 && strcmp(order->state, "held") == 0) {
        scan->seen[number]++;
    } else {
        scan->odd++;
    }
    return ++scan->count != scan->stop_after;
}

static void add_orders(struct world *world, unsigned count)
{
    enum { PER_COMMAND = 20 };

    for (unsigned i = 0; i < count; i += PER_COMMAND) {
        char line[1000];
        size_t len = (size_t)snprintf(line, sizeof line, "HSET %s", world->keys.text[KEY_ORDERS]);

        for (unsigned k = i; k < i + PER_COMMAND && k < count; k++) {
            len += (size_t)snprintf(line + len, sizeof line - len, " b%u %u:held:k%u", k,
                                    100000 + k, k);
        }
        assert_true(sale_do(world->client, "%s", line));
    }
}

TEST(a_scan_sees_every_order_once, struct world *world)
{
    static struct scan scan;

    memset(&scan, 0, sizeof scan);
    add_orders(world, ORDERS);
    /* What is no order is not handed out. */
    assert_true(sale_do(world->client,
                        "HSET %s x garbage %0100d 1:held:", world->keys.text[KEY_ORDERS], 0));
    assert_int_equal(store_scan_orders(world->store, "s", see, &scan, NULL), STORE_OK);
    assert_int_equal(scan.count, ORDERS);
    assert_int_equal(scan.odd, 0);
    for (size_t i = 0; i < ORDERS; i++)
        assert_int_equal(scan.seen[i], 1);
}

TEST(a_scan_stops_when_told, struct world *world)
{
    static const unsigned stops[] = {1, 2, 1000, 1500};
    static struct scan scan;

    add_orders(world, 3000);
    for (size_t i = 0; i < COUNT_OF(stops); i++) {
        scan = (struct scan){.stop_after = stops[i]};
        assert_int_equal(store_scan_orders(world->store, "s", see, &scan, NULL), STORE_OK);
        assert_int_equal(scan.count, stops[i]);
    }
}

TEST(a_scan_of_no_orders_sees_none, struct world *world)
{
    static struct scan scan;

    scan = (struct scan){0};
    assert_int_equal(store_scan_orders(world->store, "s", see, &scan, NULL), STORE_OK);
    assert_int_equal(scan.count, 0);
}

/* ---- what is not as it should be ------------------------------------------------------------------------ */

/* Each way to ask, on sale "s". */
static store_status ask_load(struct store *store, struct lk_error *err)
{
    struct sale sale;

    return store_load_sale(store, "s", &sale, err);
}

static store_status ask_create(struct store *store, struct lk_error *err)
{
    struct sale sale = a_sale("s");

    return store_create_sale(store, &sale, err);
}

static store_status ask_end(struct store *store, struct lk_error *err)
{
    struct sale_step_end end;

    return store_end_sale(store, "s", &end, err);
}

static store_status ask_list(struct store *store, struct lk_error *err)
{
    struct sale_id *ids = NULL;
    size_t count = 0;
    store_status status = store_list_ids(store, &ids, &count, err);

    if (status == STORE_OK) free(ids);
    return status;
}

static store_status ask_loads(struct store *store, struct lk_error *err)
{
    static const struct sale_id ids[] = {{"s"}, {"t"}};
    struct sale sales[COUNT_OF(ids)];

    return store_load_sales(store, ids, COUNT_OF(ids), sales, err);
}

static store_status ask_find(struct store *store, struct lk_error *err)
{
    struct order order;

    return store_find_order(store, "s", "ann", &order, err);
}

static store_status ask_scan(struct store *store, struct lk_error *err)
{
    static struct scan scan;

    return store_scan_orders(store, "s", see, &scan, err);
}

static store_status (*const questions[])(struct store *store, struct lk_error *err) = {
    ask_load, ask_loads, ask_create, ask_end, ask_list, ask_find, ask_scan, store_ping};

TEST(a_key_of_a_wrong_type_fails_with_redis_own_words, struct world *world)
{
    static const struct {
        store_status (*ask)(struct store *store, struct lk_error *err);
        const char *key;
    } rows[] = {
        {ask_load, "seckill:{s}:sale"},   {ask_load, "seckill:{s}:stock"},
        {ask_end, "seckill:{s}:sale"},    {ask_end, "seckill:{s}:stock"},
        {ask_end, "seckill:{s}:ledger"},  {ask_find, "seckill:{s}:orders"},
        {ask_scan, "seckill:{s}:orders"}, {ask_list, "seckill:sales"},
        {ask_loads, "seckill:{s}:sale"},  {ask_create, "seckill:sales"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct lk_error err = {0};

        assert_true(sale_do(world->client, "FLUSHALL"));
        put_up(world, "s");
        assert_true(sale_do(world->client, "DEL %s", rows[i].key));
        assert_true(sale_do(world->client, "RPUSH %s x", rows[i].key));
        if (rows[i].ask(world->store, &err) != STORE_FAILED) fail_msg("row %zu", i);
        if (!strstr(err.text, "WRONGTYPE")) fail_msg("row %zu: \"%s\"", i, err.text);
        assert_int_equal(rows[i].ask(world->store, NULL), STORE_FAILED); /* err may be NULL */
    }
}

TEST(a_sale_that_makes_no_sense_fails_with_words, struct world *world)
{
    static const char *const spoils[] = {
        "SET seckill:{s}:stock abc",
        "SET seckill:{s}:stock ",
        "SET seckill:{s}:stock 12x",
        "DEL seckill:{s}:stock",
        "HSET seckill:{s}:sale initial x",
        "HDEL seckill:{s}:sale initial",
        "HDEL seckill:{s}:sale title",
        "HDEL seckill:{s}:sale guard",
        "HDEL seckill:{s}:sale starts_ms",
        "HSET seckill:{s}:sale ends_ms never",
        "HDEL seckill:{s}:sale epoch",
        "HSET seckill:{s}:sale state much-too-long-a-state",
        "HSET seckill:{s}:sale guard 123456789012345678901234567890123",
    };

    for (size_t i = 0; i < COUNT_OF(spoils); i++) {
        struct lk_error err = {0};

        assert_true(sale_do(world->client, "FLUSHALL"));
        put_up(world, "s");
        assert_true(sale_do(world->client, "%s", spoils[i]));
        if (ask_load(world->store, &err) != STORE_FAILED) fail_msg("%s", spoils[i]);
        assert_true(strlen(err.text) > 0);
    }
}

TEST(a_stock_below_zero_is_shown_as_it_is, struct world *world)
{
    struct sale sale;

    put_up(world, "s");
    assert_true(sale_do(world->client, "SET %s -3", world->keys.text[KEY_STOCK]));
    assert_int_equal(store_load_sale(world->store, "s", &sale, NULL), STORE_OK);
    assert_int_equal(sale.left, -3); /* a flawed guard did that: the operator shall see it */
}

TEST(a_command_without_the_right_to_it_fails_with_words, struct world *world)
{
    put_up(world, "s");
    for (size_t i = 0; i < COUNT_OF(questions); i++) {
        struct lk_error err = {0};

        assert_true(sale_do(world->client, "ACL SETUSER default -@all +acl"));
        store_status status = questions[i](world->store, &err);
        assert_true(sale_do(world->client, "ACL SETUSER default +@all"));
        if (status != STORE_FAILED) fail_msg("question %zu: %d", i, (int)status);
        if (!strstr(err.text, "NOPERM")) fail_msg("question %zu: \"%s\"", i, err.text);
    }
}

static bool is_back(void *arg)
{
    struct world *world = arg;

    return store_ping(world->store, NULL) == STORE_OK;
}

TEST(a_server_that_is_gone_is_unavailable_at_once, struct world *world)
{
    put_up(world, "s");
    sale_server_stop(&world->server, SIGTERM);
    for (size_t i = 0; i < COUNT_OF(questions); i++) {
        struct lk_error err = {0};
        int64_t begin_ms = clock_mono_ms();

        if (questions[i](world->store, &err) != STORE_UNAVAILABLE) fail_msg("question %zu", i);
        assert_true(clock_mono_ms() - begin_ms < SOON_MS);
        assert_true(strlen(err.text) > 0);
    }
    assert_true(sale_server_restart(&world->server));
    assert_true(sale_eventually(is_back, world, 5000));
    assert_int_equal(ask_load(world->store, NULL), STORE_OK); /* the file brought it back */
}

TEST(a_server_that_hangs_is_unknown_in_time, const struct world *world)
{
    static const size_t some[] = {0, 2, 6}; /* a read, a script, a ping: each costs its limit */
    struct world hasty = {.client = sale_connect(&world->server, 4, ANSWER_MS)};

    assert_non_null(hasty.client);
    hasty.store = store_new(hasty.client, "hasty", NULL);
    assert_non_null(hasty.store);
    for (size_t i = 0; i < COUNT_OF(some); i++) {
        assert_true(sale_eventually(is_back, &hasty, 5000)); /* a connection stands */
        assert_true(sale_server_freeze(&world->server));
        int64_t begin_ms = clock_mono_ms();
        store_status status = questions[some[i]](hasty.store, NULL);
        int64_t took_ms = clock_mono_ms() - begin_ms;
        sale_server_thaw(&world->server);
        assert_int_equal(status, STORE_UNKNOWN);
        assert_in_range(took_ms, ANSWER_MS - 10, ANSWER_MS + SOON_MS);
    }
    store_free(hasty.store);
    lk_client_close(hasty.client);
}

/* ---- replicas and other servers -------------------------------------------------------------------- */

TEST(looking_up_for_replicas_changes_nothing, struct world *world)
{
    static const struct deployment synced = {.sync_replicas = 1, .sync_ms = 100};
    struct store *store = store_new(world->client, "synced", &synced);
    struct order order;

    assert_non_null(store);
    put_up(world, "s");
    assert_true(sale_do(world->client, "HSET %s ann 7:held:k", world->keys.text[KEY_ORDERS]));
    char *before = sale_dump(world->client, "s");
    assert_int_equal(store_find_order(store, "s", "ann", &order, NULL), STORE_OK);
    assert_string_equal(order.id, "7");
    assert_string_equal(order.key, "k");
    assert_string_equal(order.buyer, "ann");
    assert_int_equal(store_find_order(store, "s", "bob", &order, NULL), STORE_NOT_FOUND);
    char *after = sale_dump(world->client, "s");
    assert_string_equal(before, after);
    free(before);
    free(after);
    store_free(store);
}

/* A primary that has become a replica, for a moment or for good. */
TEST(a_server_that_does_not_serve_now_has_executed_nothing, struct world *world)
{
    struct sale_step_end end;
    struct lk_error err = {0};
    struct sale sale;

    put_up(world, "s");
    assert_true(sale_do(world->client, "REPLICAOF 127.0.0.1 1"));
    assert_int_equal(store_end_sale(world->store, "s", &end, &err),
                     STORE_UNAVAILABLE); /* READONLY */
    assert_true(strlen(err.text) > 0);
    assert_true(sale_do(world->client, "CONFIG SET replica-serve-stale-data no"));
    assert_int_equal(store_load_sale(world->store, "s", &sale, &err),
                     STORE_UNAVAILABLE); /* MASTERDOWN */
    assert_true(sale_do(world->client, "CONFIG SET replica-serve-stale-data yes"));
    assert_true(sale_do(world->client, "REPLICAOF NO ONE"));
    assert_int_equal(store_load_sale(world->store, "s", &sale, NULL), STORE_OK);
    assert_string_not_equal(sale.stored_state, "ended");
}

/* The replicas of a client are waited for by its evals, and there are none here. */
TEST(an_order_that_no_replica_has_is_not_told, struct world *world)
{
    static const struct deployment synced = {.sync_replicas = 1, .sync_ms = 20};
    lk_client *client = lk_client_open(
        &(struct lk_client_options){.url = world->server.url, .sync_replicas = 1, .sync_ms = 20},
        NULL);
    struct store *store = store_new(client, "synced", &synced);
    struct lk_error err = {0};
    struct sale_audit audit;
    struct order order;

    assert_true(client && store);
    put_up(world, "s");
    assert_true(sale_do(world->client, "HSET %s ann 7:held:k", world->keys.text[KEY_ORDERS]));
    assert_int_equal(store_find_order(store, "s", "ann", &order, &err), STORE_UNKNOWN);
    assert_int_equal(err.code, LK_UNSYNCED);
    assert_int_equal(store_find_order(store, "s", "bob", &order, &err), STORE_NOT_FOUND);
    assert_int_equal(store_audit_sale(store, "s", &audit, &err),
                     STORE_OK); /* a report may be told */
    store_free(store);
    lk_client_close(client);
}

static bool note_change(const struct order *order, void *arg)
{
    struct deployment *deployment = arg;

    atomic_store(&deployment->changes, 1);
    return true;
}

TEST(a_scan_that_another_server_ended_is_not_whole, struct world *world)
{
    struct deployment deployment = {.kind = DEPLOYMENT_SENTINEL};
    struct store *store = store_new(world->client, "here", &deployment);

    assert_non_null(store);
    put_up(world, "s");
    assert_true(sale_do(world->client, "HSET %s ann 7:held:k", world->keys.text[KEY_ORDERS]));
    assert_int_equal(store_scan_orders(store, "s", note_change, &deployment, NULL), STORE_UNKNOWN);
    assert_int_equal(store_scan_orders(store, "s", note_change, &deployment, NULL), STORE_OK);
    store_free(store);
}

/* ---- the world ---------------------------------------------------------------------------------------- */

static int open_world(void **state)
{
    struct world *world = calloc(1, sizeof *world);

    if (!world) return -1;
    *state = world;
    sale_keys_make("s", &world->keys);
    if (!sale_server_start(&world->server)) return -1;
    world->client = sale_connect(&world->server, 4, SALE_GENEROUS_MS);
    if (world->client) world->store = store_new(world->client, "here", NULL);
    return world->store ? 0 : -1;
}

static int close_world(void **state)
{
    struct world *world = *state;

    store_free(world->store);
    lk_client_close(world->client);
    sale_server_remove(&world->server);
    free(world);
    return 0;
}

/* Each test begins with nothing; the server is this program's alone. */
static int empty(void **state)
{
    const struct world *world = *state;

    return sale_do(world->client, "FLUSHALL") ? 0 : -1;
}

FIXTURE(empty, NULL);
GROUP(open_world, close_world);
