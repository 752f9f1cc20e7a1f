/*
 * The hub's thread on a made-up server: what it is asked, what it says, when it goes away. Several
 * servers are in hub_servers_test.c.
 * link: -Wl,--wrap=lki_redis_open_begin -Wl,--wrap=lki_redis_open_go_on -Wl,--wrap=lki_redis_close
 * link: -Wl,--wrap=lki_redis_send -Wl,--wrap=lki_redis_receive -Wl,--wrap=lki_redis_fd
 * link: -Wl,--wrap=lk_reply_at -Wl,--wrap=lk_reply_bytes -Wl,--wrap=lk_reply_free
 * link: -Wl,--wrap=lk_reply_type_of -Wl,--wrap=lki_topology_node -Wl,--wrap=lki_topology_primary
 * link: -Wl,--wrap=lki_node_unref -Wl,--wrap=lki_topology_refresh_soon -Wl,--wrap=lki_topology_moved
 * link: -Wl,--wrap=lki_topology_is_sharded
 */
#include <pthread.h>

#include "base/clock.h"
#include "test/support/lk_pubsub.h"
#include "test/support/testing.h"
#include "wait/hub.h"

enum { LONG_MS = 5000, BACKOFF_MS = 40 };

/* ---- a hub with its thread ------------------------------------------------------------------------ */

static struct {
    struct lki_hub *hub;
    pthread_t thread;
    struct lki_waiter waiters[3];
    const struct lks_pubsub_counts *counts; /* borrowed; the server's */
} world;

static atomic_int refusals; /* LK_EVENT_REFUSED so far */

static void count_event(const struct lk_event *event, void *arg)
{
    if (event->type == LK_EVENT_REFUSED) atomic_fetch_add(&refusals, 1);
}

static int start_hub(void **state)
{
    static const struct lk_client_options options = {
        .connect_ms = 100, .command_ms = 100, .backoff_ms = BACKOFF_MS, .on_event = count_event};

    atomic_store(&refusals, 0);
    lks_pubsub_start(false);
    world.counts = lks_pubsub_counts(0);
    for (size_t i = 0; i < 3; i++)
        lki_waiter_init(&world.waiters[i], LKI_WAKE_ONE);
    world.hub = lki_hub_new(&options, lks_pubsub_topology(), NULL);
    if (!world.hub) return -1;
    return pthread_create(&world.thread, NULL, lki_hub_thread, world.hub);
}

static int stop_hub(void **state)
{
    lki_hub_stop(world.hub);
    int failure = pthread_join(world.thread, NULL);
    lki_hub_free(world.hub);
    for (size_t i = 0; i < 3; i++)
        lki_waiter_done(&world.waiters[i]);
    return lks_pubsub_stop() ? failure : -1;
}

static void publish_text(const char *channel, const char *text)
{
    lks_pubsub_say(0, "message", channel, text);
}

static void publish(const char *channel)
{
    publish_text(channel, "0");
}

static void join(size_t i, const char *channel)
{
    assert_int_equal(
        lki_hub_join(world.hub, &world.waiters[i], channel, lki_clock_after_ms(LONG_MS), NULL),
        LK_OK);
}

static void leave(size_t i)
{
    lki_hub_leave(world.hub, &world.waiters[i]);
}

static lk_status wait_long(size_t i)
{
    return lki_hub_wait(world.hub, &world.waiters[i], lki_clock_after_ms(LONG_MS));
}

/* Whether a waiter is asleep: it is not woken now. */
static lk_status look(size_t i)
{
    return lki_hub_wait(world.hub, &world.waiters[i], 0);
}

/* The hub has worked off everything that was said before: a word of its own comes back. */
static void settle(void)
{
    publish("settle");
    assert_int_equal(wait_long(2), LK_OK);
}

TEST(a_message_wakes_the_longest_waiter_of_its_channel)
{
    join(0, "a");
    join(1, "a");
    join(2, "settle");
    publish("a");
    publish("nobody");
    settle();

    assert_int_equal(look(0), LK_OK);
    assert_int_equal(look(1), LK_BUSY);
    leave(0);
    leave(1);
    leave(2);
}

TEST(two_messages_wake_two)
{
    join(0, "a");
    join(1, "a");
    publish("a");
    publish("a");

    assert_int_equal(wait_long(1), LK_OK);
    assert_int_equal(wait_long(0), LK_OK);
    leave(0);
    leave(1);
}

