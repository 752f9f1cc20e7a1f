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
    lk_script *resolve;
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
    const struct lk_bytes resolve_keys[] = {world->keys.key[KEY_VOID], world->keys.key[KEY_ORDERS]};
    struct lk_eval eval = {.script = script,
                           .keys = world->keys.key,
                           .key_count = script == world->create ? KEY_LEDGER + 1 : KEY_VOID + 1,
                           .args = args,
                           .arg_count = count};
    struct answer answer = {.reply = NULL};

    if (script == world->end) {
        eval.keys = end_keys;
        eval.key_count = COUNT_OF(end_keys);
    } else if (script == world->resolve) {
        eval.keys = resolve_keys;
        eval.key_count = COUNT_OF(resolve_keys);
    }
    answer.status = lk_client_eval(world->client, &eval, 0, &answer.reply, &answer.err);
    return answer;
}

/* Arguments as one text, "," between them, for what has no comma in it. */
static size_t split(char *text, struct lk_bytes args[ARGS_MAX])
{
    size_t count = 0;

    while (text && count < ARGS_MAX)
        args[count++] = lk_bytes_of(strsep(&text, ","));
    return count;
}

static struct answer run_text(struct world *world, lk_script *script, const char *text)
{
    char copy[512];
    struct lk_bytes args[ARGS_MAX];

    (void)snprintf(copy, sizeof copy, "%s", text);
    return run(world, script, args, split(copy, args));
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

    (void)snprintf(args, sizeof args, "here,p,1,1,%s,%s,", buyer, id);
    struct answer answer = run_text(world, world->purchase, args);
    const char *letter = lk_reply_bytes(lk_reply_at(answer.reply, 3)).data;
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
    struct lk_bytes args[] = {LK_BYTES("here"), LK_BYTES("p"),  LK_BYTES("1"), LK_BYTES("1"),
                              LK_BYTES("bob"),  LK_BYTES("12"), LK_BYTES("k")};

    put_up(world);
    for (size_t i = 0; i < COUNT_OF(no_numbers); i++) {
        args[3] = no_numbers[i].bytes;
        refuses(world, world->purchase, args, COUNT_OF(args), "BADARGS", no_numbers[i].what);
    }
    for (size_t i = 0; i < COUNT_OF(misfits); i++) {
        args[3] = misfits[i].bytes;
        refuses(world, world->purchase, args, COUNT_OF(args), "BADARGS", misfits[i].what);
    }
}

static void an_attempt_that_is_no_number_is_neither_executed_nor_given_up(void **state)
{
    struct world *world = *state;
    struct lk_bytes purchase[] = {LK_BYTES("here"), LK_BYTES("p"),  LK_BYTES("1"), LK_BYTES("1"),
                                  LK_BYTES("bob"),  LK_BYTES("12"), LK_BYTES("k")};
    struct lk_bytes resolve[] = {LK_BYTES("p"), LK_BYTES("1"), LK_BYTES("bob")};

    put_up(world);
    for (size_t i = 0; i < COUNT_OF(no_numbers); i++) {
        purchase[2] = resolve[1] = no_numbers[i].bytes;
        refuses(world, world->purchase, purchase, COUNT_OF(purchase), "BADARGS",
                no_numbers[i].what);
        refuses(world, world->resolve, resolve, COUNT_OF(resolve), "BADARGS", no_numbers[i].what);
    }
}

/* A process is a name like any other, and its attempts are its own. */
static void any_bytes_name_a_process(void **state)
{
    static const struct hostile names[] = {HOSTILE(""),     HOSTILE("p\0"),  HOSTILE("p"),
                                           HOSTILE("\r\n"), HOSTILE("\xff"), {{big, BIG}, "64 KB"}};
    struct world *world = *state;

    put_up(world);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct lk_bytes name = names[i].bytes;
        const struct lk_bytes purchase[] = {
            LK_BYTES("here"), name,           LK_BYTES("5"), LK_BYTES("1"),
            LK_BYTES("ann"),  LK_BYTES("12"), LK_BYTES("")};
        const struct lk_bytes resolve[] = {name, LK_BYTES("5"), LK_BYTES("ann")};

        struct answer before = run(world, world->purchase, purchase, COUNT_OF(purchase));
        struct answer given_up = run(world, world->resolve, resolve, COUNT_OF(resolve));
        lk_reply_free(before.reply);
        lk_reply_free(given_up.reply);
        if (before.status != LK_OK || given_up.status != LK_OK) fail_msg("%s", names[i].what);
        refuses(world, world->purchase, purchase, COUNT_OF(purchase), "VOID", names[i].what);
    }
}

