/*
 * store.c on a real Redis: sales put up, read, listed and ended, orders found and scanned, and what
 * it says when keys, rights or the server are not as they should be.
 */
#include <inttypes.h>
#include <signal.h>

#include "base/clock.h"
#include "store/store_admin.h"
#include "test/support/sale_instances.h"
#include "test/support/testing.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

enum { ORDERS = 5000, SOON_MS = 5000 /* half the limit of a round trip */, ANSWER_MS = 300 };

static struct store *here; /* of the world's client */

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

static void put_up(const char *id)
{
    struct sale sale = a_sale(id);

    assert_int_equal(store_create_sale(here, &sale, NULL), STORE_OK);
}

/* ---- sales -------------------------------------------------------------------------------------------- */

/* Put up and read again. */
static struct sale read_back(const struct sale *sale)
{
    struct sale read = {.left = -1};

    assert_int_equal(store_create_sale(here, sale, NULL), STORE_OK);
    assert_int_equal(store_load_sale(here, sale->id, &read, NULL), STORE_OK);
    assert_string_equal(read.id, sale->id);
    assert_string_equal(read.title, sale->title);
    assert_string_equal(read.guard, sale->guard);
    assert_string_equal(read.stored_state, "open");
    assert_int_equal(read.initial, sale->initial);
    assert_int_equal(read.left, sale->initial);
    assert_int_equal(read.ends_ms, sale->ends_ms);
    assert_int_equal(read.epoch, 1);
    return read;
}

TEST(a_sale_is_read_as_it_was_put_up)
{
    struct sale sale = a_sale("s");
    struct sale read = read_back(&sale);

    assert_int_equal(read.starts_ms, sale.starts_ms);
    assert_in_range(read.now_ms, clock_unix_ms() - 60000, clock_unix_ms() + 60000);
    assert_int_equal(sale_state_of(&read), SALE_ACTIVE);
}

TEST(a_sale_without_a_start_starts_now)
{
    struct sale sale = a_sale("s");
    struct sale read;
    int64_t before_ms = 0;

    sale.starts_ms = 0;
    sale.ends_ms = 0;
    assert_int_equal(store_time_ms(here, &before_ms, NULL), STORE_OK);
    read = read_back(&sale);
    assert_in_range(read.starts_ms, before_ms, read.now_ms);
}

TEST(the_largest_sale_fits)
{
    struct sale sale = {.initial = SALE_STOCK_MAX, .starts_ms = 1, .ends_ms = 253402300799999};

    memset(sale.id, 'z', SALE_ID_MAX);
    memset(sale.title, 't', SALE_TITLE_MAX);
    memset(sale.guard, 'g', SALE_GUARD_MAX);
    (void)read_back(&sale);
}

TEST(an_id_is_put_up_once, struct sale_world *world)
{
    struct sale other = a_sale("s");

    put_up("s");
    other.initial = 99;
    sale_remember(world->client);
    assert_int_equal(store_create_sale(here, &other, NULL), STORE_EXISTS);
    sale_assert_same(world->client, "creating it again");
}

TEST(a_sale_that_is_not_there_is_not_found, struct sale_world *world)
{
    struct sale sale = {.initial = 42};
    struct order order = {.id = "42"};
    struct sale_step_end end = {.epoch = 42};

    assert_int_equal(store_load_sale(here, "s", &sale, NULL), STORE_NOT_FOUND);
    assert_int_equal(store_end_sale(here, "s", &end, NULL), STORE_NOT_FOUND);
    assert_int_equal(store_find_order(here, "s", "ann", &order, NULL), STORE_NOT_FOUND);
    assert_int_equal(sale.initial, 42); /* outputs keep their value */
    assert_int_equal(end.epoch, 42);
    assert_string_equal(order.id, "42");
}

TEST(sales_are_listed_by_id, struct sale_world *world)
{
    static const char *const ids[] = {"m", "b", "z", "a-1"};
    static const char *const sorted[] = {"a-1", "b", "ghost", "m", "z"};
    struct sale sales[COUNT_OF(sorted)];
    struct sale_id *listed = NULL;
    size_t count = 0;

    for (size_t i = 0; i < COUNT_OF(ids); i++)
        put_up(ids[i]);
    /* Listed and never created (a crash in between), and what is no id at all. */
    assert_true(sale_do(world->client, "SADD seckill:sales ghost {} UPPER %0100d", 0));
    assert_int_equal(store_list_ids(here, &listed, &count, NULL), STORE_OK);
    assert_int_equal(count, COUNT_OF(sorted));
    assert_int_equal(store_load_sales(here, listed, count, sales, NULL), STORE_OK);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(listed[i].text, sorted[i]);
        assert_string_equal(sales[i].id, strcmp(sorted[i], "ghost") == 0 ? "" : sorted[i]);
        assert_int_equal(sales[i].left, strcmp(sorted[i], "ghost") == 0 ? 0 : sales[0].left);
    }
    assert_true(sales[0].left > 0);
    free(listed);
}

