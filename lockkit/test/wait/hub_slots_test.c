/*
 * The hub's thread in a made-up cluster: which server a channel is asked for at, and slots that move.
 * link: -Wl,--wrap=lki_redis_open_begin -Wl,--wrap=lki_redis_open_go_on -Wl,--wrap=lki_redis_close
 * link: -Wl,--wrap=lki_redis_send -Wl,--wrap=lki_redis_receive -Wl,--wrap=lki_redis_fd
 * link: -Wl,--wrap=lk_reply_at -Wl,--wrap=lk_reply_bytes -Wl,--wrap=lk_reply_free
 * link: -Wl,--wrap=lk_reply_type_of -Wl,--wrap=lki_topology_node -Wl,--wrap=lki_topology_primary
 * link: -Wl,--wrap=lki_node_unref -Wl,--wrap=lki_topology_refresh_soon -Wl,--wrap=lki_topology_moved
 * link: -Wl,--wrap=lki_topology_is_sharded -Wl,--wrap=lki_clock_now -Wl,--wrap=lki_clock_after_ms
 * link: -Wl,--wrap=lki_clock_left_ms -Wl,--wrap=lki_clock_wait
 */
#include "base/clock.h"
#include "test/support/lk_hub.h"
#include "test/support/lk_pubsub.h"
#include "test/support/testing.h"
#include "wait/hub.h"

static void publish(int server, const char *channel)
{
    lks_pubsub_say(server, "smessage", channel, "0");
}

/* Channel "a" is at server 0, channel "b" at 1, all others at 0. */
BEFORE_EACH()
{
    int failure = lks_hub_start(true);
    lks_pubsub_move("b", 1);
    lks_pubsub_learn();
    assert_int_equal(failure, 0);
}

AFTER_EACH()
{
    assert_int_equal(lks_hub_stop(), 0);
}

TEST(a_channel_is_subscribed_at_the_server_that_has_its_slot)
{
    lks_hub_join(0, "a");
    lks_hub_join(1, "b");
    assert_int_equal(lks_pubsub_read(&lks_pubsub_counts(0)->subscribes), 1);
    assert_int_equal(lks_pubsub_read(&lks_pubsub_counts(1)->subscribes), 1);
    publish(1, "b");
    assert_int_equal(lks_hub_wait_long(1), LK_OK);
    assert_int_equal(lks_hub_look(0), LK_BUSY);
    publish(0, "a");

    assert_int_equal(lks_hub_wait_long(0), LK_OK);
    lks_hub_leave(0);
    lks_hub_leave(1);
}

TEST(a_refused_channel_is_asked_for_where_the_server_sends_us)
{
    lks_pubsub_move("a", 1); /* the topology has not heard of it */
    lks_hub_join(0, "a");
    publish(1, "a");

    assert_int_equal(lks_hub_wait_long(0), LK_OK);
    assert_int_equal(lks_pubsub_read(&lks_pubsub_counts(0)->subscribes), 1);
    assert_int_equal(lks_pubsub_read(&lks_pubsub_counts(1)->subscribes), 1);
    lks_hub_leave(0);
}

TEST(a_refusal_of_one_channel_disturbs_no_other)
{
    lks_hub_join(1, "b");
    lks_pubsub_move("{b}2", 0); /* of one slot with b; whose end the server has not told yet */
    lks_hub_join(0, "{b}2");

    assert_int_equal(lks_hub_look(1), LK_BUSY);
    assert_int_equal(lks_pubsub_read(&lks_pubsub_counts(1)->closes), 0);
    lks_hub_leave(0);
    lks_hub_leave(1);
}

TEST(servers_that_send_us_in_circles_are_not_asked_in_a_spin)
{
    lks_pubsub_set_mood(0, LKS_ASTRAY);
    lks_pubsub_set_mood(1, LKS_ASTRAY);
    int64_t begin = lki_clock_now();
    lks_hub_join_within(0, "a", 0);
    assert_true(lks_pubsub_reaches(&lks_pubsub_counts(0)->subscribes, 5));
    int64_t took_ms = (lki_clock_now() - begin) / NS_PER_MS;

    assert_true(took_ms >=
                1 + 2 + 4 + 8 + 16 + 20); /* the pauses after the first, at their shortest */
    lks_pubsub_set_mood(1, LKS_WELL);
    lks_pubsub_move("a", 1);
    assert_int_equal(lks_hub_wait_long(0), LK_OK); /* subscribed in the end */
    lks_hub_leave(0);
}

TEST(a_cluster_that_is_down_is_asked_again_with_pauses_and_keeps_what_it_has)
{
    lks_hub_join(1, "kept");
    lks_pubsub_set_mood(0, LKS_DOWN);
    int64_t begin = lki_clock_now();
    lks_hub_join_within(0, "a", 0);
    assert_true(lks_pubsub_reaches(&lks_pubsub_counts(0)->subscribes, 1 + 7));
    int64_t took_ms = (lki_clock_now() - begin) / NS_PER_MS;

    assert_true(took_ms >= 1 + 2 + 4 + 8 + 16); /* the pauses after the first, at their shortest */
    assert_true(lks_pubsub_reaches(&lks_pubsub_refreshes, 5));
    assert_int_equal(lks_hub_look(1), LK_BUSY);
    assert_int_equal(lks_pubsub_read(&lks_pubsub_counts(0)->closes), 0);
    lks_pubsub_set_mood(0, LKS_WELL);
    assert_int_equal(lks_hub_wait_long(0), LK_OK);
    lks_hub_leave(0);
    lks_hub_leave(1);
}

