/*
 * The sale's scripts under bad conditions: hostile arguments, spoilt and foreign keys, no rights
 * beyond the declared keys, a server that restarts. The rule is one: a clean error, nothing written.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "app_scripts.h"
#include "itest/sale_support.h"
#include "sale_keys.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

enum { BIG = 65536, ARGS_MAX = 16 };

struct world {
    struct sale_server server;
    lk_client *client;
    lk_script *purchase;
    lk_script *create;
    lk_script *end;
    struct sale_keys keys; /* of sale "s" */
};

static char big[BIG + 1]; /* 64 KB of ones */

/* ---- running ---------------------------------------------------------------------------------------- */

struct answer {
    lk_status status;
    struct lk_error err;
    lk_reply *reply; /* owned */
};

static struct answer run(struct world *world, lk_script *script, const struct lk_bytes *args,
                         size_t count)
{
    const struct lk_bytes end_keys[] = {world->keys.key[KEY_SALE], world->keys.key[KEY_STOCK],
                                        world->keys.key[KEY_LEDGER]};
    bool is_end = script == world->end;
    const struct lk_eval eval = {.script = script,
                                 .keys = is_end ? end_keys : world->keys.key,
                                 .key_count = is_end ? 3 : 4,
                                 .args = args,
                                 .arg_count = count};
    struct answer answer = {.reply = NULL};

    answer.status = lk_client_eval(world->client, &eval, 0, &answer.reply, &answer.err);
    return answer;
}

/* Arguments as one text, "," between them, for what has no comma in it. */
static struct answer run_text(struct world *world, lk_script *script, const char *text)
{
    char copy[512];
    char *rest = copy;
    struct lk_bytes args[ARGS_MAX];
    size_t count = 0;

    (void)snprintf(copy, sizeof copy, "%s", text);
    while (rest && count < ARGS_MAX)
        args[count++] = lk_bytes_of(strsep(&rest, ","));
    return run(world, script, args, count);
}

/* The integer that a script answers, or -1. */
static long long run_number(struct world *world, lk_script *script, const char *text)
{
    struct answer answer = run_text(world, script, text);
    long long number = lk_reply_integer(answer.reply, -1);

    lk_reply_free(answer.reply);
    return number;
}

/* One buyer's answer ("C", "A17"...); "error: ..." when the script failed. Static storage. */
static const char *buy(struct world *world, const char *buyer, const char *id)
{
    static char text[256];
    char args[128];

    (void)snprintf(args, sizeof args, "here,1,%s,%s,", buyer, id);
    struct answer answer = run_text(world, world->purchase, args);
    const char *letter = lk_reply_bytes(lk_reply_at(answer.reply, 2)).data;
    (void)snprintf(text, sizeof text, "%s%s", answer.status == LK_OK ? "" : "error: ",
                   answer.status == LK_OK ? (letter ? letter : "?") : answer.err.text);
    lk_reply_free(answer.reply);
    return text;
}

/* The script fails with words of that beginning, and all keys stay as they are. */
static void refuses(struct world *world, lk_script *script, const struct lk_bytes *args,
                    size_t count, const char *words, const char *what)
{
    char *before = sale_dump(world->client, "s");
    struct answer answer = run(world, script, args, count);
    char *after = sale_dump(world->client, "s");
    bool is_same = before && after && strcmp(before, after) == 0;
    bool is_refused =
        answer.status == LK_SERVER && strncmp(answer.err.text, words, strlen(words)) == 0;

    lk_reply_free(answer.reply);
    if (!is_same) print_message("before:\n%safter:\n%s", before, after);
    free(before);
    free(after);
    if (!is_refused) {
        fail_msg("%s: %s \"%s\"", what, lk_status_name(answer.status), answer.err.text);
    }
    if (!is_same) fail_msg("%s: something was written", what);
}

static void wipe(struct world *world)
{
    for (size_t i = 0; i < SALE_KEY_COUNT; i++)
        (void)sale_do(world->client, "DEL %s", world->keys.text[i]);
}

/* Sale "s" with three units, one of them sold to ann. */
static void put_up(struct world *world)
{
    wipe(world);
    assert_int_equal(run_number(world, world->create, "here,title,3,0,0,mutex"), 1);
    assert_string_equal(buy(world, "ann", "11"), "C");
}