TEST(no_sales_are_an_empty_list)
{
    struct sale_id *listed = NULL;
    size_t count = 1;

    assert_int_equal(store_list_ids(here, &listed, &count, NULL), STORE_OK);
    assert_int_equal(count, 0);
    free(listed);
}

TEST(a_sale_ends_once_and_for_all, struct sale_world *world)
{
    struct sale_step_end end;
    struct sale sale;

    put_up("s");
    assert_int_equal(store_end_sale(here, "s", &end, NULL), STORE_OK);
    sale_remember(world->client);
    assert_int_equal(store_end_sale(here, "s", &end, NULL), STORE_OK);
    sale_assert_same(world->client, "ending it again");
    assert_int_equal(store_load_sale(here, "s", &sale, NULL), STORE_OK);
    assert_int_equal(sale_state_of(&sale), SALE_ENDED);
    assert_int_equal(sale_ask_number(world->client, "XLEN %s", world->keys.text[KEY_LEDGER]), 2);
}

/* ---- orders ------------------------------------------------------------------------------------------- */

TEST(an_order_is_found_by_its_buyer, struct sale_world *world)
{
    struct order order;
    struct lk_error err = {0};

    assert_true(sale_do(world->client, "HSET %s ann 17:held:k-1 Bob 18:held: cid garbage",
                        world->keys.text[KEY_ORDERS]));
    assert_int_equal(store_find_order(here, "s", "ann", &order, NULL), STORE_OK);
    assert_string_equal(order.id, "17");
    assert_string_equal(order.buyer, "ann");
    assert_string_equal(order.state, "held");
    assert_string_equal(order.key, "k-1");
    assert_int_equal(store_find_order(here, "s", "Bob", &order, NULL), STORE_OK);
    assert_string_equal(order.key, "");
    assert_int_equal(store_find_order(here, "s", "bob", &order, NULL), STORE_NOT_FOUND);
    assert_int_equal(store_find_order(here, "s", "cid", &order, &err), STORE_FAILED);
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
    char expected[180];
    char seen[sizeof expected];
    size_t number = strtoul(order->buyer + 1, NULL, 10);

    (void)snprintf(expected, sizeof expected, "b%zu %zu k%zu held", number, 100000 + number,
                   number);
    (void)snprintf(seen, sizeof seen, "%s %s %s %s", order->buyer, order->id, order->key,
                   order->state);
    if (number < ORDERS && strcmp(seen, expected) == 0) {
        scan->seen[number]++;
    } else {
        scan->odd++;
    }
    return ++scan->count != scan->stop_after;
}

static void add_orders(struct sale_world *world, unsigned count)
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

TEST(a_scan_sees_every_order_once, struct sale_world *world)
{
    static struct scan scan;

    memset(&scan, 0, sizeof scan);
    add_orders(world, ORDERS);
    /* What is no order is not handed out. */
    assert_true(sale_do(world->client,
                        "HSET %s x garbage %0100d 1:held:", world->keys.text[KEY_ORDERS], 0));
    assert_int_equal(store_scan_orders(here, "s", see, &scan, NULL), STORE_OK);
    assert_int_equal(scan.count, ORDERS);
    assert_int_equal(scan.odd, 0);
    for (size_t i = 0; i < ORDERS; i++)
        assert_int_equal(scan.seen[i], 1);
}

TEST(a_scan_stops_when_told_or_where_there_is_none, struct sale_world *world)
{
    static const unsigned stops[] = {1, 2, 1000, 1500};
    static struct scan scan;

    scan = (struct scan){0};
    assert_int_equal(store_scan_orders(here, "s", see, &scan, NULL), STORE_OK);
    assert_int_equal(scan.count, 0);
    add_orders(world, 3000);
    for (size_t i = 0; i < COUNT_OF(stops); i++) {
        scan = (struct scan){.stop_after = stops[i]};
        assert_int_equal(store_scan_orders(here, "s", see, &scan, NULL), STORE_OK);
        assert_int_equal(scan.count, stops[i]);
    }
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

TEST(a_key_of_a_wrong_type_fails_with_redis_own_words, struct sale_world *world)
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
        put_up("s");
        assert_true(sale_do(world->client, "DEL %s", rows[i].key));
        assert_true(sale_do(world->client, "RPUSH %s x", rows[i].key));
        if (rows[i].ask(here, &err) != STORE_FAILED) fail_msg("row %zu", i);
        if (!strstr(err.text, "WRONGTYPE")) fail_msg("row %zu: \"%s\"", i, err.text);
        assert_int_equal(rows[i].ask(here, NULL), STORE_FAILED); /* err may be NULL */
    }
}

