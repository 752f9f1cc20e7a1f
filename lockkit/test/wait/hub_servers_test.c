/*
 * The hub's thread among several made-up servers that are away, silent, or replaced.
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

enum { LONG_MS = 5000 };

static void publish(int server, const char *channel)
{
    lks_pubsub_say(server, "smessage", channel, "0");
}

/* Channel "a" is at server 0, channel "b" at 1, all others at 0. */
static int start_cluster(void **state)
{
    int failure = lks_hub_start(true);
    lks_pubsub_move("b", 1);
    lks_pubsub_learn();
    return failure;
}

static int start_primary(void **state)
{
    return lks_hub_start(false);
}

static int stop_hub(void **state)
{
    return lks_hub_stop();
}

/* ---- a cluster ------------------------------------------------------------------------------------- */

TEST(a_server_that_nobody_needs_is_not_even_connected_to)
{
    lks_hub_join(0, "a");

    assert_int_equal(lks_pubsub_read(&lks_pubsub_counts(1)->opens), 0);
    lks_hub_leave(0);
}

/* In both ways in which nothing comes: it takes the connection and says nothing; or not even that. */
TEST(a_silent_server_delays_nobody_else)
{
    static const enum lks_pubsub_mood moods[] = {LKS_SILENT, LKS_HANGING};

    for (size_t i = 0; i < sizeof moods / sizeof moods[0]; i++) {
        lks_pubsub_set_mood(1, moods[i]);
        lks_hub_join_within(1, "b", 0);
        int64_t begin = lki_clock_now();
        lks_hub_join(0, "a");
        publish(0, "a");
        assert_int_equal(lks_hub_wait_long(0), LK_OK);
        assert_true(lki_clock_now() - begin < LONG_MS / 2 * (int64_t)NS_PER_MS);
        lks_pubsub_cut(1, LKS_WELL);
        assert_int_equal(lks_hub_wait_long(1), LK_OK); /* and it is subscribed in the end */
        lks_hub_leave(0);
        lks_hub_leave(1);
        lks_pubsub_cut(1, LKS_WELL);
    }
}

TEST(a_dead_server_delays_nobody_else)
{
    lks_pubsub_set_mood(1, LKS_REFUSING);
    lks_hub_join_within(1, "b", 0);
    assert_true(
        lks_pubsub_reaches(&lks_pubsub_counts(1)->failures, 5)); /* in a longer pause by now */
    assert_true(lks_pubsub_reaches(&lks_pubsub_refreshes, 5));
    lks_hub_join(0, "a");
    publish(0, "a");

    assert_int_equal(lks_hub_wait_long(0), LK_OK);
    assert_int_equal(lks_pubsub_read(&lks_pubsub_counts(0)->opens), 1);
    lks_hub_leave(0);
    lks_hub_leave(1);
}

TEST(a_break_wakes_only_those_whose_server_it_was)
{
    lks_hub_join(0, "a");
    lks_hub_join(1, "b");
    lks_pubsub_cut(1, LKS_WELL);
    assert_int_equal(lks_hub_wait_long(1), LK_OK);
    assert_true(lks_pubsub_reaches(&lks_pubsub_counts(1)->subscribes, 2));
    assert_true(lks_pubsub_reaches(&lks_pubsub_refreshes, 1));

    assert_int_equal(lks_hub_look(0), LK_BUSY);
    assert_int_equal(lks_pubsub_read(&lks_pubsub_counts(0)->closes), 0);
    lks_hub_leave(0);
    lks_hub_leave(1);
}

TEST(a_server_that_does_not_answer_a_ping_is_given_up_alone)
{
    lks_hub_join(0, "a");
    lks_hub_join(1, "b");
    lks_hub_join(2, "settle");
    lks_pubsub_set_mood(1, LKS_SILENT);
    lks_hub_put_clock_forward(LONG_MS);
    assert_true(lks_pubsub_reaches(&lks_pubsub_counts(0)->pings, 1));
    assert_true(lks_pubsub_reaches(&lks_pubsub_counts(1)->pings, 1));
    lks_hub_settle(0, "settle"); /* the first has answered that */
    lks_hub_put_clock_forward(LONG_MS);

    assert_int_equal(lks_hub_wait_long(1), LK_OK);
    assert_true(lks_pubsub_reaches(&lks_pubsub_counts(1)->closes, 1));
    assert_int_equal(lks_hub_look(0), LK_BUSY);
    assert_int_equal(lks_pubsub_read(&lks_pubsub_counts(0)->closes), 0);
    lks_hub_leave(0);
    lks_hub_leave(1);
    lks_hub_leave(2);
}