/* ---- hostile arguments -------------------------------------------------------------------------------- */

struct hostile {
    struct lk_bytes bytes;
    const char *what;
};

#define HOSTILE(text)                                                                              \
    {                                                                                              \
        {(text), sizeof(text) - 1}, #text                                                          \
    }

/* What is no number, or none that Lua could hold. */
static const struct hostile no_numbers[] = {
    HOSTILE(""),
    HOSTILE("-1"),
    HOSTILE("-0"),
    HOSTILE("+1"),
    HOSTILE("1e3"),
    HOSTILE("1e0"),
    HOSTILE("0x10"),
    HOSTILE("0x1"),
    HOSTILE("nan"),
    HOSTILE("inf"),
    HOSTILE("1.0"),
    HOSTILE(" 1"),
    HOSTILE("1 "),
    HOSTILE("1\n"),
    HOSTILE("1\0"),
    HOSTILE("\0"),
    HOSTILE("\xff\xfe"),
    HOSTILE("one"),
    HOSTILE("9007199254740993"), /* 2^53 + 1 */
    HOSTILE("18446744073709551617"),
    {{big, BIG}, "64 KB of ones"},
};

static void a_count_that_does_not_fit_is_refused(void **state)
{
    static const struct hostile misfits[] = {HOSTILE("0"),    HOSTILE("2"),    HOSTILE("01"),
                                             HOSTILE("1024"), HOSTILE("1025"), HOSTILE("99999")};
    struct world *world = *state;
    struct lk_bytes args[] = {LK_BYTES("here"), LK_BYTES("1"), LK_BYTES("bob"), LK_BYTES("12"),
                              LK_BYTES("k")};

    put_up(world);
    for (size_t i = 0; i < COUNT_OF(no_numbers); i++) {
        args[1] = no_numbers[i].bytes;
        refuses(world, world->purchase, args, COUNT_OF(args), "BADARGS", no_numbers[i].what);
    }
    for (size_t i = 0; i < COUNT_OF(misfits); i++) {
        args[1] = misfits[i].bytes;
        refuses(world, world->purchase, args, COUNT_OF(args), "BADARGS", misfits[i].what);
    }
}

static void arguments_too_few_or_too_many_are_refused(void **state)
{
    static const size_t counts[] = {0, 1, 2, 3, 4, 7, 8, 9};
    struct world *world = *state;
    struct lk_bytes args[9];

    put_up(world);
    for (size_t i = 0; i < COUNT_OF(args); i++)
        args[i] = LK_BYTES("1");
    for (size_t i = 0; i < COUNT_OF(counts); i++) /* 6 is right too: a lock's token may follow */
        refuses(world, world->purchase, args, counts[i], "BADARGS", "n is 1");
}

/* The second of three purchases is the bad one; the others are not sold either. */
static void one_malformed_purchase_refuses_the_whole_batch(void **state)
{
    static const struct hostile buyers[] = {
        HOSTILE(""),          HOSTILE("a b"), HOSTILE("a:b"),      HOSTILE("a\r\nSET x y"),
        HOSTILE("a\0b"),      HOSTILE("{a}"), HOSTILE("\xff\xfe"), HOSTILE("*"),
        {{big, BIG}, "64 KB"}};
    static const struct hostile keys[] = {HOSTILE("a b"),  HOSTILE(":"),    HOSTILE("\r\n"),
                                          HOSTILE("a\0b"), HOSTILE("\xff"), {{big, BIG}, "64 KB"}};
    static const struct hostile ids[] = {HOSTILE(""),     HOSTILE("-1"),   HOSTILE("1e3"),
                                         HOSTILE("0x10"), HOSTILE("nan"),  HOSTILE("1:held:"),
                                         HOSTILE("1\0"),  HOSTILE("\xff"), {{big, BIG}, "64 KB"}};
    const struct {
        const struct hostile *list;
        size_t count;
        size_t at;
    } places[] = {
        {buyers, COUNT_OF(buyers), 5}, {ids, COUNT_OF(ids), 6}, {keys, COUNT_OF(keys), 7}};
    struct world *world = *state;

    put_up(world);
    for (size_t p = 0; p < COUNT_OF(places); p++) {
        for (size_t i = 0; i < places[p].count; i++) {
            struct lk_bytes args[] = {LK_BYTES("here"), LK_BYTES("3"),  LK_BYTES("bob"),
                                      LK_BYTES("12"),   LK_BYTES("k1"), LK_BYTES("cid"),
                                      LK_BYTES("13"),   LK_BYTES("k2"), LK_BYTES("dan"),
                                      LK_BYTES("14"),   LK_BYTES("k3")};

            args[places[p].at] = places[p].list[i].bytes;
            refuses(world, world->purchase, args, COUNT_OF(args), "BADARGS",
                    places[p].list[i].what);
        }
    }
}

