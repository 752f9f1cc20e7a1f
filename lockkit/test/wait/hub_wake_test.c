/*
 * How waits end without a message: by a cancel, by the flag above the waiter, by the closing of the
 * client. The hub has no thread here, so no subscription is ever confirmed; what messages do is in
 * hub_test.c.
 */
#include <pthread.h>

#include "base/clock.h"
#include "test/support/testing.h"
#include "wait/hub.h"

enum { LONG_MS = 20000, CROWD = 200 };

static struct {
    struct lki_hub *hub;
    struct lki_waiter waiters[2];
    _Atomic bool flag;
    int64_t began_at;
} world;

static void ignore_event(const struct lk_event *event, void *arg)
{
}

static int make_hub(void **state)
{
    static const struct lk_client_options options = {.on_event = ignore_event};

    world.hub = lki_hub_new(&options, NULL, NULL);
    for (size_t i = 0; i < 2; i++)
        lki_waiter_init(&world.waiters[i], LKI_WAKE_ONE);
    atomic_store(&world.flag, false);
    world.began_at = lki_clock_now();
    return world.hub ? 0 : -1;
}

static int free_hub(void **state)
{
    lki_hub_free(world.hub);
    for (size_t i = 0; i < 2; i++)
        lki_waiter_done(&world.waiters[i]);
    return (lki_clock_now() - world.began_at) / NS_PER_MS < LONG_MS / 2 ? 0
                                                                        : -1; /* none slept on */
}

static void join(struct lki_waiter *waiter, const char *channel, int64_t limit_ms)
{
    assert_int_equal(lki_hub_join(world.hub, waiter, channel, lki_clock_after_ms(limit_ms), NULL),
                     LK_OK);
}

static lk_status wait_long(struct lki_waiter *waiter)
{
    return lki_hub_wait(world.hub, waiter, lki_clock_after_ms(LONG_MS));
}

struct sleeper {
    struct lki_waiter waiter;
    const char *channel; /* joined by the thread itself; NULL: joined already */
    pthread_t thread;
    lk_status status; /* read after the join */
};

static void *sleeper_main(void *arg)
{
    struct sleeper *sleeper = arg;

    if (sleeper->channel) {
        sleeper->status = lki_hub_join(world.hub, &sleeper->waiter, sleeper->channel,
                                       lki_clock_after_ms(LONG_MS), NULL);
        if (sleeper->status != LK_OK) return NULL;
    }
    sleeper->status = wait_long(&sleeper->waiter);
    return NULL;
}

static void start_sleeper(struct sleeper *sleeper, const char *channel)
{
    *sleeper = (struct sleeper){.channel = channel};
    lki_waiter_init(&sleeper->waiter, LKI_WAKE_ONE);
    sleeper->waiter.cancelled_by = &world.flag;
    if (!channel) join(&sleeper->waiter, NULL, LONG_MS);
    assert_int_equal(pthread_create(&sleeper->thread, NULL, sleeper_main, sleeper), 0);
}

static lk_status end_sleeper(struct sleeper *sleeper)
{
    assert_int_equal(pthread_join(sleeper->thread, NULL), 0);
    lki_hub_leave(world.hub, &sleeper->waiter);
    lki_waiter_done(&sleeper->waiter);
    return sleeper->status;
}

TEST(without_a_channel_it_joins_at_once_and_sleeps_until_its_moment)
{
    struct lki_waiter *waiter = &world.waiters[0];

    join(waiter, NULL, LONG_MS);
    int64_t until = lki_clock_after_ms(3);
    assert_int_equal(lki_hub_wait(world.hub, waiter, until), LK_BUSY);

    assert_true(lki_clock_now() >= until);
    lki_hub_leave(world.hub, waiter);
}

TEST(a_cancel_ends_the_sleep_of_one)
{
    struct sleeper first, second;

    start_sleeper(&first, NULL);
    start_sleeper(&second, NULL);
    lki_hub_cancel(world.hub, &first.waiter);
    assert_int_equal(end_sleeper(&first), LK_CANCELLED);
    lki_hub_cancel(world.hub, &second.waiter);

    assert_int_equal(end_sleeper(&second), LK_CANCELLED);
}

TEST(a_crowd_can_be_cancelled_at_once)
{
    static struct sleeper crowd[CROWD];

    for (size_t i = 0; i < CROWD; i++)
        start_sleeper(&crowd[i], NULL);
    for (size_t i = 0; i < CROWD; i++)
        lki_hub_cancel(world.hub, &crowd[i].waiter);
    for (size_t i = 0; i < CROWD; i++)
        assert_int_equal(end_sleeper(&crowd[i]), LK_CANCELLED);
}

/* Whenever it comes: before the waiter joins, while it waits to be subscribed, or asleep. */
TEST(the_flag_above_ends_a_wait_also_before_it_begins)
{
    for (int i = 0; i < 20; i++) {
        struct sleeper sleeper;

        atomic_store(&world.flag, i % 2 == 0);
        start_sleeper(&sleeper, i % 4 < 2 ? "never confirmed" : NULL);
        atomic_store(&world.flag, true);
        lki_hub_cancel(world.hub, &sleeper.waiter);
        assert_int_equal(end_sleeper(&sleeper), LK_CANCELLED);
    }
}

TEST(a_flag_that_is_taken_back_has_no_effect_on_the_next_wait)
{
    struct lki_waiter *waiter = &world.waiters[0];

    waiter->cancelled_by = &world.flag;
    atomic_store(&world.flag, true);
    join(waiter, NULL, LONG_MS);
    assert_int_equal(wait_long(waiter), LK_CANCELLED);
    assert_int_equal(wait_long(waiter), LK_CANCELLED); /* for good */
    lki_hub_leave(world.hub, waiter);
    atomic_store(&world.flag, false);
    join(waiter, NULL, LONG_MS);

    assert_int_equal(lki_hub_wait(world.hub, waiter, 0), LK_BUSY);
    lki_hub_leave(world.hub, waiter);
}

TEST(stopping_ends_all_waits_and_those_to_come)
{
    struct sleeper silent, joining;

    start_sleeper(&silent, NULL);
    start_sleeper(&joining, "never confirmed");
    lki_hub_stop(world.hub);
    assert_int_equal(end_sleeper(&silent), LK_INVALID);
    assert_int_equal(end_sleeper(&joining), LK_INVALID);
    join(&world.waiters[0], "another", LONG_MS);

    assert_int_equal(wait_long(&world.waiters[0]), LK_INVALID);
    lki_hub_leave(world.hub, &world.waiters[0]);
}

TEST(a_wake_up_that_led_to_no_try_goes_to_the_next_that_sleeps)
{
    join(&world.waiters[0], "a", 0);
    join(&world.waiters[1], "a", 0);
    lki_hub_unwake(world.hub, &world.waiters[0]);
    lki_hub_cancel(world.hub, &world.waiters[0]); /* it was woken, and cancelled before it looked */
    assert_int_equal(wait_long(&world.waiters[0]), LK_CANCELLED);
    lki_hub_leave(world.hub, &world.waiters[0]);

    assert_int_equal(wait_long(&world.waiters[1]), LK_OK);
    lki_hub_leave(world.hub, &world.waiters[1]);
}

FIXTURE(make_hub, free_hub);
