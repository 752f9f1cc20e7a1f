/*
 * The sale's scripts and their keys: spoilt and foreign ones, a lock that is another's, no rights
 * beyond the declared keys, a large sale, a server that restarts. What is wrong is a clean error, and
 * nothing is written.
 */
#include <signal.h>

#include "test/support/script_world.h"
#include "test/support/testing.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

struct spoilt {
    const char *command; /* behind it come the key and the rest */
    enum sale_key key;
    const char *rest;
    const char *purchase; /* how its error begins; NULL: not affected */
    const char *end;
    const char *resolve;
};

static const struct spoilt spoils[] = {
    {"SET", KEY_STOCK, "abc", "BADSTOCK", NULL, NULL},
    {"SET", KEY_STOCK, "-1", "BADSTOCK", NULL, NULL},
    {"SET", KEY_STOCK, "1e3", "BADSTOCK", NULL, NULL},
    {"SET", KEY_STOCK, "0x10", "BADSTOCK", NULL, NULL},
    {"SET", KEY_STOCK, "nan", "BADSTOCK", NULL, NULL},
    {"SET", KEY_STOCK, "1.5", "BADSTOCK", NULL, NULL},
    {"SET", KEY_STOCK, "", "BADSTOCK", NULL, NULL},
    {"SET", KEY_STOCK, "9007199254740993", "BADSTOCK", NULL, NULL},
    {"DEL", KEY_STOCK, NULL, "BADSTOCK", "BADSALE", NULL},
    {"HDEL", KEY_SALE, "starts_ms", "BADSALE", NULL, NULL},
    {"HDEL", KEY_SALE, "ends_ms", "BADSALE", NULL, NULL},
    {"HDEL", KEY_SALE, "epoch", "BADSALE", "BADSALE", NULL},
    {"HSET", KEY_SALE, "starts_ms abc", "BADSALE", NULL, NULL},
    {"HSET", KEY_SALE, "starts_ms -5", "BADSALE", NULL, NULL},
    {"HSET", KEY_SALE, "ends_ms nan", "BADSALE", NULL, NULL},
    {"HSET", KEY_SALE, "ends_ms 9007199254740993", "BADSALE", NULL, NULL},
    {"HSET", KEY_SALE, "epoch one", "BADSALE", NULL, NULL},
    /* The stream has no id left: XADD is refused. */
    {"XADD", KEY_LEDGER, "18446744073709551615-18446744073709551615 a b", "ERR", "ERR", NULL},
    {"HSET", KEY_VOID, "p one", "", NULL, ""},
    {"HSET", KEY_VOID, "p nil", "", NULL, ""},
};

/* Given what it takes when all is well, it fails with such words. */
static void refuses_good(struct script_world *world, enum script_name script, const char *words,
                         const char *what)
{
    char text[] = "here,p,1,1,bob,12,k"; /* of purchase.lua; the others' is shorter */
    struct lk_bytes args[SCRIPT_ARGS_MAX];

    if (!words) return; /* it is not affected */
    if (script != PURCHASE) (void)snprintf(text, sizeof text, script == END ? "here" : "p,1,bob");
    script_refuses(world, script, args, script_split(text, args), words, what);
}

TEST(a_spoilt_sale_sells_nothing_and_writes_nothing, struct script_world *world)
{
    for (size_t i = 0; i < COUNT_OF(spoils); i++) {
        const struct spoilt *row = &spoils[i];
        char what[128];

        script_put_up(world);
        (void)snprintf(what, sizeof what, "%s %s%s%s", row->command, world->keys.text[row->key],
                       row->rest ? " " : "", row->rest ? row->rest : "");
        assert_true(sale_do(world->client, "%s", what));
        refuses_good(world, PURCHASE, row->purchase, what);
        refuses_good(world, END, row->end, what);
        refuses_good(world, RESOLVE, row->resolve, what);
    }
}

TEST(a_key_of_a_wrong_type_is_a_clean_error, struct script_world *world)
{
    static const struct {
        enum script_name script;
        enum sale_key key;
    } rows[] = {{PURCHASE, KEY_SALE},   {PURCHASE, KEY_STOCK}, {PURCHASE, KEY_ORDERS},
                {PURCHASE, KEY_LEDGER}, {PURCHASE, KEY_VOID},  {END, KEY_SALE},
                {END, KEY_STOCK},       {END, KEY_LEDGER},     {RESOLVE, KEY_VOID},
                {RESOLVE, KEY_ORDERS}};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *key = world->keys.text[rows[i].key];

        script_put_up(world);
        (void)sale_do(world->client, "DEL %s", key);
        assert_true(sale_do(world->client, "RPUSH %s x", key));
        refuses_good(world, rows[i].script, "WRONGTYPE", key);
    }
}