static void the_longest_names_are_not_malformed(void **state)
{
    static const char name[] = "abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    struct world *world = *state;
    const struct lk_bytes args[] = {LK_BYTES("here"), LK_BYTES("1"), lk_bytes_of(name),
                                    LK_BYTES("9223372036854775807"), lk_bytes_of(name)};

    put_up(world);
    assert_int_equal(strlen(name), BUYER_ID_MAX);
    struct answer answer = run(world, world->purchase, args, COUNT_OF(args));
    assert_int_equal(answer.status, LK_OK);
    assert_string_equal(lk_reply_bytes(lk_reply_at(answer.reply, 2)).data, "C");
    lk_reply_free(answer.reply);
}

static void the_largest_batch_is_sold_and_one_more_refused(void **state)
{
    enum { MOST = 1024 };
    struct world *world = *state;
    struct lk_bytes *args = calloc(2 + 3 * (MOST + 1), sizeof *args);
    char(*names)[16] = calloc(MOST + 1, sizeof *names);

    assert_true(args && names);
    wipe(world);
    assert_int_equal(run_number(world, world->create, "here,title,2000,0,0,mutex"), 1);
    args[0] = LK_BYTES("here");
    for (size_t i = 0; i <= MOST; i++) {
        (void)snprintf(names[i], sizeof *names, "%zu", 1 + i);
        args[2 + 3 * i] = lk_bytes_of(names[i]);
        args[3 + 3 * i] = lk_bytes_of(names[i]);
        args[4 + 3 * i] = LK_BYTES("");
    }
    args[1] = LK_BYTES("1025");
    refuses(world, world->purchase, args, 2 + 3 * (MOST + 1), "BADARGS", "1025 purchases");
    args[1] = LK_BYTES("1024");
    struct answer answer = run(world, world->purchase, args, 2 + 3 * MOST);
    assert_int_equal(answer.status, LK_OK);
    assert_int_equal(lk_reply_integer(lk_reply_at(answer.reply, 0), -1), 2000 - MOST);
    lk_reply_free(answer.reply);
    assert_int_equal(sale_ask_number(world->client, "HLEN %s", world->keys.text[KEY_ORDERS]), MOST);
    free(names);
    free(args);
}

static void a_sale_with_hostile_numbers_is_not_created(void **state)
{
    struct world *world = *state;

    wipe(world);
    for (size_t at = 2; at <= 4; at++) {
        for (size_t i = 0; i < COUNT_OF(no_numbers); i++) {
            struct lk_bytes args[] = {LK_BYTES("here"), LK_BYTES("t"), LK_BYTES("3"),
                                      LK_BYTES("0"),    LK_BYTES("0"), LK_BYTES("mutex")};

            args[at] = no_numbers[i].bytes;
            refuses(world, world->create, args, COUNT_OF(args), "BADARGS", no_numbers[i].what);
        }
    }
}

static void a_sale_that_could_not_be_read_back_is_not_created(void **state)
{
    struct world *world = *state;
    struct lk_bytes args[] = {LK_BYTES("here"), LK_BYTES("t"),     LK_BYTES("3"),   LK_BYTES("0"),
                              LK_BYTES("0"),    LK_BYTES("mutex"), LK_BYTES("more")};

    wipe(world);
    for (size_t count = 0; count <= COUNT_OF(args); count++) {
        if (count == 6) continue;
        refuses(world, world->create, args, count, "BADARGS", "a wrong number of arguments");
    }
    args[1] = (struct lk_bytes){.data = big, .len = SALE_TITLE_MAX + 1};
    refuses(world, world->create, args, 6, "BADARGS", "a long title");
    args[1] = (struct lk_bytes){.data = big, .len = BIG};
    refuses(world, world->create, args, 6, "BADARGS", "a very long title");
    args[1] = LK_BYTES("t");
    args[5] = (struct lk_bytes){.data = big, .len = SALE_GUARD_MAX + 1};
    refuses(world, world->create, args, 6, "BADARGS", "a long guard");
}