static void the_highest_attempts_are_told_apart(void **state)
{
    struct world *world = *state;

    put_up(world);
    lk_reply_free(run_text(world, world->resolve, "p,999999999999998,ann").reply);
    struct answer late = run_text(world, world->purchase, "here,p,999999999999998,1,bob,12,");
    struct answer next = run_text(world, world->purchase, "here,p,999999999999999,1,bob,12,");
    assert_int_equal(late.status, LK_SERVER);
    assert_int_equal(next.status, LK_OK);
    lk_reply_free(late.reply);
    lk_reply_free(next.reply);
}

static void arguments_too_few_or_too_many_are_refused(void **state)
{
    static const size_t counts[] = {0, 1, 2, 3, 4, 5, 6, 9, 10, 11};
    static const size_t resolve_counts[] = {0, 1, 2, 1027};
    struct world *world = *state;
    static struct lk_bytes args[1027];

    put_up(world);
    for (size_t i = 0; i < COUNT_OF(args); i++)
        args[i] = LK_BYTES("1");
    for (size_t i = 0; i < COUNT_OF(counts); i++) /* 8 is right too: a lock's token may follow */
        refuses(world, world->purchase, args, counts[i], "BADARGS", "n is 1");
    for (size_t i = 0; i < COUNT_OF(resolve_counts); i++)
        refuses(world, world->resolve, args, resolve_counts[i], "BADARGS", "no batch");
    struct answer largest = run(world, world->resolve, args, 1026);
    assert_int_equal(lk_reply_count(largest.reply), 1024);
    lk_reply_free(largest.reply);
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
        {buyers, COUNT_OF(buyers), 7}, {ids, COUNT_OF(ids), 8}, {keys, COUNT_OF(keys), 9}};
    struct world *world = *state;

    put_up(world);
    for (size_t p = 0; p < COUNT_OF(places); p++) {
        for (size_t i = 0; i < places[p].count; i++) {
            struct lk_bytes args[] = {
                LK_BYTES("here"), LK_BYTES("p"),  LK_BYTES("1"),   LK_BYTES("3"),  LK_BYTES("bob"),
                LK_BYTES("12"),   LK_BYTES("k1"), LK_BYTES("cid"), LK_BYTES("13"), LK_BYTES("k2"),
                LK_BYTES("dan"),  LK_BYTES("14"), LK_BYTES("k3")};

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
    const struct lk_bytes args[] = {LK_BYTES("here"),  LK_BYTES("p"),
                                    LK_BYTES("1"),     LK_BYTES("1"),
                                    lk_bytes_of(name), LK_BYTES("9223372036854775807"),
                                    lk_bytes_of(name)};

    put_up(world);
    assert_int_equal(strlen(name), BUYER_ID_MAX);
    struct answer answer = run(world, world->purchase, args, COUNT_OF(args));
    assert_int_equal(answer.status, LK_OK);
    assert_string_equal(lk_reply_bytes(lk_reply_at(answer.reply, 3)).data, "C");
    lk_reply_free(answer.reply);
}

static void the_largest_batch_is_sold_and_one_more_refused(void **state)
{
    enum { MOST = 1024 };
    struct world *world = *state;
    struct lk_bytes *args = calloc(4 + 3 * (MOST + 1), sizeof *args);
    char(*names)[16] = calloc(MOST + 1, sizeof *names);

    assert_true(args && names);
    wipe(world);
    assert_int_equal(run_number(world, world->create, "here,title,2000,0,0,mutex"), 1);
    args[0] = LK_BYTES("here");
    args[1] = LK_BYTES("p");
    args[2] = LK_BYTES("1");
    for (size_t i = 0; i <= MOST; i++) {
        (void)snprintf(names[i], sizeof *names, "%zu", 1 + i);
        args[4 + 3 * i] = lk_bytes_of(names[i]);
        args[5 + 3 * i] = lk_bytes_of(names[i]);
        args[6 + 3 * i] = LK_BYTES("");
    }
    args[3] = LK_BYTES("1025");
    refuses(world, world->purchase, args, 4 + 3 * (MOST + 1), "BADARGS", "1025 purchases");
    args[3] = LK_BYTES("1024");
    struct answer answer = run(world, world->purchase, args, 4 + 3 * MOST);
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
static void refuses_good(struct world *world, lk_script *script, const char *words,
                         const char *what)
{
    char text[] = "here,p,1,1,bob,12,k"; /* of purchase.lua; the others' is shorter */
    struct lk_bytes args[ARGS_MAX];

    if (script == world->resolve) (void)snprintf(text, sizeof text, "p,1,bob");
    if (script == world->end) (void)snprintf(text, sizeof text, "here");
    refuses(world, script, args, split(text, args), words, what);
}

static void a_spoilt_sale_sells_nothing_and_writes_nothing(void **state)
{
    struct world *world = *state;

    for (size_t i = 0; i < COUNT_OF(spoils); i++) {
        const struct spoilt *row = &spoils[i];
        char what[128];

        put_up(world);
        (void)snprintf(what, sizeof what, "%s %s%s%s", row->command, world->keys.text[row->key],
                       row->rest ? " " : "", row->rest ? row->rest : "");
        assert_true(sale_do(world->client, "%s", what));
        if (row->purchase) refuses_good(world, world->purchase, row->purchase, what);
        if (row->end) refuses_good(world, world->end, row->end, what);
        if (row->resolve) refuses_good(world, world->resolve, row->resolve, what);
    }
}

static void a_key_of_a_wrong_type_is_a_clean_error(void **state)
{
    struct world *world = *state;
    const struct {
        lk_script *script;
        enum sale_key key;
    } rows[] = {{world->purchase, KEY_SALE},   {world->purchase, KEY_STOCK},
                {world->purchase, KEY_ORDERS}, {world->purchase, KEY_LEDGER},
                {world->purchase, KEY_VOID},   {world->end, KEY_SALE},
                {world->end, KEY_STOCK},       {world->end, KEY_LEDGER},
                {world->resolve, KEY_VOID},    {world->resolve, KEY_ORDERS}};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *key = world->keys.text[rows[i].key];

        put_up(world);
        (void)sale_do(world->client, "DEL %s", key);
        assert_true(sale_do(world->client, "RPUSH %s x", key));
        refuses_good(world, rows[i].script, "WRONGTYPE", key);
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
    char text[] = "here,p,1,1,bob,12,k";
    struct lk_bytes args[ARGS_MAX];

    put_up(world);
    const struct lk_eval eval = {.script = world->purchase,
                                 .keys = world->keys.key,
                                 .key_count = KEY_VOID + 1,
                                 .args = args,
                                 .arg_count = split(text, args)};
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
    assert_string_equal(lk_reply_bytes(lk_reply_at(reply, 3)).data, "C");
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
    const struct lk_bytes args[] = {LK_BYTES("here"), LK_BYTES("p"),      LK_BYTES("1"),
                                    LK_BYTES("1"),    lk_bytes_of(buyer), LK_BYTES("21"),
                                    LK_BYTES("")};
    const struct lk_eval eval = {.script = world->purchase,
                                 .keys = world->keys.key,
                                 .key_count = KEY_VOID + 1,
                                 .args = args,
                                 .arg_count = COUNT_OF(args)};
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
    struct answer resolved = run_text(world, world->resolve, "p,0,ann,bob");
    long long ended = run_number(world, world->end, "here");
    (void)snprintf(bought[2], sizeof bought[2], "%s", buy(world, "cid", "13"));
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
        lk_reply_free(run_text(world, world->resolve, "gone,7,ann").reply);
        char *before = sale_dump(world->client, "s");
        restart(world, SIGTERM);
        char *after = sale_dump(world->client, "s");
        assert_string_equal(before, after);
        free(before);
        free(after);
        assert_string_equal(buy(world, "ann", "14"), "A11"); /* the server knows no script now */
        assert_string_equal(buy(world, "dan", "15"), rewrites[i] ? "S" : "C");
        assert_int_equal(buy_under_lock(world, "eve"), LK_OK);
        struct answer late = run_text(world, world->purchase, "here,gone,7,1,fay,16,");
        assert_int_equal(late.status, LK_SERVER); /* given up is given up */
        lk_reply_free(late.reply);
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
    world->resolve = lk_script_new(app_script_named("resolve"));
    world->create = lk_script_new(app_script_named("create_sale"));
    world->end = lk_script_new(app_script_named("end_sale"));
    if (!world->purchase || !world->resolve || !world->create || !world->end) return -1;
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
    lk_script_free(world->resolve);
    lk_script_free(world->create);
    lk_script_free(world->end);
    free(world);
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_count_that_does_not_fit_is_refused),
        cmocka_unit_test(an_attempt_that_is_no_number_is_neither_executed_nor_given_up),
        cmocka_unit_test(any_bytes_name_a_process),
        cmocka_unit_test(the_highest_attempts_are_told_apart),
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
