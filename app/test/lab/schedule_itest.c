/*
 * Plays whose next step somebody chooses, on the lab's real Redis: what is offered can be played and nothing
 * else, the same schedule gives the same events, by threads and by processes, and each fault does what it says.
 */
#include "guards/guards.h"
#include "lab/plays/scenarios.h"
#include "lab/schedule/schedule.h"
#include "start/private_server.h"
#include "test/support/app_lab.h"
#include "test/support/testing.h"

enum { OUT_SIZE = 1 << 18, AGAIN = 20 };

static struct schedule play(struct lab *lab, const struct guard *guard, const char *text,
                            bool in_threads)
{
    struct schedule one = {.guard = guard, .text = text, .in_threads = in_threads};

    if (!schedule_play(&one, lab)) fail_msg("%s %s: %s", guard->name, text, one.run->failure.text);
    return one;
}

/* Its events, and what may come next. */
static char *events_of(struct lab *lab, const struct guard *guard, const char *text,
                       bool in_threads)
{
    struct schedule one = play(lab, guard, text, in_threads);
    char *json = schedule_json(&one, LAB_ENGLISH);

    assert_non_null(json);
    assert_string_equal(text + one.len, "");
    schedule_done(&one);
    memmove(json, strstr(json, "\"steps\""), strlen(strstr(json, "\"steps\"")) + 1);
    return json;
}

static const struct {
    const struct guard *guard;
    const char *text;
} plays[] = {
    {&guard_none, "ABAB"},
    {&guard_set_del, "AAAtBA"},
    {&guard_mutex_unchecked, "AAtBBAB"},
    {&guard_watchdog_unchecked, "AA(AtBBB)AA"},
    {&guard_mutex_watchdog, "A(AtBB)AAB"},
    {&guard_script, "<ABA+A"},
    {&guard_watch, "AABB"},
    {&guard_fenced, "AtBABAB"},
    {&guard_setnx_expire, "AaB"},
    {&guard_mutex, ">AAB"},
    {&guard_redlock, "A!2-2BA"},
    {&guard_redlock, "!3A-3!1BA"},
    {&scenario_guard_redlock_unchecked, "A!2BA-2AA"},
    {&scenario_guard_mutex_elsewhere, "~1A^1BABABA"},
    {&scenario_guard_mutex_elsewhere, "A~1A~1^1BAA"},
};

TEST(the_same_schedule_gives_the_same_events_in_threads_and_in_processes)
{
    for (size_t i = 0; i < sizeof plays / sizeof plays[0]; i++) {
        char *first = events_of(*state, plays[i].guard, plays[i].text, false);

        for (int again = 0; again < 2; again++) {
            char *second = events_of(*state, plays[i].guard, plays[i].text, true);
            assert_string_equal(first, second);
            free(second);
        }
        free(first);
    }
}

TEST(twenty_times_the_same_schedule)
{
    char *first = events_of(*state, &guard_get_del, "AAAAtBABB", true);

    for (int i = 0; i < AGAIN; i++) {
        char *other = events_of(*state, &guard_get_del, "AA", true); /* undone since */
        free(other);
        other = events_of(*state, &guard_get_del, "AAAAtBABB", true);
        assert_string_equal(first, other);
        free(other);
    }
    free(first);
}

/* ---- what is offered ------------------------------------------------------------------------------- */

static bool is_offered(const struct schedule *one, const char *choice)
{
    for (size_t i = 0; i < one->choice_count; i++) {
        if (strcmp(one->choices[i].text, choice) == 0) return true;
    }
    return false;
}

TEST(what_is_offered_can_be_played_and_nothing_else)
{
    static const char *const choices[] = {"A",  "B",  "C",  "a",  "b",  "t",  "u",
                                          "<A", "<B", ">A", "+A", "+B", "(A", ")A"};
    static const char *const texts[] = {"", "A", "AAAA", "A(At", "A(A", "a", "<A"};
    char longer[SCHEDULE_SIZE];

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct schedule one = play(*state, &guard_watchdog_unchecked, texts[i], true);

        for (size_t k = 0; k < sizeof choices / sizeof choices[0]; k++) {
            (void)snprintf(longer, sizeof longer, "%s%s", texts[i], choices[k]);
            struct schedule more = play(*state, &guard_watchdog_unchecked, longer, true);

            if (is_offered(&one, choices[k])) {
                assert_string_equal(longer + more.len, "");
            } else { /* it stands where it stood */
                assert_int_equal(more.len, one.len);
                assert_int_equal(more.choice_count, one.choice_count);
            }
            schedule_done(&more);
        }
        schedule_done(&one);
    }
}

TEST(a_choice_says_what_comes_next)
{
    struct schedule one = play(*state, &guard_setnx, "A", true);

    assert_string_equal(one.choices[0].text, "A");
    assert_string_equal(one.choices[0].next, "GET seckill:{lamp}:stock");
    assert_string_equal(one.choices[1].next, "SETNX seckill:{lamp}:lock B");
    assert_false(is_offered(&one, "t")); /* it has no end */
    schedule_done(&one);
}

