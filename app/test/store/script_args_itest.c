/*
 * The sale's scripts and hostile arguments. The rule is one: a clean error, nothing written.
 */
#include "test/support/script_world.h"
#include "test/support/testing.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

enum { BIG = 65536 };

static char big[BIG + 1]; /* 64 KB of ones */

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

TEST(a_count_that_does_not_fit_is_refused, struct script_world *world)
{
    static const struct hostile misfits[] = {HOSTILE("0"),    HOSTILE("2"),    HOSTILE("01"),
                                             HOSTILE("1024"), HOSTILE("1025"), HOSTILE("99999")};
    struct lk_bytes args[] = {LK_BYTES("here"), LK_BYTES("p"),  LK_BYTES("1"), LK_BYTES("1"),
                              LK_BYTES("bob"),  LK_BYTES("12"), LK_BYTES("k")};

    script_put_up(world);
    for (size_t i = 0; i < COUNT_OF(no_numbers); i++) {
        args[3] = no_numbers[i].bytes;
        script_refuses(world, world->purchase, args, COUNT_OF(args), "BADARGS", no_numbers[i].what);
    }
    for (size_t i = 0; i < COUNT_OF(misfits); i++) {
        args[3] = misfits[i].bytes;
        script_refuses(world, world->purchase, args, COUNT_OF(args), "BADARGS", misfits[i].what);
    }
}

TEST(an_attempt_that_is_no_number_is_neither_executed_nor_given_up, struct script_world *world)
{
    struct lk_bytes purchase[] = {LK_BYTES("here"), LK_BYTES("p"),  LK_BYTES("1"), LK_BYTES("1"),
                                  LK_BYTES("bob"),  LK_BYTES("12"), LK_BYTES("k")};
    struct lk_bytes resolve[] = {LK_BYTES("p"), LK_BYTES("1"), LK_BYTES("bob")};

    script_put_up(world);
    for (size_t i = 0; i < COUNT_OF(no_numbers); i++) {
        purchase[2] = resolve[1] = no_numbers[i].bytes;
        script_refuses(world, world->purchase, purchase, COUNT_OF(purchase), "BADARGS",
                       no_numbers[i].what);
        script_refuses(world, world->resolve, resolve, COUNT_OF(resolve), "BADARGS",
                       no_numbers[i].what);
    }
}

/* A process is a name like any other, and its attempts are its own. */
TEST(any_bytes_name_a_process, struct script_world *world)
{
    static const struct hostile names[] = {HOSTILE(""),     HOSTILE("p\0"),  HOSTILE("p"),
                                           HOSTILE("\r\n"), HOSTILE("\xff"), {{big, BIG}, "64 KB"}};

    script_put_up(world);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct lk_bytes name = names[i].bytes;
        const struct lk_bytes purchase[] = {
            LK_BYTES("here"), name,           LK_BYTES("5"), LK_BYTES("1"),
            LK_BYTES("ann"),  LK_BYTES("12"), LK_BYTES("")};
        const struct lk_bytes resolve[] = {name, LK_BYTES("5"), LK_BYTES("ann")};

        struct script_answer before =
            script_run(world, world->purchase, purchase, COUNT_OF(purchase));
        struct script_answer given_up =
            script_run(world, world->resolve, resolve, COUNT_OF(resolve));
        lk_reply_free(before.reply);
        lk_reply_free(given_up.reply);
        if (before.status != LK_OK || given_up.status != LK_OK) fail_msg("%s", names[i].what);
        script_refuses(world, world->purchase, purchase, COUNT_OF(purchase), "VOID", names[i].what);
    }
}

TEST(the_highest_attempts_are_told_apart, struct script_world *world)
{
    script_put_up(world);
    lk_reply_free(script_run_text(world, world->resolve, "p,999999999999998,ann").reply);
    struct script_answer late =
        script_run_text(world, world->purchase, "here,p,999999999999998,1,bob,12,");
    struct script_answer next =
        script_run_text(world, world->purchase, "here,p,999999999999999,1,bob,12,");
    assert_int_equal(late.status, LK_SERVER);
    assert_int_equal(next.status, LK_OK);
    lk_reply_free(late.reply);
    lk_reply_free(next.reply);
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
        script_refuses(world, world->purchase, args, counts[i], "BADARGS", "n is 1");
    for (size_t i = 0; i < COUNT_OF(resolve_counts); i++)
        script_refuses(world, world->resolve, args, resolve_counts[i], "BADARGS", "no batch");
    struct script_answer largest = script_run(world, world->resolve, args, 1026);
    assert_int_equal(lk_reply_count(largest.reply), 1024);
    lk_reply_free(largest.reply);
}