TEST(a_sale_that_makes_no_sense_fails_with_words, struct sale_world *world)
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
        put_up("s");
        assert_true(sale_do(world->client, "%s", spoils[i]));
        if (ask_load(here, &err) != STORE_FAILED) fail_msg("%s", spoils[i]);
        assert_true(strlen(err.text) > 0);
    }
}

TEST(a_stock_below_zero_is_shown_as_it_is, struct sale_world *world)
{
    struct sale sale;

    put_up("s");
    assert_true(sale_do(world->client, "SET %s -3", world->keys.text[KEY_STOCK]));
    assert_int_equal(store_load_sale(here, "s", &sale, NULL), STORE_OK);
    assert_int_equal(sale.left, -3); /* a flawed guard did that: the operator shall see it */
}

TEST(a_command_without_the_right_to_it_fails_with_words, struct sale_world *world)
{
    put_up("s");
    for (size_t i = 0; i < COUNT_OF(questions); i++) {
        struct lk_error err = {0};

        assert_true(sale_do(world->client, "ACL SETUSER default -@all +acl"));
        store_status status = questions[i](here, &err);
        assert_true(sale_do(world->client, "ACL SETUSER default +@all"));
        if (status != STORE_FAILED) fail_msg("question %zu: %d", i, (int)status);
        if (!strstr(err.text, "NOPERM")) fail_msg("question %zu: \"%s\"", i, err.text);
    }
}

static bool is_back(void *arg)
{
    return store_ping(arg, NULL) == STORE_OK;
}

TEST(a_server_that_is_gone_is_unavailable_at_once, struct sale_world *world)
{
    put_up("s");
    sale_server_stop(&world->server, SIGTERM);
    for (size_t i = 0; i < COUNT_OF(questions); i++) {
        struct lk_error err = {0};
        int64_t begin_ms = clock_mono_ms();

        if (questions[i](here, &err) != STORE_UNAVAILABLE) fail_msg("question %zu", i);
        assert_true(clock_mono_ms() - begin_ms < SOON_MS);
        assert_true(strlen(err.text) > 0);
    }
    assert_true(sale_server_restart(&world->server));
    assert_true(sale_eventually(is_back, here, 5000));
    assert_int_equal(ask_load(here, NULL), STORE_OK); /* the file brought it back */
}

TEST(a_server_that_hangs_is_unknown_in_time, const struct sale_world *world)
{
    static const size_t some[] = {0, 2, 6}; /* a read, a script, a ping: each costs its limit */
    lk_client *client = sale_connect(&world->server, 4, ANSWER_MS);
    struct store *hasty = store_new(client, "hasty", NULL);

    assert_true(client && hasty);
    for (size_t i = 0; i < COUNT_OF(some); i++) {
        assert_true(sale_eventually(is_back, hasty, 5000)); /* a connection stands */
        assert_true(sale_server_freeze(&world->server));
        int64_t begin_ms = clock_mono_ms();
        store_status status = questions[some[i]](hasty, NULL);
        int64_t took_ms = clock_mono_ms() - begin_ms;
        sale_server_thaw(&world->server);
        assert_int_equal(status, STORE_UNKNOWN);
        assert_in_range(took_ms, ANSWER_MS - 10, ANSWER_MS + SOON_MS);
    }
    store_free(hasty);
    lk_client_close(client);
}

/* ---- replicas and other servers -------------------------------------------------------------------- */

TEST(looking_up_for_replicas_changes_nothing, struct sale_world *world)
{
    static const struct deployment synced = {.sync_replicas = 1, .sync_ms = 100};
    struct store *store = store_new(world->client, "synced", &synced);
    struct order order;

    assert_non_null(store);
    put_up("s");
    assert_true(sale_do(world->client, "HSET %s ann 7:held:k", world->keys.text[KEY_ORDERS]));
    sale_remember(world->client);
    assert_int_equal(store_find_order(store, "s", "ann", &order, NULL), STORE_OK);
    assert_string_equal(order.id, "7");
    assert_string_equal(order.key, "k");
    assert_string_equal(order.buyer, "ann");
    assert_int_equal(store_find_order(store, "s", "bob", &order, NULL), STORE_NOT_FOUND);
    sale_assert_same(world->client, "looking up");
    store_free(store);
}