static void texts_are_bytes_and_come_back_as_they_are(void **state)
{
    static const char bytes[] = "\0\r\n\xff\xfe '\" :{}%s";
    struct world *world = *state;
    const struct lk_bytes text = {.data = bytes, .len = sizeof bytes - 1};
    const struct lk_bytes args[] = {text, text, LK_BYTES("3"), LK_BYTES("0"), LK_BYTES("0"), text};

    wipe(world);
    struct answer answer = run(world, world->create, args, COUNT_OF(args));
    assert_int_equal(lk_reply_integer(answer.reply, -1), 1);
    lk_reply_free(answer.reply);
    lk_reply *read = sale_ask(world->client, "HMGET %s title guard", world->keys.text[KEY_SALE]);
    for (size_t i = 0; i < 2; i++) {
        struct lk_bytes back = lk_reply_bytes(lk_reply_at(read, i));

        assert_int_equal(back.len, text.len);
        assert_memory_equal(back.data, bytes, text.len);
    }
    lk_reply_free(read);
}

static void ending_without_a_name_is_refused(void **state)
{
    struct world *world = *state;

    put_up(world);
    refuses(world, world->end, NULL, 0, "", "no instance");
}

/* ---- spoilt and foreign keys -------------------------------------------------------------------------- */

struct spoilt {
    const char *command; /* behind it come the key and the rest */
    enum sale_key key;
    const char *rest;
    const char *purchase; /* how its error begins; NULL: not affected */
    const char *end;
};

static const struct spoilt spoils[] = {
    {"SET", KEY_STOCK, "abc", "BADSTOCK", NULL},
    {"SET", KEY_STOCK, "-1", "BADSTOCK", NULL},
    {"SET", KEY_STOCK, "1e3", "BADSTOCK", NULL},
    {"SET", KEY_STOCK, "0x10", "BADSTOCK", NULL},
    {"SET", KEY_STOCK, "nan", "BADSTOCK", NULL},
    {"SET", KEY_STOCK, "1.5", "BADSTOCK", NULL},
    {"SET", KEY_STOCK, "", "BADSTOCK", NULL},
    {"SET", KEY_STOCK, "9007199254740993", "BADSTOCK", NULL},
    {"DEL", KEY_STOCK, NULL, "BADSTOCK", "BADSALE"},
    {"HDEL", KEY_SALE, "starts_ms", "BADSALE", NULL},
    {"HDEL", KEY_SALE, "ends_ms", "BADSALE", NULL},
    {"HDEL", KEY_SALE, "epoch", "BADSALE", "BADSALE"},
    {"HSET", KEY_SALE, "starts_ms abc", "BADSALE", NULL},
    {"HSET", KEY_SALE, "starts_ms -5", "BADSALE", NULL},
    {"HSET", KEY_SALE, "ends_ms nan", "BADSALE", NULL},
    {"HSET", KEY_SALE, "ends_ms 9007199254740993", "BADSALE", NULL},
    {"HSET", KEY_SALE, "epoch one", "BADSALE", NULL},
    /* The stream has no id left: XADD is refused. */
    {"XADD", KEY_LEDGER, "18446744073709551615-18446744073709551615 a b", "ERR", "ERR"},
};

static const struct lk_bytes *good_args(bool is_end, size_t *out_count)
{
    static struct lk_bytes args[5];

    args[0] = LK_BYTES("here");
    args[1] = LK_BYTES("1");
    args[2] = LK_BYTES("bob");
    args[3] = LK_BYTES("12");
    args[4] = LK_BYTES("k");
    *out_count = is_end ? 1 : 5;
    return args;
}