/* The second of three purchases is the bad one; the others are not sold either. */
TEST(one_malformed_purchase_refuses_the_whole_batch, struct script_world *world)
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

    script_put_up(world);
    for (size_t p = 0; p < COUNT_OF(places); p++) {
        for (size_t i = 0; i < places[p].count; i++) {
            struct lk_bytes args[] = {
                LK_BYTES("here"), LK_BYTES("p"),  LK_BYTES("1"),   LK_BYTES("3"),  LK_BYTES("bob"),
                LK_BYTES("12"),   LK_BYTES("k1"), LK_BYTES("cid"), LK_BYTES("13"), LK_BYTES("k2"),
                LK_BYTES("dan"),  LK_BYTES("14"), LK_BYTES("k3")};

            args[places[p].at] = places[p].list[i].bytes;
            script_refuses(world, world->purchase, args, COUNT_OF(args), "BADARGS",
                           places[p].list[i].what);
        }
    }
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
    struct script_answer answer = script_run(world, world->purchase, args, COUNT_OF(args));
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
    assert_int_equal(script_run_number(world, world->create, "here,title,2000,0,0,mutex"), 1);
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
    script_refuses(world, world->purchase, args, 4 + 3 * (MOST + 1), "BADARGS", "1025 purchases");
    args[3] = LK_BYTES("1024");
    struct script_answer answer = script_run(world, world->purchase, args, 4 + 3 * MOST);
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
    for (size_t at = 2; at <= 4; at++) {
        for (size_t i = 0; i < COUNT_OF(no_numbers); i++) {
            struct lk_bytes args[] = {LK_BYTES("here"), LK_BYTES("t"), LK_BYTES("3"),
                                      LK_BYTES("0"),    LK_BYTES("0"), LK_BYTES("mutex")};

            args[at] = no_numbers[i].bytes;
            script_refuses(world, world->create, args, COUNT_OF(args), "BADARGS",
                           no_numbers[i].what);
        }
    }
}

TEST(a_sale_that_could_not_be_read_back_is_not_created, struct script_world *world)
{
    struct lk_bytes args[] = {LK_BYTES("here"), LK_BYTES("t"),     LK_BYTES("3"),   LK_BYTES("0"),
                              LK_BYTES("0"),    LK_BYTES("mutex"), LK_BYTES("more")};

    script_wipe(world);
    for (size_t count = 0; count <= COUNT_OF(args); count++) {
        if (count == 6) continue;
        script_refuses(world, world->create, args, count, "BADARGS", "a wrong number of arguments");
    }
    args[1] = (struct lk_bytes){.data = big, .len = SALE_TITLE_MAX + 1};
    script_refuses(world, world->create, args, 6, "BADARGS", "a long title");
    args[1] = (struct lk_bytes){.data = big, .len = BIG};
    script_refuses(world, world->create, args, 6, "BADARGS", "a very long title");
    args[1] = LK_BYTES("t");
    args[5] = (struct lk_bytes){.data = big, .len = SALE_GUARD_MAX + 1};
    script_refuses(world, world->create, args, 6, "BADARGS", "a long guard");
}

TEST(texts_are_bytes_and_come_back_as_they_are, struct script_world *world)
{
    static const char bytes[] = "\0\r\n\xff\xfe '\" :{}%s";
    const struct lk_bytes text = {.data = bytes, .len = sizeof bytes - 1};
    const struct lk_bytes args[] = {text, text, LK_BYTES("3"), LK_BYTES("0"), LK_BYTES("0"), text};

    script_wipe(world);
    struct script_answer answer = script_run(world, world->create, args, COUNT_OF(args));
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
    script_refuses(world, world->end, NULL, 0, "", "no instance");
}

static int open_world(void **state)
{
    memset(big, '1', BIG);
    return script_world_open(state);
}

GROUP(open_world, script_world_close);