TEST(a_play_has_as_many_actors_and_units_as_are_wanted)
{
    struct schedule one = {.guard = &guard_script, .text = "ABCD", .actors = 4, .units = 3};

    assert_true(schedule_play(&one, *state));
    assert_int_equal(one.run->step_count, 4);
    assert_int_equal(one.run->steps[3].state.order_count, 3);
    assert_string_equal(one.run->steps[3].told, "sold-out");
    assert_int_equal(one.choice_count, 0);
    schedule_done(&one);
}

/* ---- faults ------------------------------------------------------------------------------------------ */

TEST(a_server_dies_and_starts_again_empty)
{
    struct schedule dead = play(*state, &guard_redlock, "A!2", true);
    struct schedule back = play(*state, &guard_redlock, "A!2-2B", true);
    struct schedule none = play(*state, &guard_none, "A", true);

    assert_true(is_offered(&dead, "-2"));
    assert_false(is_offered(&dead, "!2"));
    assert_true(is_offered(&dead, "!1"));
    assert_false(is_offered(&dead, ">A")); /* it asks several */
    assert_int_equal(dead.run->steps[1].state.lock[1].lease, LAB_DOWN);
    assert_string_equal(back.run->steps[3].state.lock[0].owner, "A#1");
    assert_string_equal(back.run->steps[3].state.lock[1].owner, "B#1");
    assert_false(is_offered(&none, "!1"));
    schedule_done(&dead);
    schedule_done(&back);
    schedule_done(&none);
}

TEST(a_replica_takes_the_place_and_knows_what_it_has_heard)
{
    struct schedule torn = play(*state, &scenario_guard_mutex_elsewhere, "~1A^1B", true);
    struct schedule whole = play(*state, &scenario_guard_mutex_elsewhere, "~1A~1^1B", true);

    assert_int_equal(torn.run->break_count, 1);
    assert_int_equal(torn.run->breaks[0].promise, LAB_TWO_HOLDERS);
    assert_string_equal(whole.run->steps[4].told, "lock-timeout");
    assert_false(is_offered(&whole, "^1"));
    assert_false(is_offered(&whole, "!2"));
    schedule_done(&torn);
    schedule_done(&whole);
}

TEST(what_was_lost_was_done_and_what_was_stuck_arrives_once)
{
    struct schedule lost = play(*state, &guard_none, "A>A", true);
    struct schedule stuck = play(*state, &guard_script, "<A", true);
    struct schedule late = play(*state, &guard_script, "<A+A", true);

    assert_int_equal(lost.run->steps[1].state.order_count, 1);
    assert_int_equal(stuck.run->steps[0].state.order_count, 0);
    assert_int_equal(late.run->steps[1].state.order_count, 1);
    assert_true(is_offered(&stuck, "+A"));
    assert_false(is_offered(&late, "+A"));
    schedule_done(&lost);
    schedule_done(&stuck);
    schedule_done(&late);
}

TEST(who_is_killed_is_gone_in_a_process_and_in_a_thread)
{
    for (int in_threads = 0; in_threads <= 1; in_threads++) {
        struct schedule one = play(*state, &guard_setnx, "Aa", in_threads);

        assert_int_equal(one.run->break_count, 1);
        assert_int_equal(one.run->breaks[0].promise, LAB_STUCK);
        assert_false(is_offered(&one, "A"));
        schedule_done(&one);
    }
}

/* ---- the command ------------------------------------------------------------------------------------- */

#define CTL(out, ...) app_run("seckillctl", (const char *const[]){__VA_ARGS__, NULL}, out, OUT_SIZE)

TEST(the_command_plays_and_says_what_was_possible)
{
    char *out = malloc(OUT_SIZE);

    assert_non_null(out);
    assert_int_equal(CTL(out, "lab", "play", "none", "--schedule", "ABAB"), 0);
    assert_non_null(strstr(out, "oversold"));
    assert_int_equal(CTL(out, "lab", "play", "none", "--schedule", "At", "--json"), 1);
    assert_non_null(strstr(out, "\"schedule\":\"A\""));
    assert_non_null(
        strstr(out, "\"choices\":[{\"choice\":\"A\",\"actor\":\"A\",\"kind\":\"step\""));
    assert_int_equal(CTL(out, "lab", "play", "nonsense"), 2);
    assert_int_equal(CTL(out, "lab", "play", "postgres"), 2);
    assert_int_equal(CTL(out, "lab", "play", "none", "--actors", "5"), 2);
    assert_int_equal(CTL(out, "lab", "explore", "script", "--kinds", "x"), 2);
    assert_int_equal(CTL(out, "lab", "explore", "script", "--json"), 0);
    assert_int_equal(CTL(out, "lab", "explore", "setnx"), 1);
    assert_non_null(strstr(out, "/lab?run=setnx&schedule=Aa&units=1&actors=2"));
    assert_int_equal(CTL(out, "lab", "explore", "get-del", "--seconds", "0", "--json"), 2);
    assert_non_null(strstr(out, "\"verdict\":\"unfinished\""));
    free(out);
}

GROUP(app_lab_open, app_lab_close);

int main(int argc, char **argv)
{
    if (private_server_is_this(argc, argv) || actor_is_this(argc, argv)) return 2;
    return testing_run(argc, argv);
}