/* Two waiters of one rule and what they need; a message's text; who of them it wakes. */
static const struct {
    enum lki_wake_rule rule;
    size_t units[2];
    const char *text;
    lk_status first, second;
} wakings[] = {
    {LKI_WAKE_ONE, {1, 1}, "5", LK_OK, LK_BUSY},
    {LKI_WAKE_RW, {1, 1}, "0", LK_OK, LK_BUSY},
    {LKI_WAKE_RW, {1, 1}, "1", LK_OK, LK_OK},
    {LKI_WAKE_ALL, {1, 1}, "0", LK_OK, LK_OK},
    {LKI_WAKE_COUNT, {1, 1}, "1", LK_OK, LK_BUSY},
    {LKI_WAKE_COUNT, {1, 1}, "2", LK_OK, LK_OK},
    {LKI_WAKE_COUNT, {2, 1}, "2", LK_OK, LK_BUSY},
    {LKI_WAKE_COUNT, {2, 1}, "3", LK_OK, LK_OK},
    {LKI_WAKE_COUNT, {3, 1}, "1", LK_BUSY, LK_OK}, /* too few for the first are not wasted on it */
    {LKI_WAKE_COUNT, {1, 1}, "0", LK_BUSY, LK_BUSY},
    {LKI_WAKE_COUNT, {1, 1}, "-3", LK_BUSY, LK_BUSY},
    {LKI_WAKE_COUNT, {1, 1}, "nonsense", LK_BUSY, LK_BUSY},
};

TEST(a_message_wakes_as_many_as_its_channels_rule_says)
{
    join(2, "settle");
    for (size_t i = 0; i < sizeof wakings / sizeof wakings[0]; i++) {
        for (size_t k = 0; k < 2; k++) {
            world.waiters[k].rule = wakings[i].rule;
            world.waiters[k].units = wakings[i].units[k];
            join(k, "a");
        }
        publish_text("a", wakings[i].text);
        settle();
        lk_status first = look(0), second = look(1);
        if (first != wakings[i].first || second != wakings[i].second) fail_msg("row %zu", i);
        leave(0);
        leave(1);
    }
    leave(2);
}

TEST(who_leaves_hands_on_the_wake_up_meant_for_it)
{
    join(0, "a");
    join(1, "a");
    join(2, "settle");
    publish("a");
    settle();
    leave(0);

    assert_int_equal(look(1), LK_OK);
    leave(1);
    leave(2);
}

TEST(who_was_woken_and_could_not_try_hands_it_on)
{
    join(0, "a");
    join(1, "a");
    publish("a");
    assert_int_equal(wait_long(0), LK_OK);
    assert_int_equal(look(1), LK_BUSY);
    lki_hub_unwake(world.hub, &world.waiters[0]);
    leave(0);

    assert_int_equal(look(1), LK_OK);
    leave(1);
}

TEST(who_was_woken_and_tried_takes_it_along)
{
    join(0, "a");
    join(1, "a");
    publish("a");
    assert_int_equal(wait_long(0), LK_OK);
    leave(0);

    assert_int_equal(look(1), LK_BUSY);
    leave(1);
}

TEST(cancelling_wakes_for_good)
{
    join(0, "a");
    lki_hub_cancel(world.hub, &world.waiters[0]);
    assert_int_equal(wait_long(0), LK_CANCELLED);
    assert_int_equal(wait_long(0), LK_CANCELLED);
    leave(0);
    lki_hub_cancel(world.hub, &world.waiters[0]); /* not joined: no effect on the next wait */
    join(0, "a");

    assert_int_equal(look(0), LK_BUSY);
    leave(0);
}

TEST(a_break_wakes_all_and_they_are_subscribed_again)
{
    join(0, "a");
    join(1, "b");
    lks_pubsub_cut(0, LKS_WELL);

    assert_int_equal(wait_long(0), LK_OK);
    assert_int_equal(wait_long(1), LK_OK);
    assert_true(lks_pubsub_reaches(&world.counts->subscribes, 4));
    publish("b");
    assert_int_equal(wait_long(1), LK_OK);
    leave(0);
    leave(1);
}

/* A release that is published between the break and the new subscription reaches nobody. */
TEST(who_slept_through_a_break_is_woken_when_subscribed_again)
{
    join(0, "a");
    lks_pubsub_cut(0, LKS_REFUSING);
    assert_int_equal(wait_long(0), LK_OK); /* tries, finds it held, sleeps again */
    assert_true(lks_pubsub_reaches(&world.counts->failures, 1));
    assert_int_equal(look(0), LK_BUSY);
    lks_pubsub_set_mood(0, LKS_WELL);

    assert_int_equal(wait_long(0), LK_OK);
    leave(0);
}