/* As a server does that gives a slot away. */
TEST(who_sleeps_while_a_slot_moves_is_woken_when_it_is_subscribed_there)
{
    lks_hub_join(0, "a");
    lks_pubsub_move("a", 1);
    lks_pubsub_say(0, "sunsubscribe", "a", "0");
    assert_int_equal(lks_hub_wait_long(0), LK_OK);
    assert_int_equal(lks_pubsub_read(&lks_pubsub_counts(1)->subscribes), 1);
    assert_true(lks_pubsub_reaches(&lks_pubsub_refreshes, 1));
    assert_int_equal(lks_hub_look(0), LK_BUSY);
    publish(1, "a");

    assert_int_equal(lks_hub_wait_long(0), LK_OK);
    lks_hub_leave(0);
}

TEST(a_channel_that_the_topology_has_elsewhere_is_left_and_asked_for_there)
{
    lks_hub_join(0, "a");
    lks_hub_join(2, "settle");
    lks_pubsub_move("a", 1);
    lks_pubsub_learn();
    lki_hub_recheck(lks_hub());
    assert_int_equal(lks_hub_wait_long(0), LK_OK); /* it may have missed something */
    assert_true(lks_pubsub_reaches(&lks_pubsub_counts(0)->unsubscribes, 1));
    publish(0, "a"); /* the old one has no say any more */
    lks_hub_settle(0, "settle");
    assert_int_equal(lks_hub_look(0), LK_BUSY);
    publish(1, "a");

    assert_int_equal(lks_hub_wait_long(0), LK_OK);
    lks_hub_leave(0);
    lks_hub_leave(2);
}

TEST(a_channel_that_nobody_waits_for_is_just_left_when_it_moves)
{
    lks_hub_join(0, "a");
    lks_hub_leave(0);
    lks_hub_join(2, "settle");
    lks_pubsub_move("a", 1);
    lks_pubsub_learn();
    lki_hub_recheck(lks_hub());
    assert_true(lks_pubsub_reaches(&lks_pubsub_counts(0)->unsubscribes, 1));
    lks_hub_settle(0, "settle");

    assert_int_equal(lks_pubsub_read(&lks_pubsub_counts(1)->opens), 0);
    lks_hub_leave(2);
}

TEST(what_its_server_ends_is_asked_for_where_the_topology_has_it)
{
    lks_hub_join(0, "a");
    lks_pubsub_move("a", 1);
    lks_pubsub_learn();
    lks_pubsub_say(0, "sunsubscribe", "a", "0");
    assert_int_equal(lks_hub_wait_long(0), LK_OK);

    assert_int_equal(lks_pubsub_read(&lks_pubsub_counts(0)->subscribes), 1);
    lks_hub_leave(0);
}

TEST(channels_that_stay_are_left_alone_when_the_topology_changes)
{
    lks_hub_join(0, "a");
    lks_hub_join(1, "b");
    lks_hub_join(2, "settle");
    lks_pubsub_move("settle", 1);
    lks_pubsub_learn();
    lki_hub_recheck(lks_hub());
    assert_int_equal(lks_hub_wait_long(2), LK_OK);

    assert_int_equal(lks_hub_look(0), LK_BUSY);
    assert_int_equal(lks_hub_look(1), LK_BUSY);
    assert_int_equal(lks_pubsub_read(&lks_pubsub_counts(0)->subscribes), 2);
    assert_int_equal(lks_pubsub_read(&lks_pubsub_counts(1)->subscribes), 2);
    lks_hub_leave(0);
    lks_hub_leave(1);
    lks_hub_leave(2);
}

TEST(a_channel_whose_server_is_not_known_is_asked_for_once_it_is)
{
    lks_pubsub_move(NULL, LKS_NO_SERVER);
    lks_pubsub_learn();
    lks_hub_join_within(0, "a", 0);
    assert_int_equal(lks_hub_look(0), LK_BUSY);
    lks_pubsub_move(NULL, 1);
    lks_pubsub_learn();
    lki_hub_recheck(lks_hub());

    assert_int_equal(lks_hub_wait_long(0), LK_OK);
    lks_hub_leave(0);
}

TEST(more_channels_than_are_asked_for_at_once_are_all_subscribed)
{
    enum { CROWD = 300 };
    struct lki_waiter *crowd = calloc(CROWD, sizeof *crowd);
    char name[16];

    assert_non_null(crowd);
    for (size_t i = 0; i < CROWD; i++) {
        (void)snprintf(name, sizeof name, "crowd%zu", i);
        lki_waiter_init(&crowd[i], LKI_WAKE_ONE);
        assert_int_equal(lki_hub_join(lks_hub(), &crowd[i], name, 0, NULL), LK_OK);
    }
    assert_true(lks_pubsub_reaches(&lks_pubsub_counts(0)->subscribes, CROWD));
    for (size_t i = 0; i < CROWD; i++) {
        lki_hub_leave(lks_hub(), &crowd[i]);
        lki_waiter_done(&crowd[i]);
    }
    free(crowd);
    lks_hub_put_clock_forward(1000);

    assert_true(lks_pubsub_reaches(&lks_pubsub_counts(0)->unsubscribes, CROWD));
}
