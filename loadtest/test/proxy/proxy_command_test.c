/*
 * The verbs: every line that means something, every line that does not, and what stays of a verb.
 */
#include "proxy/proxy_command.h"
#include "test/support/testing.h"

static const struct {
    const char *line;
    const char *link;
    proxy_verb verb;
    int64_t first, second;
    const char *words; /* as it is written back */
} good[] = {
    {"pass", "", PROXY_PASS, 0, 0, "pass"},
    {"  pass \t", "", PROXY_PASS, 0, 0, "pass"},
    {"pass\r", "", PROXY_PASS, 0, 0, "pass"},
    {"delay 20", "", PROXY_DELAY, 20, 0, "delay 20"},
    {"delay 20 5", "", PROXY_DELAY, 20, 5, "delay 20 5"},
    {"delay 0", "", PROXY_DELAY, 0, 0, "delay 0"},
    {"delay 3600000", "", PROXY_DELAY, 3600000, 0, "delay 3600000"},
    {"trickle 1", "", PROXY_TRICKLE, 1, 0, "trickle 1"},
    {"stall", "", PROXY_STALL, 0, 0, "stall"},
    {"oneway c2s", "", PROXY_ONEWAY, PROXY_C2S, 0, "oneway c2s"},
    {"oneway s2c", "", PROXY_ONEWAY, PROXY_S2C, 0, "oneway s2c"},
    {"blackhole", "", PROXY_BLACKHOLE, 0, 0, "blackhole"},
    {"cut", "", PROXY_CUT, 0, 0, "cut"},
    {"refuse", "", PROXY_REFUSE, 0, 0, "refuse"},
    {"eat-reply 1000", "", PROXY_EAT_REPLY, 1000, 0, "eat-reply 1000"},
    {"eat-reply 0", "", PROXY_EAT_REPLY, 0, 0, "eat-reply 0"},
    {"status", "", PROXY_STATUS, 0, 0, "status"},
    {"link1:cut", "link1", PROXY_CUT, 0, 0, "cut"},
    {"redis-a_2: delay 7", "redis-a_2", PROXY_DELAY, 7, 0, "delay 7"},
    {"abcdefghijklmnopqrstuvwxyz12345:cut", "abcdefghijklmnopqrstuvwxyz12345", PROXY_CUT, 0, 0,
     "cut"},
};

TEST(every_good_line_is_understood)
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct failure failure = {.text = ""};
        struct proxy_command command;
        char words[PROXY_LINE_MAX];

        assert_true(proxy_command_parse(&command, good[i].line, &failure));
        proxy_command_words(&command, words, sizeof words);

        assert_string_equal(good[i].link, command.link);
        assert_int_equal(good[i].verb, command.verb);
        assert_int_equal(good[i].first, command.numbers[0]);
        assert_int_equal(good[i].second, command.numbers[1]);
        assert_string_equal(good[i].words, words);
        assert_string_equal("", failure.text);
    }
}

static const struct {
    const char *line;
    const char *failure;
} bad[] = {
    {"", "no verb"},
    {"   ", "no verb"},
    {"link1:", "no verb"},
    {"explode", "no verb \"explode\""},
    {"CUT", "no verb \"CUT\""},
    {":cut", "\":cut\" does not begin with a link's name"},
    {"a.b:cut", "\"a.b:cut\" does not begin with a link's name"},
    {"abcdefghijklmnopqrstuvwxyz123456:cut",
     "\"abcdefghijklmnopqrstuvwxyz123456:cut\" does not begin with a link's name"},
    {"cut me", "cut: \"me\" is one word too many"},
    {"delay", "delay: MS is missing"},
    {"delay 1 2 3", "delay: \"3\" is one word too many"},
    {"delay -1", "delay: \"-1\" is not a number from 0 to 3600000"},
    {"delay +1", "delay: \"+1\" is not a number from 0 to 3600000"},
    {"delay 1ms", "delay: \"1ms\" is not a number from 0 to 3600000"},
    {"delay 3600001", "delay: \"3600001\" is not a number from 0 to 3600000"},
    {"delay 99999999999999999999", "delay: \"99999999999999999999\" is not a number from 0 to "
                                   "3600000"},
    {"trickle 0", "trickle: \"0\" is not a number from 1 to 1000000000"},
    {"oneway", "oneway: c2s|s2c is missing"},
    {"oneway up", "oneway: \"up\" is neither c2s nor s2c"},
    {"oneway c2s s2c", "oneway: \"s2c\" is one word too many"},
    {"eat-reply", "eat-reply: N is missing"},
    {"eat-reply some", "eat-reply: \"some\" is not a number from 0 to 1000000000"},
};

TEST(every_bad_line_is_refused_with_a_reason)
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct failure failure = {.text = ""};
        struct proxy_command command = {.link = "kept"};

        assert_false(proxy_command_parse(&command, bad[i].line, &failure));

        assert_string_equal(bad[i].failure, failure.text);
        assert_string_equal("kept", command.link);
    }
}

TEST(an_overlong_line_is_refused)
{
    char line[PROXY_LINE_MAX + 1];
    struct failure failure = {.text = ""};
    struct proxy_command command;

    memset(line, ' ', sizeof line - 1);
    line[sizeof line - 1] = '\0';

    assert_false(proxy_command_parse(&command, line, &failure));
    assert_string_equal("the line is too long", failure.text);
}

static void apply(struct proxy_faults *faults, const char *line)
{
    struct proxy_command command;

    assert_true(proxy_command_parse(&command, line, NULL));
    proxy_faults_apply(faults, &command);
}

TEST(faults_add_up_until_pass)
{
    struct proxy_faults faults = {.gate = PROXY_OPEN};

    apply(&faults, "delay 20 5");
    apply(&faults, "trickle 100");
    apply(&faults, "eat-reply 3");
    apply(&faults, "refuse");
    apply(&faults, "stall");
    apply(&faults, "cut");
    assert_int_equal(20, faults.shape.delay_ms);
    assert_int_equal(5, faults.shape.jitter_ms);
    assert_int_equal(100, faults.shape.bytes_per_s);
    assert_int_equal(3, faults.eat_next);
    assert_true(faults.is_refusing);
    assert_int_equal(PROXY_STALLED, faults.gate);

    apply(&faults, "pass");

    const struct proxy_faults none = {.gate = PROXY_OPEN};
    assert_int_equal(none.shape.delay_ms, faults.shape.delay_ms);
    assert_int_equal(none.shape.jitter_ms, faults.shape.jitter_ms);
    assert_int_equal(none.shape.bytes_per_s, faults.shape.bytes_per_s);
    assert_int_equal(none.eat_next, faults.eat_next);
    assert_int_equal(none.gate, faults.gate);
    assert_false(faults.is_refusing);
}

TEST(the_last_verb_about_the_flow_counts)
{
    static const struct {
        const char *line;
        bool c2s, s2c;
    } flows[] = {
        {"stall", false, false},   {"oneway c2s", true, false}, {"oneway s2c", false, true},
        {"blackhole", true, true}, {"stall", false, false},     {"pass", true, true},
    };
    struct proxy_faults faults = {.gate = PROXY_OPEN};

    for (size_t i = 0; i < sizeof flows / sizeof *flows; i++) {
        apply(&faults, flows[i].line);

        assert_string_equal(flows[i].line, proxy_gate_name(faults.gate));
        assert_int_equal(flows[i].c2s, proxy_gate_lets(faults.gate, PROXY_C2S));
        assert_int_equal(flows[i].s2c, proxy_gate_lets(faults.gate, PROXY_S2C));
    }
}
