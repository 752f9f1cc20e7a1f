/*
 * Every guard through group commit on a real Redis: what it answers and writes when all is well, and
 * what it answers when it is not (crowds are in guard_crowd_itest.c). A holder is paused by running
 * the real steps of lk_mutex_run() one by one, with the pause in between.
 * link: -Wl,--wrap=lk_mutex_run
 */
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "guards/guards.h"
#include "sale/order_id.h"
#include "sell/order_node.h"
#include "test/support/sale_postgres.h"
#include "test/support/testing.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* Of a round trip, where a test is about that; and less than the limits that are not meant (10 s, and 20 s). */
enum { ANSWER_MS = 300, PATIENCE_MS = 5000 };

/* ---- a holder that is paused ---------------------------------------------------------------------- */

static struct {
    atomic_bool is_on;
    lk_client *client; /* to look at the lock, and to take it meanwhile */
    const char *key;
    lk_status status; /* of the guarded script */
    lk_status released;
} pause_mode;

static bool lease_is_over(void *arg)
{
    return sale_ask_number(pause_mode.client, "EXISTS %s", pause_mode.key) == 0;
}

FAKE(lk_status, lk_mutex_run, lk_lock *mutex, const struct lk_lock_options *options,
     const struct lk_eval *eval, lk_reply **out_reply, struct lk_error *err)
{
    if (!atomic_load(&pause_mode.is_on)) {
        return __real_lk_mutex_run(mutex, options, eval, out_reply, err);
    }
    lk_status status = lk_lock_acquire(mutex, options, err);
    if (status != LK_OK) return status;
    (void)sale_do(pause_mode.client, "PEXPIRE %s 1", pause_mode.key);
    if (!sale_eventually(lease_is_over, NULL, 5000)) return LK_INVALID;
    (void)sale_do(pause_mode.client, "SET %s somebody-else", pause_mode.key);
    pause_mode.status = lk_guarded_eval(mutex, eval, 0, out_reply, err);
    pause_mode.released = lk_lock_release(mutex, NULL);
    return pause_mode.status;
}

/* All of the sale but its fence: a write that is refused has shown its token, too. */
static char *dump_sale(struct sale_world *world)
{
    char *dump = sale_dump(world->client, "s");
    char *fence = strstr(dump, "seckill:{s}:fence:");
    char *end = fence ? strchr(fence, '\n') : NULL;
    char *rest = NULL;

    if (!end || asprintf(&rest, "%.*s%s", (int)(fence - dump), dump, end + 1) < 0) abort();
    free(dump);
    return rest;
}

/* The same, and nothing of the sale has changed. */
static void is_refused(struct sale_world *world, const char *buyer, outcome expected)
{
    char *before = dump_sale(world);
    struct purchase purchase = sale_instances_buy(world, buyer, "");
    char *after = dump_sale(world);
    bool is_same = strcmp(before, after) == 0;

    if (!is_same) print_message("before:\n%safter:\n%s", before, after);
    free(before);
    free(after);
    assert_string_equal(sale_outcome_name(purchase.outcome), sale_outcome_name(expected));
    assert_true(is_same);
}

static const char *const sound[] = {"mutex",       "mutex-watchdog", "reentrant", "fair",
                                    "spin",        "fenced",         "postgres",  "database",
                                    "skip-locked", "script",         "watch"};
static const char *const all[] = {"mutex",
                                  "mutex-watchdog",
                                  "fenced",
                                  "postgres",
                                  "database",
                                  "skip-locked",
                                  "select-then-update",
                                  "unlock-before-commit",
                                  "script",
                                  "watch",
                                  "none",
                                  "thread",
                                  "file",
                                  "setnx",
                                  "set-del",
                                  "setnx-expire",
                                  "get-del",
                                  "mutex-unchecked",
                                  "watchdog-unchecked"};
/* By a string at the lock key. */
static const char *const locking[] = {"mutex",           "mutex-watchdog",    "setnx",
                                      "setnx-expire",    "set-del",           "get-del",
                                      "mutex-unchecked", "watchdog-unchecked"};

/* Some units of the sale cool, for longer than a test takes; nothing may cool for ten seconds. */
static const char *cooling(unsigned units)
{
    static char command[80];

    (void)snprintf(command, sizeof command, "HSET seckill:{s}:sale cool %" PRId64 ":%u",
                   clock_unix_ms() + 9900, units);
    return command;
}

/* ---- when all is well ----------------------------------------------------------------------------------- */