/* A primary that has become a replica, for a moment or for good. */
TEST(a_server_that_does_not_serve_now_has_executed_nothing, struct sale_world *world)
{
    struct sale_step_end end;
    struct lk_error err = {0};
    struct sale sale;

    put_up("s");
    assert_true(sale_do(world->client, "REPLICAOF 127.0.0.1 1"));
    assert_int_equal(store_end_sale(here, "s", &end, &err), STORE_UNAVAILABLE); /* READONLY */
    assert_true(strlen(err.text) > 0);
    assert_true(sale_do(world->client, "CONFIG SET replica-serve-stale-data no"));
    assert_int_equal(store_load_sale(here, "s", &sale, &err), STORE_UNAVAILABLE); /* MASTERDOWN */
    assert_true(sale_do(world->client, "CONFIG SET replica-serve-stale-data yes"));
    assert_true(sale_do(world->client, "REPLICAOF NO ONE"));
    assert_true(sale_do(world->client, "CONFIG SET maxmemory 1"));
    assert_int_equal(store_end_sale(here, "s", &end, &err), STORE_UNAVAILABLE); /* OOM */
    assert_true(sale_do(world->client, "CONFIG SET maxmemory 0"));
    assert_int_equal(store_load_sale(here, "s", &sale, NULL), STORE_OK);
    assert_string_not_equal(sale.stored_state, "ended");
}

static bool answers(void *world)
{
    return sale_do(((struct sale_world *)world)->client, "PING");
}

/* Nobody waits for the script, which goes on all the same. */
TEST(a_server_that_a_script_keeps_busy_has_executed_nothing, struct sale_world *world)
{
    const struct lk_bytes words[] = {LK_BYTES("EVAL"), LK_BYTES("while true do end"),
                                     LK_BYTES("0")};
    const struct lk_command endless = {words, 3};
    struct sale_step_end end;
    struct lk_error err = {0};
    struct sale sale;
    lk_reply *reply = NULL;

    put_up("s");
    assert_true(sale_do(world->client, "CONFIG SET lua-time-limit 1"));
    assert_int_equal(lk_client_call(world->client, &endless, 1, 200, &reply, NULL), LK_UNKNOWN);
    assert_int_equal(store_end_sale(here, "s", &end, &err), STORE_UNAVAILABLE);
    assert_int_equal(strncmp(err.text, "BUSY ", 5), 0);
    assert_int_equal(store_load_sale(here, "s", &sale, &err), STORE_UNAVAILABLE);
    assert_true(sale_do(world->client, "SCRIPT KILL"));
    assert_true(
        sale_eventually(answers, world, 5000)); /* it looks now and then whether it shall end */
    assert_int_equal(store_load_sale(here, "s", &sale, NULL), STORE_OK);
    assert_string_not_equal(sale.stored_state, "ended");
}

/* The replicas of a client are waited for by its evals, and there are none here. */
TEST(an_order_that_no_replica_has_is_not_told, struct sale_world *world)
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
    put_up("s");
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

TEST(a_scan_that_another_server_ended_is_not_whole, struct sale_world *world)
{
    struct deployment deployment = {.kind = DEPLOYMENT_SENTINEL};
    struct store *store = store_new(world->client, "here", &deployment);

    assert_non_null(store);
    put_up("s");
    assert_true(sale_do(world->client, "HSET %s ann 7:held:k", world->keys.text[KEY_ORDERS]));
    assert_int_equal(store_scan_orders(store, "s", note_change, &deployment, NULL), STORE_UNKNOWN);
    assert_int_equal(store_scan_orders(store, "s", note_change, &deployment, NULL), STORE_OK);
    store_free(store);
}

static int open_world(void **state)
{
    if (sale_world_open(state) != 0) return -1;
    here = store_new(((struct sale_world *)*state)->client, "here", NULL);
    return here ? 0 : -1;
}

static int close_world(void **state)
{
    store_free(here);
    return sale_world_close(state);
}

/* Each test begins with nothing; the server is this program's alone. */
static int empty(void **state)
{
    sale_world_empty(*state);
    return 0;
}

FIXTURE(empty, NULL);
GROUP(open_world, close_world);
