/*
 * A lone waiter polls the subscriber socket itself, and the hub's thread takes over whenever that is not enough.
 * link: -Wl,--wrap=lki_redis_open_begin -Wl,--wrap=lki_redis_open_go_on -Wl,--wrap=lki_redis_close
 * link: -Wl,--wrap=lki_redis_send -Wl,--wrap=lki_redis_receive -Wl,--wrap=lki_redis_fd
 * link: -Wl,--wrap=lk_reply_at -Wl,--wrap=lk_reply_bytes -Wl,--wrap=lk_reply_free
 * link: -Wl,--wrap=lk_reply_type_of -Wl,--wrap=lki_topology_node -Wl,--wrap=lki_topology_primary
 * link: -Wl,--wrap=lki_node_unref -Wl,--wrap=lki_topology_refresh_soon -Wl,--wrap=lki_topology_moved
 * link: -Wl,--wrap=lki_topology_is_sharded -Wl,--wrap=lki_clock_now -Wl,--wrap=lki_clock_after_ms
 * link: -Wl,--wrap=lki_clock_left_ms -Wl,--wrap=lki_clock_wait
 */
#include <pthread.h>

#include "base/clock.h"
#include "test/support/lk_hub.h"
#include "test/support/lk_pubsub.h"
#include "test/support/testing.h"
#include "wait/hub.h"

enum { LONG_MS = 5000, TURNS_MAX = 500 };

static void publish(const char *channel)
{
    lks_pubsub_say(0, "message", channel, "0");
}

static int start_hub(void **state)
{
    return lks_hub_start(false);
}

static int stop_hub(void **state)
{
    return lks_hub_stop();
}

/* A lone waiter, again and again, until it polls itself. The channels of later waiters stay subscribed for a while,
   so their joins make no work for the hub's thread. */
static void listen_alone(void)
{
    static const char *const channels[] = {"a", "b", "c"};
    struct lki_waiter waiter;
    unsigned turns = 0;

    for (size_t i = 0; i < sizeof channels / sizeof channels[0]; i++) {
        lks_hub_join(0, channels[i]);
        lks_hub_leave(0);
    }
    lki_waiter_init(&waiter, LKI_WAKE_ONE);
    assert_int_equal(lki_hub_join(lks_hub(), &waiter, "alone", lki_clock_after_ms(LONG_MS), NULL),
                     LK_OK);
    do {
        assert_int_equal(lki_hub_wait(lks_hub(), &waiter, lki_clock_after_ms(2)), LK_BUSY);
        publish("alone");
        assert_int_equal(lki_hub_wait(lks_hub(), &waiter, lki_clock_after_ms(LONG_MS)), LK_OK);
    } while (!pthread_equal(lks_pubsub_listener, pthread_self()) && ++turns < TURNS_MAX);
    assert_true(turns < TURNS_MAX);
    lki_hub_leave(lks_hub(), &waiter);
    lki_waiter_done(&waiter);
}

/* One that waits in a thread of its own. */
struct sleeper {
    struct lki_waiter waiter;
    const char *channel;
    pthread_t thread;
    lk_status status; /* read after the join */
    _Atomic bool has_joined;
};

static void *sleeper_main(void *arg)
{
    struct sleeper *self = arg;

    self->status =
        lki_hub_join(lks_hub(), &self->waiter, self->channel, lki_clock_after_ms(LONG_MS), NULL);
    atomic_store(&self->has_joined, true);
    if (self->status == LK_OK)
        self->status = lki_hub_wait(lks_hub(), &self->waiter, lki_clock_after_ms(LONG_MS));
    return NULL;
}

/* It waits, or is about to. */
static void start(struct sleeper *self, const char *channel)
{
    *self = (struct sleeper){.channel = channel};
    lki_waiter_init(&self->waiter, LKI_WAKE_ONE);
    assert_int_equal(pthread_create(&self->thread, NULL, sleeper_main, self), 0);
    while (!atomic_load(&self->has_joined))
        lki_clock_sleep_ms(1);
    lki_clock_sleep_ms(5); /* most likely it listens by now; what is tested holds either way */
}

static lk_status end(struct sleeper *self)
{
    assert_int_equal(pthread_join(self->thread, NULL), 0);
    lki_hub_leave(lks_hub(), &self->waiter);
    lki_waiter_done(&self->waiter);
    return self->status;
}

TEST(a_lone_waiter_comes_to_poll_itself)
{
    listen_alone();
    listen_alone();
}

TEST(the_listener_wakes_the_others_too)
{
    struct sleeper listener, other;

    listen_alone();
    start(&listener, "a");
    start(&other, "b");
    publish("b");
    assert_int_equal(end(&other), LK_OK);
    publish("a");
    assert_int_equal(end(&listener), LK_OK);
}

TEST(when_the_listener_leaves_the_others_are_woken_too)
{
    struct sleeper listener, others[2];

    listen_alone();
    start(&listener, "a");
    start(&others[0], "b");
    start(&others[1], "c");
    publish("a");
    assert_int_equal(end(&listener), LK_OK);
    publish("b");
    publish("c");
    assert_int_equal(end(&others[0]), LK_OK);
    assert_int_equal(end(&others[1]), LK_OK);
}

TEST(the_listener_is_cancelled)
{
    struct sleeper listener;

    listen_alone();
    start(&listener, "a");
    lki_hub_cancel(lks_hub(), &listener.waiter);
    assert_int_equal(end(&listener), LK_CANCELLED);
}

TEST(the_listener_is_ended_with_the_client)
{
    struct sleeper listener;

    listen_alone();
    start(&listener, "a");
    lki_hub_stop(lks_hub());
    assert_int_equal(end(&listener), LK_INVALID);
}

TEST(the_listener_gets_a_wake_up_that_another_leaves)
{
    struct sleeper listener;

    listen_alone();
    start(&listener, "a");
    lks_hub_join(0, "a");
    publish("a");
    publish("a");
    assert_int_equal(end(&listener), LK_OK);
    start(&listener, "a");
    lks_hub_leave(0); /* woken by the second: that goes to the other */
    assert_int_equal(end(&listener), LK_OK);
}

TEST(a_break_while_one_listens_is_mended)
{
    struct sleeper listener;

    listen_alone();
    start(&listener, "a");
    lks_pubsub_cut(0, LKS_WELL);
    assert_int_equal(end(&listener), LK_OK); /* woken: it may have missed something */
    listen_alone();
}

TEST(its_moment_comes_while_it_listens)
{
    listen_alone();
    lks_hub_join(0, "a");
    assert_int_equal(lks_hub_look(0), LK_BUSY);
    publish("a");
    assert_int_equal(lks_hub_wait_long(0), LK_OK);
    assert_int_equal(lks_hub_look(0), LK_BUSY);
    lks_hub_leave(0);
}

FIXTURE(start_hub, stop_hub);