TEST(units_that_cool_stay_in_stock, struct sale_world *world)
{
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        SALE_INSTANCES(world, all[i], 9, .batch = 8);
        assert_true(sale_do(world->client, "%s", cooling(7)));
        sale_instances_expect(world, "ann", OUTCOME_CREATED);
        sale_instances_expect(world, "bob", OUTCOME_CREATED);
        sale_instances_expect(world, "cid", OUTCOME_SOLD_OUT);
        assert_int_equal(sale_number(world, "GET seckill:{s}:stock"), 7);
    }
}

TEST(a_buyer_is_answered_by_his_order_then_by_the_state, struct sale_world *world)
{
    static const struct {
        const char *command; /* NULL: none; "cool": cooling(9) */
        outcome winner;
        outcome newcomer;
    } rows[] = {
        {NULL, OUTCOME_ALREADY_ORDERED, OUTCOME_CREATED},
        {"SET seckill:{s}:stock 0", OUTCOME_ALREADY_ORDERED, OUTCOME_SOLD_OUT},
        {"cool", OUTCOME_ALREADY_ORDERED, OUTCOME_SOLD_OUT},
        {"HSET seckill:{s}:sale state paused", OUTCOME_ALREADY_ORDERED, OUTCOME_PAUSED},
        {"HSET seckill:{s}:sale state ended", OUTCOME_ALREADY_ORDERED, OUTCOME_ENDED},
        {"HSET seckill:{s}:sale ends_ms 1", OUTCOME_ALREADY_ORDERED, OUTCOME_ENDED},
        {"HSET seckill:{s}:sale starts_ms 95617584000000", OUTCOME_ALREADY_ORDERED,
         OUTCOME_NOT_STARTED},
        {"DEL seckill:{s}:sale", OUTCOME_NO_SALE, OUTCOME_NO_SALE},
    };
    static const unsigned batches[] = {1, 8};

    for (size_t i = 0; i < COUNT_OF(all) * COUNT_OF(batches) * COUNT_OF(rows); i++) {
        size_t r = i % COUNT_OF(rows);

        /* New shops each time: what an old one remembers is not about this sale. */
        SALE_INSTANCES(world, all[i / COUNT_OF(rows) / COUNT_OF(batches)], 9,
                       .batch = batches[i / COUNT_OF(rows) % 2]);
        struct purchase first = sale_instances_buy(world, "ann", "key");
        assert_int_equal(first.outcome, OUTCOME_CREATED);
        const char *command = rows[r].command;
        if (command && strcmp(command, "cool") == 0) command = cooling(9);
        if (command) assert_true(sale_do(world->client, "%s", command));
        struct purchase again = sale_instances_buy(world, "ann", "key");
        struct purchase other = sale_instances_buy(world, "ann", "other");
        struct purchase newcomer = sale_instances_buy(world, "bob", "");
        if (rows[r].winner == OUTCOME_ALREADY_ORDERED) {
            assert_int_equal(again.outcome, OUTCOME_REPLAYED);
            assert_string_equal(again.order_id, first.order_id);
            assert_string_equal(other.order_id, first.order_id);
        }
        assert_string_equal(sale_outcome_name(other.outcome), sale_outcome_name(rows[r].winner));
        assert_string_equal(sale_outcome_name(newcomer.outcome),
                            sale_outcome_name(rows[r].newcomer));
        if (newcomer.outcome == OUTCOME_NOT_STARTED) {
            int64_t left_ms = 95617584000000 - clock_unix_ms();
            assert_in_range(newcomer.retry_ms, left_ms - 60000, left_ms + 60000);
        }
    }
}

TEST(what_is_written_is_as_documented, struct sale_world *world)
{
    struct sale sale;
    struct order order;

    for (size_t i = 0; i < COUNT_OF(all); i++) {
        SALE_INSTANCES(world, all[i], 9, .batch = 8);
        struct purchase bought = sale_instances_buy(world, "ann", "key");
        assert_int_equal(bought.outcome, OUTCOME_CREATED);
        assert_string_equal(bought.guard, all[i]);
        assert_in_range(order_id_ms(bought.order_id), clock_unix_ms() - 60000, clock_unix_ms());
        assert_int_equal(store_find_order(world->shops[1].store, "s", "ann", &order, NULL),
                         STORE_OK);
        assert_string_equal(order.id, bought.order_id);
        assert_string_equal(order.state, "held");
        assert_string_equal(order.key, "key");
        assert_int_equal(store_load_sale(world->shops[1].store, "s", &sale, NULL), STORE_OK);
        assert_int_equal(sale.left, 8);

        char row[128];
        char *dump = sale_dump(world->client, "s");
        (void)snprintf(row, sizeof row, "(event sold by first epoch 1 left 8 order %s:ann:key)",
                       bought.order_id);
        assert_non_null(strstr(dump, row));
        free(dump);
    }
}