TEST(who_slept_before_the_first_confirmation_is_woken_by_it)
{
    lks_pubsub_cut(0, LKS_REFUSING);
    assert_int_equal(lki_hub_join(world.hub, &world.waiters[0], "a", 0, NULL), LK_OK);
    assert_int_equal(look(0), LK_BUSY);
    assert_true(lks_pubsub_reaches(&world.counts->failures, 1));
    lks_pubsub_set_mood(0, LKS_WELL);

    assert_int_equal(wait_long(0), LK_OK);
    leave(0);
}

TEST(a_confirmation_in_time_wakes_nobody)
{
    join(0, "a");
    join(1, "a");
    join(2, "settle");
    settle();

    assert_int_equal(look(0), LK_BUSY);
    assert_int_equal(look(1), LK_BUSY);
    leave(0);
    leave(1);
    leave(2);
}

TEST(who_joins_learns_at_once_that_the_server_is_out_of_reach)
{
    lks_pubsub_set_mood(0, LKS_REFUSING);
    int64_t begin = lki_clock_now();
    join(0, "a");

    assert_true(lki_clock_now() - begin < (int64_t)LONG_MS / 2 * NS_PER_MS);
    lks_pubsub_set_mood(0, LKS_WELL);
    assert_int_equal(wait_long(0), LK_OK); /* once it is reached, whoever sleeps looks again */
    leave(0);
}

/* As a server does whose access rules leave our channels out. */
TEST(a_refused_subscription_is_asked_for_again_with_pauses)
{
    lks_pubsub_set_mood(0, LKS_DENYING);
    int64_t begin = lki_clock_now();
    assert_int_equal(lki_hub_join(world.hub, &world.waiters[0], "a", 0, NULL), LK_OK);
    assert_true(lks_pubsub_reaches(&world.counts->subscribes, 4));
    int64_t took_ms = (lki_clock_now() - begin) / NS_PER_MS;

    assert_true(took_ms >= 10 + 20 + 20); /* three pauses at their shortest */
    lks_pubsub_set_mood(0, LKS_WELL);
    assert_int_equal(wait_long(0), LK_OK); /* once it is granted, whoever sleeps looks again */
    leave(0);
}

TEST(a_refusal_by_access_rules_disturbs_no_other_channel)
{
    lks_pubsub_set_mood(0, LKS_PICKY);
    join(1, "a");
    int64_t begin = lki_clock_now();
    join(0, "denied"); /* who cannot be woken does not wait for that */
    assert_true(lki_clock_now() - begin < (int64_t)LONG_MS / 2 * NS_PER_MS);
    unsigned before = lks_pubsub_read(&world.counts->subscribes);
    assert_true(lks_pubsub_reaches(&world.counts->subscribes, before + 3));
    publish("a");
    assert_int_equal(wait_long(1), LK_OK);
    assert_int_equal(lks_pubsub_read(&world.counts->opens), 1);
    assert_int_equal(atomic_load(&refusals), 1);

    leave(0);
    leave(1);
}

/* As a server with too many clients does. */
TEST(a_server_that_throws_us_out_is_not_asked_in_a_spin)
{
    lks_pubsub_set_mood(0, LKS_SLAMMING);
    int64_t begin = lki_clock_now();
    assert_int_equal(lki_hub_join(world.hub, &world.waiters[0], "a", 0, NULL), LK_OK);
    assert_true(lks_pubsub_reaches(&world.counts->opens, 5));
    int64_t took_ms = (lki_clock_now() - begin) / NS_PER_MS;

    assert_true(took_ms >= 10 + 20 + 20 + 20); /* four pauses at their shortest */
    leave(0);
}

TEST(an_unused_subscription_ends_after_a_while_and_can_come_back)
{
    join(0, "a");
    leave(0);
    assert_int_equal(lks_pubsub_read(&world.counts->subscribes), 1);
    join(0, "a"); /* still there: asked for once */
    publish("a");

    assert_int_equal(wait_long(0), LK_OK);
    assert_int_equal(lks_pubsub_read(&world.counts->subscribes), 1);
    leave(0);
}

TEST(a_channel_that_nobody_else_joins_is_not_kept)
{
    bool is_soon = false;

    join(2, "settle");
    world.waiters[1].is_alone = true;
    for (unsigned n = 1; n <= 5 && !is_soon; n++) {
        join(1, "own");
        leave(1);
        int64_t begin = lki_clock_now();
        settle(); /* something to do: it looks at its channels */
        assert_true(lks_pubsub_reaches(&world.counts->unsubscribes, n));
        is_soon = lki_clock_now() - begin < 500LL * NS_PER_MS;
    }

    assert_true(is_soon); /* one that is kept never is, however the machine stands */
    leave(2);
}

FIXTURE(start_hub, stop_hub);