TEST(a_sale_is_not_created_over_anything, struct script_world *world)
{
    for (size_t i = KEY_SALE; i <= KEY_LEDGER; i++) {
        script_wipe(world);
        assert_true(sale_do(world->client, "RPUSH %s x", world->keys.text[i]));
        sale_remember(world->client);
        assert_int_equal(script_run_number(world, CREATE, "here,title,3,0,0,mutex"), 0);
        sale_assert_same(world->client, world->keys.text[i]);
    }
}

TEST(an_order_that_is_none_still_stops_a_second_one, struct script_world *world)
{
    script_put_up(world);
    assert_true(sale_do(world->client, "HSET %s ann garbage bob 17", world->keys.text[KEY_ORDERS]));
    assert_string_equal(script_buy(world, "ann", "12"), "A");
    assert_string_equal(script_buy(world, "bob", "13"), "A");
    assert_string_equal(script_buy(world, "cid", "14"), "C");
}

TEST(a_wrong_token_refuses_the_whole_batch, struct script_world *world)
{
    lk_lock *paused = lk_mutex_new(world->client, world->keys.text[KEY_LOCK], NULL);
    lk_lock *next = lk_mutex_new(world->client, world->keys.text[KEY_LOCK], NULL);
    struct lk_error err = {0};
    lk_reply *reply = NULL;
    char text[] = "here,p,1,1,bob,12,k";
    struct lk_bytes args[SCRIPT_ARGS_MAX];
    struct lk_bytes keys[SCRIPT_KEYS_MAX];

    script_put_up(world);
    const struct lk_eval eval = script_eval(world, PURCHASE, args, script_split(text, args), keys);
    assert_int_equal(lk_lock_acquire(paused, NULL, NULL), LK_OK);
    assert_true(sale_do(world->client, "DEL %s", world->keys.text[KEY_LOCK])); /* its lease ended */
    assert_int_equal(lk_lock_acquire(next, NULL, NULL), LK_OK);
    sale_remember(world->client);
    assert_int_equal(lk_guarded_eval(paused, &eval, 0, &reply, &err), LK_NOT_OWNER);
    sale_assert_same(world->client, "a guarded eval");
    assert_int_equal(lk_guarded_eval(next, &eval, 0, &reply, &err), LK_OK);
    assert_string_equal(lk_reply_bytes(lk_reply_at(reply, 3)).data, "C");
    lk_reply_free(reply);
    assert_int_equal(lk_lock_release(paused, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_lock_release(next, NULL), LK_OK);
    lk_lock_free(paused);
    lk_lock_free(next);
}

static bool limit_keys(struct script_world *world, bool is_limited)
{
    if (!is_limited) return sale_do(world->client, "ACL SETUSER default allkeys");
    if (!sale_do(world->client, "ACL SETUSER default resetkeys")) return false;
    for (size_t i = 0; i < SALE_KEY_COUNT; i++) {
        if (!sale_do(world->client, "ACL SETUSER default ~%s", world->keys.text[i])) return false;
    }
    return true;
}

static lk_status buy_under_lock(struct script_world *world, const char *buyer)
{
    lk_lock *lock = lk_mutex_new(world->client, world->keys.text[KEY_LOCK], NULL);
    const struct lk_bytes args[] = {LK_BYTES("here"), LK_BYTES("p"),      LK_BYTES("1"),
                                    LK_BYTES("1"),    lk_bytes_of(buyer), LK_BYTES("21"),
                                    LK_BYTES("")};
    struct lk_bytes keys[SCRIPT_KEYS_MAX];
    const struct lk_eval eval = script_eval(world, PURCHASE, args, COUNT_OF(args), keys);
    lk_reply *reply = NULL;
    lk_status status = lk_mutex_run(lock, NULL, &eval, &reply, NULL);

    lk_reply_free(reply);
    lk_lock_free(lock);
    return status;
}

/* Redis refuses a key that a script touches without a right to it. */
TEST(the_scripts_touch_declared_keys_only, struct script_world *world)
{
    char bought[3][32];

    script_wipe(world);
    assert_true(limit_keys(world, true));
    long long created = script_run_number(world, CREATE, "here,title,3,0,0,mutex");
    (void)snprintf(bought[0], sizeof bought[0], "%s", script_buy(world, "ann", "11"));
    (void)snprintf(bought[1], sizeof bought[1], "%s", script_buy(world, "ann", "12"));
    lk_status status = buy_under_lock(world, "bob");
    struct script_answer resolved = script_run_text(world, RESOLVE, "p,0,ann,bob");
    long long ended = script_run_number(world, END, "here");
    (void)snprintf(bought[2], sizeof bought[2], "%s", script_buy(world, "cid", "13"));
    bool reads_others = sale_do(world->client, "GET other");
    assert_true(limit_keys(world, false));

    assert_int_equal(created, 1);
    assert_string_equal(bought[0], "C");
    assert_string_equal(bought[1], "A11");
    assert_int_equal(status, LK_OK);
    assert_int_equal(resolved.status, LK_OK);
    assert_string_equal(lk_reply_bytes(lk_reply_at(resolved.reply, 0)).data, "11:held:");
    lk_reply_free(resolved.reply);
    assert_int_equal(ended, 1);
    assert_string_equal(bought[2], "E");
    assert_false(reads_others); /* the limit was in force */
}

static void fill(struct script_world *world)
{
    static const struct lk_script_source filler = {
        .name = "filler",
        .source = "for i = 1, 100000 do\n"
                  "  redis.call('HSET', KEYS[3], 'b' .. i, i .. ':held:k')\n"
                  "  redis.call('XADD', KEYS[4], '*', 'event', 'sold', 'order', i .. ':b:k')\n"
                  "end\n"
                  "return 1"};
    struct script_world other = *world;

    other.script[PURCHASE] = lk_script_new(&filler);
    assert_non_null(other.script[PURCHASE]);
    assert_int_equal(script_run_number(&other, PURCHASE, ""), 1);
    lk_script_free(other.script[PURCHASE]);
}

/* Microseconds that Redis spent on a script, on average since CONFIG RESETSTAT. */
static double script_us(struct script_world *world)
{
    lk_reply *info = sale_ask(world->client, "INFO commandstats");
    const char *text = lk_reply_bytes(info).data;
    const char *line = text ? strstr(text, "cmdstat_evalsha:") : NULL;
    const char *value = line ? strstr(line, "usec_per_call=") : NULL;
    double us = value ? strtod(value + sizeof "usec_per_call=" - 1, NULL) : 1e9;

    lk_reply_free(info);
    return us;
}

TEST(a_purchase_does_not_slow_down_in_a_large_sale, struct script_world *world)
{
    script_wipe(world);
    assert_int_equal(script_run_number(world, CREATE, "here,title,200000,0,0,mutex"), 1);
    fill(world);
    assert_true(sale_do(world->client, "CONFIG RESETSTAT"));
    for (int i = 0; i < 200; i++) {
        char buyer[16];

        (void)snprintf(buyer, sizeof buyer, "new-%d", i);
        assert_string_equal(script_buy(world, buyer, "7"), "C");
        assert_string_equal(script_buy(world, "b77777", "8"), "A77777");
    }
    assert_true(script_us(world) < 1000);
}

static bool rewrite_is_over(void *arg)
{
    lk_reply *info = sale_ask(arg, "INFO persistence");
    const char *text = lk_reply_bytes(info).data;
    bool is_over = text && strstr(text, "aof_rewrite_in_progress:0") &&
                   strstr(text, "aof_rewrite_scheduled:0") &&
                   strstr(text, "aof_last_bgrewrite_status:ok");

    lk_reply_free(info);
    return is_over;
}

static void restart(struct script_world *world, int signal_number)
{
    lk_client_close(world->client);
    world->client = NULL;
    sale_server_stop(&world->server, signal_number);
    assert_true(sale_server_restart(&world->server));
    world->client = sale_connect(&world->server, 4, SALE_GENEROUS_MS);
    assert_non_null(world->client);
}

TEST(a_restart_brings_the_same_state_back, struct script_world *world)
{
    for (int is_rewritten = 0; is_rewritten < 2; is_rewritten++) {
        script_put_up(world);
        assert_string_equal(script_buy(world, "bob", "12"), "C");
        if (is_rewritten) {
            assert_true(sale_do(world->client, "BGREWRITEAOF"));
            assert_true(sale_eventually(rewrite_is_over, world->client, 10000));
            assert_string_equal(script_buy(world, "cid", "13"), "C"); /* after the rewrite */
        }
        assert_int_equal(script_status(world, RESOLVE, "gone,7,ann"), LK_OK);
        sale_remember(world->client);
        restart(world, SIGTERM);
        sale_assert_same(world->client, "a restart");
        /* the server knows no script now */
        assert_string_equal(script_buy(world, "ann", "14"), "A11");
        assert_string_equal(script_buy(world, "dan", "15"), is_rewritten ? "S" : "C");
        assert_int_equal(buy_under_lock(world, "eve"), LK_OK);
        /* given up is given up */
        assert_int_equal(script_status(world, PURCHASE, "here,gone,7,1,fay,16,"), LK_SERVER);
    }
}

GROUP(script_world_open, script_world_close);