/* ---- locks ---------------------------------------------------------------------------------------------- */

TEST(a_holder_that_overslept_sells_nothing, struct sale_world *world)
{
    SALE_INSTANCES(world, "mutex", 9, .batch = 8);
    sale_instances_expect(world, "ann", OUTCOME_CREATED);
    pause_mode.client = world->client;
    pause_mode.key = world->keys.text[KEY_LOCK];
    sale_remember(world->client);
    atomic_store(&pause_mode.is_on, true);
    struct purchase late = sale_instances_buy(world, "bob", "");
    atomic_store(&pause_mode.is_on, false);

    assert_string_equal(sale_outcome_name(late.outcome), sale_outcome_name(OUTCOME_LOCK_TIMEOUT));
    assert_int_equal(pause_mode.status, LK_NOT_OWNER);
    assert_int_equal(pause_mode.released, LK_NOT_OWNER);
    lk_reply *lock = sale_ask(world->client, "GET %s", world->keys.text[KEY_LOCK]);
    assert_string_equal(lk_reply_bytes(lock).data, "somebody-else"); /* and was left alone */
    lk_reply_free(lock);
    assert_true(sale_do(world->client, "DEL %s", world->keys.text[KEY_LOCK]));
    sale_assert_same(world->client, "a late sell");
    sale_instances_expect(world, "bob", OUTCOME_CREATED);
}

TEST(a_lock_that_is_not_given_back_costs_the_deadline_only, struct sale_world *world)
{
    enum { DEADLINE_MS = 200 };
    static const unsigned batches[] = {1, 8};

    for (size_t i = 0; i < COUNT_OF(locking) * COUNT_OF(batches); i++) {
        SALE_INSTANCES(world, locking[i / COUNT_OF(batches)], 9,
                       .batch = batches[i % COUNT_OF(batches)], .deadline_ms = DEADLINE_MS);
        assert_true(sale_do(world->client, "SET %s somebody PX 60000", world->keys.text[KEY_LOCK]));
        int64_t begin_ms = clock_mono_ms();
        is_refused(world, "ann", OUTCOME_LOCK_TIMEOUT);
        assert_in_range(clock_mono_ms() - begin_ms, DEADLINE_MS - 50, PATIENCE_MS);
        assert_true(sale_do(world->client, "DEL %s", world->keys.text[KEY_LOCK]));
        sale_instances_expect(world, "ann", OUTCOME_CREATED);
    }
}

TEST(a_lock_of_a_wrong_type_sells_nothing, struct sale_world *world)
{
    for (size_t i = 0; i < COUNT_OF(locking); i++) {
        SALE_INSTANCES(world, locking[i], 9, .batch = 8, .deadline_ms = 200);
        assert_true(sale_do(world->client, "RPUSH %s x", world->keys.text[KEY_LOCK]));
        is_refused(world, "ann", OUTCOME_LOCK_TIMEOUT); /* SET NX sees a key: taken */
    }
}

/* Each system counts by itself. */
TEST(a_number_of_redis_says_nothing_about_one_of_postgres, struct sale_world *world)
{
    SALE_INSTANCES(world, "postgres", 9, .batch = 8);
    assert_true(sale_do(world->client, "SET seckill:{s}:fence 1000000"));
    sale_instances_expect(world, "ann", OUTCOME_CREATED);
    assert_true(sale_number(world, "GET seckill:{s}:fence-postgres") > 0);
}

/* ---- a sale in PostgreSQL ------------------------------------------------------------------------------- */

/* By a process that died before it recorded that. */
static void decide_for_cid(const char *guard)
{
    bool has_rows = strcmp(guard, "skip-locked") == 0;

    (void)lkp_ask(sale_postgres, "%s",
                  has_rows ? "DELETE FROM seckill.unit WHERE ctid IN"
                             " (SELECT ctid FROM seckill.unit LIMIT 1)"
                           : "UPDATE seckill.sale SET stock = stock - 1");
    (void)lkp_ask(
        sale_postgres,
        "INSERT INTO seckill.orders (sale, buyer, id, process, attempt, taken)"
        " SELECT name, 'cid', '4711', 'dead', 7, now() - interval '1 h' FROM seckill.sale");
}

