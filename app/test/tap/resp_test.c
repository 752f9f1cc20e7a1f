/*
 * RESP as it passes by: how long a value is, whatever of it has come, and what its words are.
 */
#include "lab/tap/resp.h"
#include "test/support/app_stack.h"
#include "test/support/testing.h"

TEST(every_kind_of_value_has_its_length)
{
    static const struct {
        const char *bytes;
        long length; /* -1: no RESP */
    } table[] = {
        {"+OK\r\n", 5},
        {"-ERR no\r\n", 9},
        {":1000\r\n", 7},
        {"$3\r\nabc\r\n", 9},
        {"$0\r\n\r\n", 6},
        {"$-1\r\n", 5},
        {"*-1\r\n", 5},
        {"*0\r\n", 4},
        {"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", 20},
        {"*2\r\n*1\r\n:1\r\n$-1\r\n", 17},
        {"+OK\r\n+MORE\r\n", 5},
        {"GET k\r\n", -1},
        {"*1\r\nnonsense\r\n", -1},
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        long length = resp_length(table[i].bytes, strlen(table[i].bytes));

        assert_int_equal(length, table[i].length);
        for (long part = 0; part < length; part++) /* none of its beginnings is whole */
            assert_int_equal(resp_length(table[i].bytes, (size_t)part), 0);
    }
}

static char deep[4 * 4000];

static void measure_deep(void *arg)
{
    const size_t *len = arg;

    if (resp_length(deep, *len) > 0) deep[0] = '\0'; /* for the test to see */
}

TEST(depth_without_end_is_refused_and_takes_no_stack)
{
    static size_t allowed = (size_t)4 * RESP_DEPTH_MAX;
    static size_t all = sizeof deep;

    for (size_t i = 0; i < sizeof deep; i++)
        deep[i] = "*1\r\n"[i % 4];
    assert_int_equal(resp_length(deep, (size_t)4 * 20), -1);
    assert_true(app_stack_use(measure_deep, &all) < 2 * app_stack_use(measure_deep, &allowed));
    assert_int_equal(deep[0], '*');
}

TEST(a_command_has_its_words)
{
    static const char bytes[] = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n";
    struct resp_words words;

    resp_read_words(bytes, sizeof bytes - 1, &words);
    assert_int_equal(words.count, 3);
    assert_memory_equal(words.word[0].data, "SET", 3);
    assert_memory_equal(words.word[1].data, "k", 1);
    assert_int_equal(words.word[2].len, 0);
    assert_non_null(words.word[2].data);
    resp_read_words("+OK\r\n", 5, &words);
    assert_int_equal(words.count, 0);
}

TEST(strings_are_told_from_nil)
{
    assert_null(resp_string("$-1\r\n", 5).data);
    assert_null(resp_string(":1\r\n", 4).data);
    assert_int_equal(resp_string("$2\r\nab\r\n", 8).len, 2);
    assert_memory_equal(resp_string("+PONG\r\n", 7).data, "PONG", 4);
    assert_memory_equal(resp_line("-ERR\r\n", 6).data, "ERR", 3);
    assert_int_equal(resp_line("-ERR\r\n", 6).len, 3);
}