static void a_spoilt_sale_sells_nothing_and_writes_nothing(void **state)
{
    struct world *world = *state;

    for (size_t i = 0; i < COUNT_OF(spoils); i++) {
        const struct spoilt *row = &spoils[i];
        char what[128];
        size_t count = 0;

        put_up(world);
        (void)snprintf(what, sizeof what, "%s %s%s%s", row->command, world->keys.text[row->key],
                       row->rest ? " " : "", row->rest ? row->rest : "");
        assert_true(sale_do(world->client, "%s", what));
        const struct lk_bytes *args = good_args(false, &count);
        if (row->purchase) refuses(world, world->purchase, args, count, row->purchase, what);
        args = good_args(true, &count);
        if (row->end) refuses(world, world->end, args, count, row->end, what);
    }
}

static void a_key_of_a_wrong_type_is_a_clean_error(void **state)
{
    static const enum sale_key of_purchase[] = {KEY_SALE, KEY_STOCK, KEY_ORDERS, KEY_LEDGER};
    static const enum sale_key of_end[] = {KEY_SALE, KEY_STOCK, KEY_LEDGER};
    struct world *world = *state;
    size_t count = 0;

    for (size_t i = 0; i < COUNT_OF(of_purchase); i++) {
        put_up(world);
        assert_true(sale_do(world->client, "DEL %s", world->keys.text[of_purchase[i]]));
        assert_true(sale_do(world->client, "RPUSH %s x", world->keys.text[of_purchase[i]]));
        const struct lk_bytes *args = good_args(false, &count);
        refuses(world, world->purchase, args, count, "WRONGTYPE", world->keys.text[of_purchase[i]]);
    }
    for (size_t i = 0; i < COUNT_OF(of_end); i++) {
        put_up(world);
        assert_true(sale_do(world->client, "DEL %s", world->keys.text[of_end[i]]));
        assert_true(sale_do(world->client, "RPUSH %s x", world->keys.text[of_end[i]]));
        const struct lk_bytes *args = good_args(true, &count);
        refuses(world, world->end, args, count, "WRONGTYPE", world->keys.text[of_end[i]]);
    }
}

static void a_sale_is_not_created_over_anything(void **state)
{
    struct world *world = *state;

    for (size_t i = KEY_SALE; i <= KEY_LEDGER; i++) {
        wipe(world);
        assert_true(sale_do(world->client, "RPUSH %s x", world->keys.text[i]));
        char *before = sale_dump(world->client, "s");
        assert_int_equal(run_number(world, world->create, "here,title,3,0,0,mutex"), 0);
        char *after = sale_dump(world->client, "s");
        assert_string_equal(before, after);
        free(before);
        free(after);
    }
}

static void an_order_that_is_none_still_stops_a_second_one(void **state)
{
    struct world *world = *state;

    put_up(world);
    assert_true(sale_do(world->client, "HSET %s ann garbage bob 17", world->keys.text[KEY_ORDERS]));
    assert_string_equal(buy(world, "ann", "12"), "A");
    assert_string_equal(buy(world, "bob", "13"), "A");
    assert_string_equal(buy(world, "cid", "14"), "C");
}

/* ---- locks -------------------------------------------------------------------------------------------- */