TEST(what_was_decided_and_never_recorded_is_void_and_taken_back, struct sale_world *world)
{
    static const char *const guards[] = {"database", "skip-locked"};

    for (size_t i = 0; i < COUNT_OF(guards); i++) {
        SALE_INSTANCES(world, guards[i], 2, .batch = 8);
        (void)lkp_ask(sale_postgres, "SET client_min_messages = warning");
        (void)lkp_ask(sale_postgres, "DROP SCHEMA IF EXISTS seckill CASCADE");
        sale_instances_expect(world, "ann", OUTCOME_CREATED);
        decide_for_cid(guards[i]);
        sale_instances_expect(world, "bob", OUTCOME_CREATED);
        sale_books_are(world, 2, 0, 3);
        assert_int_equal(sale_number(world, "HGET seckill:{s}:void dead"), 7);
        assert_string_equal(lkp_ask(sale_postgres, "SELECT string_agg(buyer, ' ' ORDER BY buyer)"
                                                   " FROM seckill.orders WHERE is_recorded"),
                            "ann bob");
        assert_string_equal(lkp_ask(sale_postgres, "SELECT count(*) FROM seckill.orders"), "2");
        sale_instances_expect(world, "dan", OUTCOME_SOLD_OUT);
    }
}

/* ---- a sale, a server in trouble ------------------------------------------------------------------------ */

TEST(a_spoilt_sale_is_unavailable_and_stays_as_it_is, struct sale_world *world)
{
    static const char *const spoils[] = {
        "SET seckill:{s}:stock abc",   "DEL seckill:{s}:stock",
        "HDEL seckill:{s}:sale epoch", "HSET seckill:{s}:sale ends_ms never",
        "RPUSH seckill:{s}:orders x",  "RPUSH seckill:{s}:void x",
    };

    for (size_t i = 0; i < COUNT_OF(all); i++) {
        for (size_t k = 0; k < COUNT_OF(spoils); k++) {
            SALE_INSTANCES(world, all[i], 9, .batch = 8);
            sale_instances_expect(world, "ann", OUTCOME_CREATED);
            if (strncmp(spoils[k], "RPUSH", 5) == 0) {
                assert_true(sale_do(world->client, "DEL %s", world->keys.text[KEY_ORDERS]));
            }
            assert_true(sale_do(world->client, "%s", spoils[k]));
            is_refused(world, "bob", OUTCOME_STORE_UNAVAILABLE);
        }
    }
}

TEST(a_server_out_of_memory_is_unavailable_and_writes_nothing, struct sale_world *world)
{
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        /* By the lock, or as a whole; these learn of it amid their writes. */
        bool is_refused_first = strcmp(all[i], "none") != 0 && strcmp(all[i], "thread") != 0 &&
                                strcmp(all[i], "file") != 0;
        const struct guard *guard = guards_find(all[i]);

        if (guard->needs && guard->flaw) continue; /* what they have counted they never take back */

        SALE_INSTANCES(world, all[i], 9, .batch = 8);
        sale_instances_expect(world, "ann", OUTCOME_CREATED);
        assert_true(sale_do(world->client, "CONFIG SET maxmemory 1"));
        is_refused(world, "bob", is_refused_first ? OUTCOME_STORE_UNAVAILABLE : OUTCOME_UNKNOWN);
        assert_true(sale_do(world->client, "CONFIG SET maxmemory 0"));
        sale_instances_expect(world, "bob", OUTCOME_CREATED);
    }
}

struct probe {
    struct sale_world *world;
    const char *buyer;
    outcome last;
};

static bool gets_an_order(void *arg)
{
    struct probe *probe = arg;

    probe->last = sale_instances_buy(probe->world, probe->buyer, "again").outcome;
    return probe->last == OUTCOME_CREATED || probe->last == OUTCOME_REPLAYED;
}

