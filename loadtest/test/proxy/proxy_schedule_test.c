/*
 * Schedules: the same seed gives the same faults, another seed others, and bad lines are named.
 */
#include "proxy/proxy_schedule.h"
#include "test/support/testing.h"

enum { DRAWN = 1000 };

static const char text[] = "# a run\n"
                           "\n"
                           "500 stall\n"
                           "  every 300..900 link1:cut\r\n"
                           "every 10..20 eat-reply 1\n"
                           "1500 pass";

static struct proxy_schedule *make(const char *words, uint64_t seed)
{
    struct failure failure = {.text = ""};
    struct proxy_schedule *schedule = proxy_schedule_new(words, seed, &failure);

    assert_string_equal("", failure.text);
    assert_non_null(schedule);
    return schedule;
}

/* How many of the first moments and verbs of two seeds are the same. */
static size_t count_alike(uint64_t seed, uint64_t other_seed)
{
    struct proxy_schedule *one = make(text, seed);
    struct proxy_schedule *two = make(text, other_seed);
    size_t alike = 0;

    for (size_t i = 0; i < DRAWN; i++) {
        bool is_same_moment = proxy_schedule_next_ms(one) == proxy_schedule_next_ms(two);
        const struct proxy_command *left = proxy_schedule_take(one);
        const struct proxy_command *right = proxy_schedule_take(two);
        if (is_same_moment && left->verb == right->verb) alike++;
    }
    proxy_schedule_free(one);
    proxy_schedule_free(two);
    return alike;
}

TEST(the_same_seed_gives_the_same_faults)
{
    assert_int_equal(DRAWN, count_alike(7, 7));
    assert_int_equal(DRAWN, count_alike(0, 0));
}

TEST(another_seed_gives_others)
{
    assert_in_range(count_alike(7, 8), 0, DRAWN / 4);
}

TEST(single_lines_come_once_and_in_order_of_time)
{
    struct proxy_schedule *schedule = make("20 cut\n10 stall\n20 pass\n0 refuse\n", 1);
    static const struct {
        int64_t at_ms;
        proxy_verb verb;
    } wanted[] = {{0, PROXY_REFUSE}, {10, PROXY_STALL}, {20, PROXY_CUT}, {20, PROXY_PASS}};

    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        assert_int_equal(wanted[i].at_ms, proxy_schedule_next_ms(schedule));
        assert_int_equal(wanted[i].verb, proxy_schedule_take(schedule)->verb);
    }
    assert_int_equal(INT64_MAX, proxy_schedule_next_ms(schedule));
    proxy_schedule_free(schedule);
}

TEST(gaps_of_a_repeated_line_fill_their_range)
{
    struct proxy_schedule *schedule = make("every 30..33 link1:cut\n", 3);
    bool is_seen[4] = {false};
    int64_t before_ms = 0;

    for (size_t i = 0; i < DRAWN; i++) {
        int64_t at_ms = proxy_schedule_next_ms(schedule);
        assert_in_range(at_ms - before_ms, 30, 33);
        is_seen[at_ms - before_ms - 30] = true;
        before_ms = at_ms;
        assert_string_equal("link1", proxy_schedule_take(schedule)->link);
    }
    assert_true(is_seen[0] && is_seen[1] && is_seen[2] && is_seen[3]);
    proxy_schedule_free(schedule);
}

TEST(another_line_does_not_shift_the_rest)
{
    struct proxy_schedule *alone = make("every 1..1000 cut\n", 5);
    struct proxy_schedule *both = make("every 1..1000 cut\nevery 1..1000 stall\n", 5);

    for (size_t i = 0; i < DRAWN; i++) {
        while (true) {
            int64_t at_ms = proxy_schedule_next_ms(both);
            if (proxy_schedule_take(both)->verb == PROXY_STALL) continue;
            assert_int_equal(proxy_schedule_next_ms(alone), at_ms);
            break;
        }
        (void)proxy_schedule_take(alone);
    }
    proxy_schedule_free(alone);
    proxy_schedule_free(both);
}

TEST(an_empty_schedule_never_rings)
{
    struct proxy_schedule *schedule = make("# nothing\n\n", 1);

    assert_int_equal(INT64_MAX, proxy_schedule_next_ms(schedule));
    assert_null(proxy_schedule_line(schedule, 0));
    proxy_schedule_free(schedule);
}

TEST(every_bad_line_is_named)
{
    static const struct {
        const char *text, *failure;
    } bad[] = {
        {"stall\n", "line 1: does not begin with AFTER_MS or every MIN..MAX"},
        {"500stall\n", "line 1: does not begin with AFTER_MS or every MIN..MAX"},
        {"-5 stall\n", "line 1: does not begin with AFTER_MS or every MIN..MAX"},
        {"\n#\n500 jump\n", "line 3: no verb \"jump\""},
        {"500\n", "line 1: does not begin with AFTER_MS or every MIN..MAX"},
        {"500 \n", "line 1: no verb"},
        {"500 status\n", "line 1: status: nobody reads it"},
        {"every 5 cut\n", "line 1: every: MIN..MAX must be from 1 to 1000000000 ms"},
        {"every 0..5 cut\n", "line 1: every: MIN..MAX must be from 1 to 1000000000 ms"},
        {"every 9..5 cut\n", "line 1: every: MIN..MAX must be from 1 to 1000000000 ms"},
        {"every 5..99999999999 cut\n", "line 1: every: MIN..MAX must be from 1 to 1000000000 ms"},
        {"0 cut\nevery 5..6 delay\n", "line 2: delay: MS is missing"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct failure failure = {.text = ""};

        assert_null(proxy_schedule_new(bad[i].text, 1, &failure));

        assert_string_equal(bad[i].failure, failure.text);
    }
}