static void a_wrong_token_refuses_the_whole_batch(void **state)
{
    struct world *world = *state;
    lk_lock *paused = lk_mutex_new(world->client, world->keys.text[KEY_LOCK], NULL);
    lk_lock *next = lk_mutex_new(world->client, world->keys.text[KEY_LOCK], NULL);
    struct lk_error err = {0};
    lk_reply *reply = NULL;
    size_t count = 0;

    put_up(world);
    const struct lk_eval eval = {.script = world->purchase,
                                 .keys = world->keys.key,
                                 .key_count = 4,
                                 .args = good_args(false, &count),
                                 .arg_count = 5};
    assert_int_equal(lk_lock_acquire(paused, NULL, NULL), LK_OK);
    assert_true(sale_do(world->client, "DEL %s", world->keys.text[KEY_LOCK])); /* its lease ended */
    assert_int_equal(lk_lock_acquire(next, NULL, NULL), LK_OK);
    char *before = sale_dump(world->client, "s");
    assert_int_equal(lk_guarded_eval(paused, &eval, 0, &reply, &err), LK_NOT_OWNER);
    char *after = sale_dump(world->client, "s");
    assert_string_equal(before, after);
    free(before);
    free(after);
    assert_int_equal(lk_guarded_eval(next, &eval, 0, &reply, &err), LK_OK);
    assert_string_equal(lk_reply_bytes(lk_reply_at(reply, 2)).data, "C");
    lk_reply_free(reply);
    assert_int_equal(lk_lock_release(paused, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_lock_release(next, NULL), LK_OK);
    lk_lock_free(paused);
    lk_lock_free(next);
}

/* ---- rights --------------------------------------------------------------------------------------------- */

static bool limit_keys(struct world *world, bool is_limited)
{
    if (!is_limited) return sale_do(world->client, "ACL SETUSER default allkeys");
    if (!sale_do(world->client, "ACL SETUSER default resetkeys")) return false;
    for (size_t i = 0; i < SALE_KEY_COUNT; i++) {
        if (!sale_do(world->client, "ACL SETUSER default ~%s", world->keys.text[i])) return false;
    }
    return true;
}

static lk_status buy_under_lock(struct world *world, const char *buyer)
{
    lk_lock *lock = lk_mutex_new(world->client, world->keys.text[KEY_LOCK], NULL);
    const struct lk_bytes args[] = {LK_BYTES("here"), LK_BYTES("1"), lk_bytes_of(buyer),
                                    LK_BYTES("21"), LK_BYTES("")};
    const struct lk_eval eval = {.script = world->purchase,
                                 .keys = world->keys.key,
                                 .key_count = 4,
                                 .args = args,
                                 .arg_count = 5};
    struct lk_error err = {0};
    lk_reply *reply = NULL;
    lk_status status = lk_mutex_run(lock, NULL, &eval, &reply, &err);

    lk_reply_free(reply);
    lk_lock_free(lock);
    return status;
}

/* Redis refuses a key that a script touches without a right to it. */
static void the_scripts_touch_declared_keys_only(void **state)
{
    struct world *world = *state;
    char bought[3][32];

    wipe(world);
    assert_true(limit_keys(world, true));
    long long created = run_number(world, world->create, "here,title,3,0,0,mutex");
    (void)snprintf(bought[0], sizeof bought[0], "%s", buy(world, "ann", "11"));
    (void)snprintf(bought[1], sizeof bought[1], "%s", buy(world, "ann", "12"));
    lk_status status = buy_under_lock(world, "bob");
    long long ended = run_number(world, world->end, "here");
    (void)snprintf(bought[2], sizeof bought[2], "%s", buy(world, "cid", "13"));
    bool reads_others = sale_do(world->client, "GET other");
    assert_true(limit_keys(world, false));

    assert_int_equal(created, 1);
    assert_string_equal(bought[0], "C");
    assert_string_equal(bought[1], "A11");
    assert_int_equal(status, LK_OK);
    assert_int_equal(ended, 1);
    assert_string_equal(bought[2], "E");
    assert_false(reads_others); /* the limit was in force */
}

/* ---- a large sale ------------------------------------------------------------------------------------------- */

static void fill(struct world *world)
{
    static const struct lk_script_source filler = {
        .name = "filler",
        .source = "for i = 1, 100000 do\n"
                  "  redis.call('HSET', KEYS[3], 'b' .. i, i .. ':held:k')\n"
                  "  redis.call('XADD', KEYS[4], '*', 'event', 'sold', 'order', i .. ':b:k')\n"
                  "end\n"
                  "return 1"};
    lk_script *script = lk_script_new(&filler);

    assert_non_null(script);
    long long filled = run_number(world, script, "");
    lk_script_free(script);
    assert_int_equal(filled, 1);
}

/* Microseconds that Redis spent on a script, on average since CONFIG RESETSTAT. */
static double script_us(struct world *world)
{
    lk_reply *info = sale_ask(world->client, "INFO commandstats");
    const char *text = lk_reply_bytes(info).data;
    const char *line = text ? strstr(text, "cmdstat_evalsha:") : NULL;
    const char *value = line ? strstr(line, "usec_per_call=") : NULL;
    double us = value ? strtod(value + sizeof "usec_per_call=" - 1, NULL) : 1e9;

    lk_reply_free(info);
    return us;
}

static void a_purchase_does_not_slow_down_in_a_large_sale(void **state)
{
    struct world *world = *state;

    wipe(world);
    assert_int_equal(run_number(world, world->create, "here,title,200000,0,0,mutex"), 1);
    fill(world);
    assert_true(sale_do(world->client, "CONFIG RESETSTAT"));
    for (int i = 0; i < 200; i++) {
        char buyer[16];

        (void)snprintf(buyer, sizeof buyer, "new-%d", i);
        assert_string_equal(buy(world, buyer, "7"), "C");
        assert_string_equal(buy(world, "b77777", "8"), "A77777");
    }
    assert_true(script_us(world) < 1000);
}

/* ---- restart ---------------------------------------------------------------------------------------------- */

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

static void restart(struct world *world, int signal_number)
{
    lk_client_close(world->client);
    world->client = NULL;
    sale_server_stop(&world->server, signal_number);
    assert_true(sale_server_restart(&world->server));
    world->client = sale_connect(&world->server, 4, SALE_GENEROUS_MS);
    assert_non_null(world->client);
}

static void a_restart_brings_the_same_state_back(void **state)
{
    static const bool rewrites[] = {false, true};
    struct world *world = *state;

    for (size_t i = 0; i < COUNT_OF(rewrites); i++) {
        put_up(world);
        assert_string_equal(buy(world, "bob", "12"), "C");
        if (rewrites[i]) {
            assert_true(sale_do(world->client, "BGREWRITEAOF"));
            assert_true(sale_eventually(rewrite_is_over, world->client, 10000));
            assert_string_equal(buy(world, "cid", "13"), "C"); /* one more after the rewrite */
        }
        char *before = sale_dump(world->client, "s");
        restart(world, SIGTERM);
        char *after = sale_dump(world->client, "s");
        assert_string_equal(before, after);
        free(before);
        free(after);
        assert_string_equal(buy(world, "ann", "14"), "A11"); /* the server knows no script now */
        assert_string_equal(buy(world, "dan", "15"), rewrites[i] ? "S" : "C");
        assert_int_equal(buy_under_lock(world, "eve"), LK_OK);
    }
}

/* ---- the world ---------------------------------------------------------------------------------------------- */

static int open_world(void **state)
{
    struct world *world = calloc(1, sizeof *world);

    if (!world) return -1;
    *state = world;
    memset(big, '1', BIG);
    sale_keys_make("s", &world->keys);
    world->purchase = lk_script_new(app_script_named("purchase"));
    world->create = lk_script_new(app_script_named("create_sale"));
    world->end = lk_script_new(app_script_named("end_sale"));
    if (!world->purchase || !world->create || !world->end) return -1;
    if (!sale_server_start(&world->server)) return -1;
    world->client = sale_connect(&world->server, 4, SALE_GENEROUS_MS);
    return world->client ? 0 : -1;
}

static int close_world(void **state)
{
    struct world *world = *state;

    lk_client_close(world->client);
    sale_server_remove(&world->server);
    lk_script_free(world->purchase);
    lk_script_free(world->create);
    lk_script_free(world->end);
    free(world);
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_count_that_does_not_fit_is_refused),
        cmocka_unit_test(arguments_too_few_or_too_many_are_refused),
        cmocka_unit_test(one_malformed_purchase_refuses_the_whole_batch),
        cmocka_unit_test(the_longest_names_are_not_malformed),
        cmocka_unit_test(the_largest_batch_is_sold_and_one_more_refused),
        cmocka_unit_test(a_sale_with_hostile_numbers_is_not_created),
        cmocka_unit_test(a_sale_that_could_not_be_read_back_is_not_created),
        cmocka_unit_test(texts_are_bytes_and_come_back_as_they_are),
        cmocka_unit_test(ending_without_a_name_is_refused),
        cmocka_unit_test(a_spoilt_sale_sells_nothing_and_writes_nothing),
        cmocka_unit_test(a_key_of_a_wrong_type_is_a_clean_error),
        cmocka_unit_test(a_sale_is_not_created_over_anything),
        cmocka_unit_test(an_order_that_is_none_still_stops_a_second_one),
        cmocka_unit_test(a_wrong_token_refuses_the_whole_batch),
        cmocka_unit_test(the_scripts_touch_declared_keys_only),
        cmocka_unit_test(a_purchase_does_not_slow_down_in_a_large_sale),
        cmocka_unit_test(a_restart_brings_the_same_state_back),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, open_world, close_world);
}