TEST(a_server_that_is_gone_is_unavailable_at_once_and_back_by_itself, struct sale_world *world)
{
    for (size_t i = 0; i < COUNT_OF(sound); i++) {
        struct probe probe = {.world = world, .buyer = "bob"};

        SALE_INSTANCES(world, sound[i], 9, .batch = 8);
        sale_instances_expect(world, "ann", OUTCOME_CREATED);
        sale_server_stop(&world->server, SIGTERM);
        for (int k = 0; k < 3; k++) {
            int64_t begin_ms = clock_mono_ms();

            sale_instances_expect(world, "bob", OUTCOME_STORE_UNAVAILABLE);
            assert_true(clock_mono_ms() - begin_ms < PATIENCE_MS);
        }
        assert_true(sale_server_restart(&world->server));
        assert_true(sale_eventually(gets_an_order, &probe, 5000));
        assert_int_equal(probe.last, OUTCOME_CREATED); /* unavailable was the truth */
        sale_instances_expect(world, "ann", OUTCOME_ALREADY_ORDERED);
    }
}

TEST(a_server_that_hangs_costs_the_deadline_and_a_round_trip, struct sale_world *world)
{
    enum { DEADLINE_MS = 400 };

    for (size_t i = 0; i < COUNT_OF(sound); i++) {
        struct probe ann = {.world = world, .buyer = "ann"};
        struct probe bob = {.world = world, .buyer = "bob"};

        world->answer_ms = ANSWER_MS;
        SALE_INSTANCES(world, sound[i], 9, .batch = 8, .deadline_ms = DEADLINE_MS);
        assert_true(sale_eventually(gets_an_order, &ann, 5000));
        assert_true(sale_server_freeze(&world->server));
        int64_t begin_ms = clock_mono_ms();
        struct purchase lost = sale_instances_buy(world, "bob", "again");
        int64_t took_ms = clock_mono_ms() - begin_ms;
        sale_server_thaw(&world->server);

        /* With a round trip of its own for reading or locking, a guard knows that it sold nothing. */
        bool is_known = strcmp(sound[i], "mutex") != 0 && strcmp(sound[i], "script") != 0 &&
                        strcmp(sound[i], "postgres") != 0;
        if (lost.outcome != OUTCOME_LOCK_TIMEOUT &&
            lost.outcome != (is_known ? OUTCOME_STORE_UNAVAILABLE : OUTCOME_UNKNOWN))
            fail_msg("%s: %s", sound[i], sale_outcome_name(lost.outcome));
        assert_in_range(took_ms, ANSWER_MS - 10, PATIENCE_MS);
        /* Asking again resolves it: one order, whether or not the lost one was made. */
        assert_true(sale_eventually(gets_an_order, &bob, 5000));
        sale_books_are(world, 2, 7, 3);
    }
}

/* ---- node numbers ------------------------------------------------------------------------------------------ */

TEST(node_numbers_differ_and_are_given_back, struct sale_world *world)
{
    enum { NODES = 5 };
    struct order_node *nodes[NODES];
    struct order_ids ids[NODES] = {{0}};
    int numbers[NODES];

    SALE_INSTANCES(world, "mutex", 1, .batch = 8);
    for (size_t i = 0; i < NODES; i++) {
        nodes[i] =
            order_node_new(i % 2 == 0 ? world->client : world->shops[0].client, NULL, &ids[i]);
        assert_non_null(nodes[i]);
        numbers[i] = order_node_number(nodes[i]);
        assert_in_range(numbers[i], 0, ORDER_NODES - 1);
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(numbers[i], numbers[k]);
        assert_int_equal(sale_ask_number(world->client, "EXISTS seckill:node:%d", numbers[i]), 1);
        assert_true(sale_ask_number(world->client, "PTTL seckill:node:%d", numbers[i]) > 0);
    }
    for (size_t i = 0; i < NODES; i++) {
        order_node_free(nodes[i]);
        assert_int_equal(sale_ask_number(world->client, "EXISTS seckill:node:%d", numbers[i]), 0);
    }
}

TEST(two_instances_never_make_the_same_order_id, struct sale_world *world)
{
    SALE_INSTANCES(world, "script", 9, .batch = 8);
    struct purchase one = {.buyer = "ann", .key = ""};
    struct purchase two = {.buyer = "bob", .key = ""};
    (void)group_commit_sell(world->shops[0].group, "s", &one);
    (void)group_commit_sell(world->shops[1].group, "s", &two);
    assert_int_equal(one.outcome, OUTCOME_CREATED);
    assert_int_equal(two.outcome, OUTCOME_CREATED);
    int64_t first = strtoll(one.order_id, NULL, 10) >> 12 & (ORDER_NODES - 1);
    int64_t second = strtoll(two.order_id, NULL, 10) >> 12 & (ORDER_NODES - 1);
    assert_int_not_equal(first, second);
}

GROUP(sale_postgres_open, sale_postgres_close);
