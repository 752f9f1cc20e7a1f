/*
 * The sale's scripts and hostile arguments. The rule is one: a clean error, nothing written.
 */
#include "test/support/script_world.h"
#include "test/support/testing.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

enum { BIG = 65536 };

static char big[BIG + 1]; /* 64 KB of ones */

/* Bytes with "|" between them: NUL may be one of them. */
#define PIECES(text)                                                                               \
    (struct lk_bytes)                                                                              \
    {                                                                                              \
        .data = (text), .len = sizeof(text) - 1                                                    \
    }

/* What is no number, or none that Lua could hold: the last two are 2^53 + 1 and more. */
#define NO_NUMBERS                                                                                 \
    PIECES("|-1|-0|+1|1e3|1e0|0x10|0x1|nan|inf|1.0| 1|1 |1\n|1\0|\0|\xff\xfe|one|9007199254740993" \
           "|18446744073709551617")

/* The first of them; false when there is none left. */
static bool next_piece(struct lk_bytes *rest, struct lk_bytes *out)
{
    const char *end = NULL;

    if (!rest->data) return false;
    end = memchr(rest->data, '|', rest->len);
    *out = (struct lk_bytes){rest->data, end ? (size_t)(end - rest->data) : rest->len};
    *rest = (struct lk_bytes){end ? end + 1 : NULL, end ? rest->len - out->len - 1 : 0};
    return true;
}

/* These bytes at that place among the good arguments. */
static void refuses_at(struct script_world *world, enum script_name script, const char *good,
                       size_t at, struct lk_bytes bad)
{
    char text[64];
    char what[64];
    struct lk_bytes args[SCRIPT_ARGS_MAX];

    (void)snprintf(text, sizeof text, "%s", good);
    (void)snprintf(what, sizeof what, "argument %zu: \"%.*s\", %zu bytes", at,
                   bad.len < 30 ? (int)bad.len : 30, bad.data, bad.len);
    size_t count = script_split(text, args);
    args[at] = bad;
    script_refuses(world, script, args, count, "BADARGS", what);
}

/* Each of them, and 64 KB. */
static void refuses_each(struct script_world *world, enum script_name script, const char *good,
                         size_t at, struct lk_bytes pieces)
{
    struct lk_bytes bad;

    refuses_at(world, script, good, at, (struct lk_bytes){big, BIG});
    while (next_piece(&pieces, &bad))
        refuses_at(world, script, good, at, bad);
}

TEST(a_count_or_an_attempt_that_is_no_number_is_refused, struct script_world *world)
{
    static const char good[] = "here,p,1,1,bob,12,k";

    script_put_up(world);
    refuses_each(world, PURCHASE, good, 3, NO_NUMBERS);
    refuses_each(world, PURCHASE, good, 3, PIECES("0|2|01|1024|1025|99999")); /* does not fit */
    refuses_each(world, PURCHASE, good, 2, NO_NUMBERS);
    refuses_each(world, RESOLVE, "p,1,bob", 1, NO_NUMBERS);
}

/* A process is a name like any other, and its attempts are its own. */
TEST(any_bytes_name_a_process, struct script_world *world)
{
    struct lk_bytes names = PIECES("|p\0|p|\r\n|\xff|64 KB");
    struct lk_bytes name;

    script_put_up(world);
    while (next_piece(&names, &name)) {
        if (!names.data) name = (struct lk_bytes){big, BIG};
        const struct lk_bytes purchase[] = {
            LK_BYTES("here"), name,           LK_BYTES("5"), LK_BYTES("1"),
            LK_BYTES("ann"),  LK_BYTES("12"), LK_BYTES("")};
        const struct lk_bytes resolve[] = {name, LK_BYTES("5"), LK_BYTES("ann")};
        struct script_answer before = script_run(world, PURCHASE, purchase, COUNT_OF(purchase));
        struct script_answer given_up = script_run(world, RESOLVE, resolve, COUNT_OF(resolve));

        lk_reply_free(before.reply);
        lk_reply_free(given_up.reply);
        if (before.status != LK_OK || given_up.status != LK_OK) fail_msg("%.9s", name.data);
        script_refuses(world, PURCHASE, purchase, COUNT_OF(purchase), "VOID", name.data);
    }
}

TEST(the_highest_attempts_are_told_apart, struct script_world *world)
{
    script_put_up(world);
    assert_int_equal(script_status(world, RESOLVE, "p,999999999999998,ann"), LK_OK);
    assert_int_equal(script_status(world, PURCHASE, "here,p,999999999999998,1,bob,12,"), LK_SERVER);
    assert_int_equal(script_status(world, PURCHASE, "here,p,999999999999999,1,bob,12,"), LK_OK);
}

TEST(arguments_too_few_or_too_many_are_refused, struct script_world *world)
{
    static const size_t counts[] = {0, 1, 2, 3, 4, 5, 6, 9, 10, 11};
    static const size_t resolve_counts[] = {0, 1, 2, 1027};
    static struct lk_bytes args[1027];

    script_put_up(world);
    for (size_t i = 0; i < COUNT_OF(args); i++)
        args[i] = LK_BYTES("1");
    for (size_t i = 0; i < COUNT_OF(counts); i++) /* 8 is right too: a lock's token may follow */
        script_refuses(world, PURCHASE, args, counts[i], "BADARGS", "n is 1");
    for (size_t i = 0; i < COUNT_OF(resolve_counts); i++)
        script_refuses(world, RESOLVE, args, resolve_counts[i], "BADARGS", "no batch");
    struct script_answer largest = script_run(world, RESOLVE, args, 1026);
    assert_int_equal(lk_reply_count(largest.reply), 1024);
    lk_reply_free(largest.reply);
}

