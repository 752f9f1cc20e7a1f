/*
 * What changes from run to run is called by a name that does not.
 */
#include "lab/tap/labels.h"
#include "test/support/testing.h"

#define TOKEN_A "0123456789abcdef0123456789abcdef"
#define TOKEN_B "fedcba9876543210fedcba9876543210"
#define OWNER   "01234567-89ab-cdef-0123-456789abcdef:7"
#define SHA1    "0123456789abcdef0123456789abcdef01234567"

static struct labels labels;

BEFORE_EACH()
{
    labels_done(&labels);
    labels = (struct labels){0};
}

/* What is printed into self.out until it is compared. */
static struct {
    FILE *out;
    char *printed;
    size_t size;
} self;

static FILE *open_out(void)
{
    self.out = open_memstream(&self.printed, &self.size);
    assert_non_null(self.out);
    return self.out;
}

static void assert_printed(const char *expected)
{
    assert_int_equal(fclose(self.out), 0);
    assert_string_equal(self.printed, expected);
    free(self.printed);
}

static void assert_prints(const char *actor, const char *text, const char *expected)
{
    labels_print(&labels, actor, lk_bytes_of(text), open_out());
    assert_printed(expected);
}

static void assert_replies(const char *verb, const char *reply, const char *expected)
{
    labels_print_reply(&labels, "A", lk_bytes_of(verb), lk_bytes_of(reply), open_out());
    assert_printed(expected);
}

TEST(tokens_are_numbered_per_actor_and_keep_their_names)
{
    assert_prints("A", TOKEN_A, "A#1");
    assert_prints("B", TOKEN_B, "B#1");
    assert_prints("B", TOKEN_A, "A#1"); /* seen by B, but A's */
    assert_prints("A", OWNER, "A#2");
    assert_prints("A", "x:" TOKEN_A ":y", "x:A#1:y");
    labels_forget_tokens(&labels);
    assert_prints("B", TOKEN_A, "B#1");
}

TEST(moments_and_entries_lose_their_digits)
{
    assert_prints("A", "1700000000123-0", "<entry>");
    assert_prints("A", "at 1700000000123", "at <moment>");
    assert_prints("A", "1001:A:", "1001:A:");
    assert_prints("A", "30000", "30000");
}

TEST(scripts_go_by_their_file)
{
    assert_prints("A", SHA1, "<script>");
    assert_null(labels_script_text(&labels, lk_bytes_of(SHA1)));
    labels_learn_script(&labels, lk_bytes_of(SHA1), lk_bytes_of("-- Compare and delete, then"));
    assert_string_equal(labels_script_text(&labels, lk_bytes_of(SHA1)),
                        "-- Compare and delete, then");
    assert_prints("A", SHA1, "mutex_release.lua");
    labels_learn_script(&labels, lk_bytes_of(SHA1),
                        lk_bytes_of("error('NOTOWNER it is')\n-- Sell one unit each"));
    assert_prints("A", SHA1, "owner-check+purchase.lua");
    labels_learn_script(&labels, lk_bytes_of(SHA1), lk_bytes_of("-- A script of somebody: mine"));
    assert_prints("A", SHA1, "<A script of somebody>");
}

TEST(replies_are_told_by_their_kind)
{
    assert_replies("SET", "+OK\r\n", "OK");
    assert_replies("GET", "$-1\r\n", "nil");
    assert_replies("GET", "$1\r\n5\r\n", "\"5\"");
    assert_replies("DEL", ":1\r\n", "1");
    assert_replies("EVALSHA", "$9\r\nS89999998\r\n", "\"S<ms>\"");
    assert_replies("PTTL", ":29998\r\n", "<ms>");
    assert_replies("EVALSHA", "-ERR no\r\n", "ERROR ERR no");
    assert_replies("EVALSHA", "*3\r\n:0\r\n*1\r\n$-1\r\n+x\r\n", "[0, [nil], x]");
    assert_replies("TIME", "*2\r\n$1\r\n1\r\n$1\r\n2\r\n", "[<seconds>, <microseconds>]");
}

static void assert_command(const struct resp_words *words, const char *expected)
{
    labels_print_command(&labels, "A", words, open_out());
    assert_printed(expected);
}

TEST(commands_show_empty_words_and_no_script_text)
{
    const struct resp_words words = {.count = 4,
                                     .word = {lk_bytes_of("EVAL"),
                                              lk_bytes_of("-- Settle an attempt"), lk_bytes_of("0"),
                                              lk_bytes_of("")}};

    assert_command(&words, "EVAL resolve.lua 0 \"\"");
}

TEST(long_spans_in_commands_lose_their_digits)
{
    const struct resp_words words = {.count = 5,
                                     .word = {lk_bytes_of("X"), lk_bytes_of("90000"),
                                              lk_bytes_of("179996"), lk_bytes_of("123456x"),
                                              lk_bytes_of("1700000000123")}};

    assert_command(&words, "X 90000 <ms> 123456x <moment>");
}

TEST(scripts_that_begin_alike_are_told_apart)
{
    static const struct {
        const char *text;
        const char *expected;
    } table[] = {
        {"-- Compare and delete, then wake one waiter", "mutex_release.lua"},
        {"-- Compare and delete, without a word: what", "redlock_undo.lua"},
        {"-- The last hold ends, whatever is counted; then wake one", "reentrant_release.lua"},
        {"-- The last hold ends, whatever is counted; then the next in", "fair_release.lua"},
        {"-- Take the lock for an owner", "reentrant_acquire.lua"},
        {"-- Take the lock when it is free and nobody is before us;", "fair_acquire.lua"},
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        labels_learn_script(&labels, lk_bytes_of(SHA1), lk_bytes_of(table[i].text));
        assert_prints("A", SHA1, table[i].expected);
    }
}