TEST(a_link_that_nobody_needs_any_more_is_closed_after_a_while)
{
    lks_hub_join(0, "a");
    lks_hub_join(1, "b");
    lks_hub_leave(1);
    lks_hub_put_clock_forward(1000); /* its channel is not kept longer than that */
    assert_true(lks_pubsub_reaches(&lks_pubsub_counts(1)->unsubscribes, 1));
    assert_int_equal(lks_pubsub_read(&lks_pubsub_counts(1)->closes), 0);
    /* Two rounds are enough, once the answer is heard; nothing tells when. */
    for (int i = 0; i < 5000 && lks_pubsub_read(&lks_pubsub_counts(1)->closes) == 0; i++) {
        lks_hub_put_clock_forward(500);
        publish(0, "a");
        assert_int_equal(lks_hub_wait_long(0), LK_OK);
    }
    assert_true(lks_pubsub_reaches(&lks_pubsub_counts(1)->closes, 1));
    assert_int_equal(lks_pubsub_read(&lks_pubsub_counts(0)->closes), 0);
    lks_hub_join(1, "b");

    assert_int_equal(lks_pubsub_read(&lks_pubsub_counts(1)->opens), 2);
    lks_hub_leave(0);
    lks_hub_leave(1);
}

/* ---- one primary ------------------------------------------------------------------------------------- */

TEST_WITH(all_go_to_the_new_primary_and_are_woken, start_primary, stop_hub)
{
    lks_hub_join(0, "a");
    lks_hub_join(1, "b");
    lks_pubsub_move(NULL, 1);
    lks_pubsub_learn();
    lki_hub_recheck(lks_hub());
    assert_int_equal(lks_hub_wait_long(0), LK_OK);
    assert_int_equal(lks_hub_wait_long(1), LK_OK);
    assert_true(lks_pubsub_reaches(&lks_pubsub_counts(1)->subscribes, 2));
    assert_int_equal(lks_pubsub_read(&lks_pubsub_counts(0)->closes), 1);
    lks_pubsub_say(1, "message", "b", "0");

    assert_int_equal(lks_hub_wait_long(1), LK_OK);
    lks_hub_leave(0);
    lks_hub_leave(1);
}

TEST_WITH(the_primary_that_is_still_one_is_kept, start_primary, stop_hub)
{
    lks_hub_join(0, "a");
    lks_hub_join(2, "settle");
    lki_hub_recheck(lks_hub());
    lks_hub_settle(0, "settle");

    assert_int_equal(lks_hub_look(0), LK_BUSY);
    assert_int_equal(lks_pubsub_read(&lks_pubsub_counts(0)->closes), 0);
    lks_hub_leave(0);
    lks_hub_leave(2);
}

TEST_WITH(while_no_primary_is_known_the_old_one_is_listened_to, start_primary, stop_hub)
{
    lks_hub_join(0, "a");
    lks_hub_join(2, "settle");
    lks_pubsub_move(NULL, LKS_NO_SERVER);
    lks_pubsub_learn();
    lki_hub_recheck(lks_hub());
    lks_hub_settle(0, "settle");
    assert_int_equal(lks_pubsub_read(&lks_pubsub_counts(0)->closes), 0);
    publish(0, "a");

    assert_int_equal(lks_hub_wait_long(0), LK_OK);
    lks_hub_leave(0);
    lks_hub_leave(2);
}

TEST_WITH(a_new_primary_is_found_though_nobody_tells_of_it, start_primary, stop_hub)
{
    lks_hub_join(0, "a");
    lks_pubsub_move(NULL, 1);
    lks_pubsub_learn();
    lks_pubsub_cut(0, LKS_REFUSING);
    assert_true(lks_pubsub_reaches(&lks_pubsub_counts(1)->subscribes, 1));
    assert_false(lks_pubsub_is_referred_to(0));
    lks_pubsub_say(1, "message", "a", "0");

    assert_int_equal(lks_hub_wait_long(0), LK_OK);
    lks_hub_leave(0);
}

FIXTURE(start_cluster, stop_hub);