/* The second of three purchases is the bad one; the others are not sold either. */
TEST(one_malformed_purchase_refuses_the_whole_batch, struct script_world *world)
{
    static const char good[] = "here,p,1,3,bob,12,k1,cid,13,k2,dan,14,k3";

    script_put_up(world);
    refuses_each(world, PURCHASE, good, 7,
                 PIECES("|a b|a:b|a\r\nSET x y|a\0b|{a}|\xff\xfe|*")); /* the buyer */
    refuses_each(world, PURCHASE, good, 8, PIECES("|-1|1e3|0x10|nan|1:held:|1\0|\xff"));
    refuses_each(world, PURCHASE, good, 9, PIECES("a b|:|\r\n|a\0b|\xff"));
}

TEST(the_longest_names_are_not_malformed, struct script_world *world)
{
    static const char name[] = "abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    const struct lk_bytes args[] = {LK_BYTES("here"),  LK_BYTES("p"),
                                    LK_BYTES("1"),     LK_BYTES("1"),
                                    lk_bytes_of(name), LK_BYTES("9223372036854775807"),
                                    lk_bytes_of(name)};

    script_put_up(world);
    assert_int_equal(strlen(name), BUYER_ID_MAX);
    struct script_answer answer = script_run(world, PURCHASE, args, COUNT_OF(args));
    assert_int_equal(answer.status, LK_OK);
    assert_string_equal(lk_reply_bytes(lk_reply_at(answer.reply, 3)).data, "C");
    lk_reply_free(answer.reply);
}

TEST(the_largest_batch_is_sold_and_one_more_refused, struct script_world *world)
{
    enum { MOST = 1024 };
    struct lk_bytes *args = calloc(4 + 3 * (MOST + 1), sizeof *args);
    char(*names)[16] = calloc(MOST + 1, sizeof *names);

    assert_true(args && names);
    script_wipe(world);
    assert_int_equal(script_run_number(world, CREATE, "here,title,2000,0,0,mutex"), 1);
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
    script_refuses(world, PURCHASE, args, 4 + 3 * (MOST + 1), "BADARGS", "1025 purchases");
    args[3] = LK_BYTES("1024");
    struct script_answer answer = script_run(world, PURCHASE, args, 4 + 3 * MOST);
    assert_int_equal(answer.status, LK_OK);
    assert_int_equal(lk_reply_integer(lk_reply_at(answer.reply, 0), -1), 2000 - MOST);
    lk_reply_free(answer.reply);
    assert_int_equal(sale_ask_number(world->client, "HLEN %s", world->keys.text[KEY_ORDERS]), MOST);
    free(names);
    free(args);
}

TEST(a_sale_with_hostile_numbers_is_not_created, struct script_world *world)
{
    script_wipe(world);
    for (size_t at = 2; at <= 4; at++)
        refuses_each(world, CREATE, "here,t,3,0,0,mutex", at, NO_NUMBERS);
}

TEST(a_sale_that_could_not_be_read_back_is_not_created, struct script_world *world)
{
    static const char good[] = "here,t,3,0,0,mutex";
    char text[] = "here,t,3,0,0,mutex,more";
    struct lk_bytes args[SCRIPT_ARGS_MAX];
    size_t most = script_split(text, args);

    script_wipe(world);
    for (size_t count = 0; count <= most; count++) {
        if (count == 6) continue;
        script_refuses(world, CREATE, args, count, "BADARGS", "a wrong number of arguments");
    }
    refuses_at(world, CREATE, good, 1, (struct lk_bytes){big, SALE_TITLE_MAX + 1});
    refuses_at(world, CREATE, good, 1, (struct lk_bytes){big, BIG});
    refuses_at(world, CREATE, good, 5, (struct lk_bytes){big, SALE_GUARD_MAX + 1});
}

TEST(texts_are_bytes_and_come_back_as_they_are, struct script_world *world)
{
    static const char bytes[] = "\0\r\n\xff\xfe '\" :{}%s";
    const struct lk_bytes text = {.data = bytes, .len = sizeof bytes - 1};
    const struct lk_bytes args[] = {text, text, LK_BYTES("3"), LK_BYTES("0"), LK_BYTES("0"), text};

    script_wipe(world);
    struct script_answer answer = script_run(world, CREATE, args, COUNT_OF(args));
    assert_int_equal(lk_reply_integer(lk_reply_at(answer.reply, 0), -1), 1);
    lk_reply_free(answer.reply);
    lk_reply *read = sale_ask(world->client, "HMGET %s title guard", world->keys.text[KEY_SALE]);
    for (size_t i = 0; i < 2; i++) {
        struct lk_bytes back = lk_reply_bytes(lk_reply_at(read, i));

        assert_int_equal(back.len, text.len);
        assert_memory_equal(back.data, bytes, text.len);
    }
    lk_reply_free(read);
}

TEST(ending_without_a_name_is_refused, struct script_world *world)
{
    script_put_up(world);
    script_refuses(world, END, NULL, 0, "", "no instance");
}

static int open_world(void **state)
{
    memset(big, '1', BIG);
    return script_world_open(state);
}

GROUP(open_world, script_world_close);
