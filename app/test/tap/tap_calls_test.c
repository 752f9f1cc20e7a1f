/*
 * What servers were asked in parallel comes in one order, whatever passed first.
 */
#include "lab/tap/tap_internal.h"
#include "test/support/testing.h"

enum { LINE = 256 };

/* "1:SET 2:SET=OK": to which server, what, and the reply. */
static struct tap_calls calls_of(const char *text)
{
    struct tap_calls calls = {0};
    char copy[LINE];
    char *rest = NULL;

    (void)snprintf(copy, sizeof copy, "%s", text);
    for (char *word = strtok_r(copy, ";", &rest); word; word = strtok_r(NULL, ";", &rest)) {
        char *reply = strchr(word, '=');

        if (reply) *reply++ = '\0';
        assert_true(tap_calls_add(&calls, (struct tap_call){.server = (unsigned)(word[0] - '0'),
                                                            .command = strdup(word + 2),
                                                            .reply = strdup(reply ? reply : "")}));
    }
    return calls;
}

static void assert_order(const char *passed, const char *expected)
{
    struct tap_calls calls = calls_of(passed);
    char shown[LINE] = "";
    size_t used = 0;

    tap_calls_order(&calls);
    for (size_t i = 0; i < calls.count; i++)
        used += (size_t)snprintf(shown + used, sizeof shown - used, "%s%u:%s", i > 0 ? ";" : "",
                                 calls.list[i].server, calls.list[i].command);
    tap_calls_free(&calls);
    assert_string_equal(shown, expected);
}

TEST(what_went_to_the_first_server_stays_as_it_was)
{
    assert_order("", "");
    assert_order("0:B;0:A;0:B", "0:B;0:A;0:B");
}

TEST(parallel_ones_come_by_server)
{
    assert_order("3:SET;1:SET;2:SET", "1:SET;2:SET;3:SET");
    assert_order("2:SET;1:SET;0:GET;3:DEL;1:DEL", "1:SET;2:SET;0:GET;1:DEL;3:DEL");
}

TEST(of_one_server_none_overtakes_another)
{
    assert_order("3:SET;3:DEL;1:SET;2:SET", "1:SET;2:SET;3:SET;3:DEL");
    assert_order("2:B;2:A;1:B;1:A", "1:B;2:B;1:A;2:A");
}

TEST(an_undo_that_undid_nothing_is_left_out)
{
    assert_order("2:SET;2:EVAL redlock_undo.lua 1 k A#1=0;1:SET", "1:SET;2:SET");
    assert_order("2:SET;2:EVAL redlock_undo.lua 1 k A#1=1;1:SET",
                 "1:SET;2:SET;2:EVAL redlock_undo.lua 1 k A#1");
    assert_order("1:EVALSHA mutex_release.lua 2 k=0", "1:EVALSHA mutex_release.lua 2 k");
}
