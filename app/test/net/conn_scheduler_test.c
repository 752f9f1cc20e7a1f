/*
 * The books alone: connections without descriptors, by address, and who is next.
 */
#include "net/conn_scheduler.h"
#include "net/served.h"
#include "test/support/testing.h"

enum { CONNS = 16 };

static struct conn_scheduler scheduler;
static struct client_conn conns[CONNS];
static size_t count;

/* One more of 10.0.0.n. */
static struct client_conn *add(unsigned char n, conn_stage stage)
{
    struct client_address address = {{[10] = 0xff, [11] = 0xff, [12] = 10, [15] = n}};
    struct client_conn *conn = &conns[count++];
    struct conn_scheduler_group *group = conn_scheduler_group(&scheduler, &address, n == 0);

    assert_non_null(group);
    conn_scheduler_move(&scheduler, conn, stage, group);
    return conn;
}

BEFORE_EACH()
{
    scheduler = (struct conn_scheduler){0};
    memset(conns, 0, sizeof conns);
    count = 0;
}

AFTER_EACH()
{
    for (size_t i = 0; i < count; i++)
        if (conns[i].stage != CONN_NONE)
            conn_scheduler_move(&scheduler, &conns[i], CONN_NONE, NULL);
    for (size_t i = 0; i < CONN_SCHEDULER_CHAINS; i++)
        assert_null(scheduler.groups[i]); /* a group goes with its last connection */
}

TEST(the_address_that_has_least_inside_comes_next)
{
    struct client_conn *crowded = NULL;
    struct client_conn *alone = NULL;

    scheduler.places = 3;
    (void)add(1, CONN_SERVED);
    (void)add(1, CONN_HANDED_OVER);
    crowded = add(1, CONN_READY);
    alone = add(2, CONN_READY);
    (void)add(2, CONN_READY);
    assert_ptr_equal(conn_scheduler_next(&scheduler), alone);
    conn_scheduler_move(&scheduler, alone, CONN_SERVED, alone->group);
    assert_null(conn_scheduler_next(&scheduler)); /* full */
    scheduler.places = 4;
    assert_ptr_not_equal(conn_scheduler_next(&scheduler), crowded); /* 2 has one, 1 has two */
}

TEST(a_proxy_waits_behind_nobody_and_may_be_idle_for_longer)
{
    struct client_conn *proxy = NULL;
    struct client_conn *client = NULL;

    scheduler.places = 3;
    scheduler.address_places = 1;
    proxy = add(0, CONN_SERVED);
    (void)add(0, CONN_SERVED);
    client = add(1, CONN_SERVED);
    (void)add(1, CONN_READY);
    atomic_store(&proxy->grace_until_ms, 100);
    atomic_store(&proxy->turn, CONN_CLIENT_IDLE);
    atomic_store(&client->grace_until_ms, 200);
    assert_null(conn_scheduler_idle(&scheduler, 199, 1000));
    assert_ptr_equal(conn_scheduler_idle(&scheduler, 200, 1000), client);
    conn_scheduler_note_evicted(&scheduler, client);
    assert_int_equal(scheduler.list[CONN_SERVED].closing, 1);
    assert_null(conn_scheduler_idle(&scheduler, 1100, 1000)); /* 1 has its one place already */
    (void)add(2, CONN_READY);
    assert_null(conn_scheduler_idle(&scheduler, 1099, 1000));
    assert_ptr_equal(conn_scheduler_idle(&scheduler, 1100, 1000), proxy);
    conn_scheduler_move(&scheduler, client, CONN_NONE, NULL);
    assert_int_equal(scheduler.list[CONN_SERVED].closing, 0);
}

TEST(nobody_leaves_for_an_address_that_waits_for_itself)
{
    struct client_conn *own = NULL;
    struct client_conn *other = NULL;

    scheduler.places = 9;
    scheduler.address_places = 2;
    own = add(1, CONN_SERVED);
    (void)add(1, CONN_SERVED);
    (void)add(1, CONN_READY);
    other = add(2, CONN_SERVED);
    assert_null(conn_scheduler_next(&scheduler)); /* it has its two */
    assert_true(conn_scheduler_wants_place_of(&scheduler, own->group));
    assert_false(conn_scheduler_wants_place_of(&scheduler, other->group));
    atomic_store(&other->grace_until_ms, 1);
    assert_null(conn_scheduler_idle(&scheduler, 1000, 0));
    atomic_store(&own->grace_until_ms, 1);
    assert_ptr_equal(conn_scheduler_idle(&scheduler, 1000, 0), own);
}

TEST(who_has_least_gives_nothing_to_who_has_more)
{
    struct client_conn *alone = NULL;
    struct client_conn *one_of_two = NULL;

    scheduler.places = 3;
    alone = add(1, CONN_SERVED);
    one_of_two = add(2, CONN_SERVED);
    (void)add(2, CONN_SERVED);
    (void)add(2, CONN_READY);
    atomic_store(&alone->grace_until_ms, 1);
    assert_null(conn_scheduler_idle(&scheduler, 1000, 0));
    assert_false(conn_scheduler_wants_place_of(&scheduler, alone->group));
    assert_true(conn_scheduler_wants_place_of(&scheduler, one_of_two->group));
    (void)add(3, CONN_READY); /* who has nothing yet */
    assert_ptr_equal(conn_scheduler_idle(&scheduler, 1000, 0), alone);
    atomic_store(&one_of_two->grace_until_ms, 1);
    assert_ptr_equal(conn_scheduler_idle(&scheduler, 1000, 0), one_of_two);
}

TEST(the_oldest_silent_one_of_the_fullest_address_is_dropped)
{
    struct client_conn *silent = NULL;
    struct client_conn *newest = NULL;

    scheduler.places = 1;
    (void)add(1, CONN_PENDING);
    silent = add(2, CONN_PENDING);
    (void)add(2, CONN_PENDING);
    assert_ptr_equal(conn_scheduler_surplus(&scheduler), silent);
    (void)add(0, CONN_PENDING); /* a proxy's are nobody's surplus */
    (void)add(0, CONN_PENDING);
    (void)add(0, CONN_PENDING);
    (void)add(0, CONN_PENDING);
    assert_ptr_equal(conn_scheduler_surplus(&scheduler), silent);
    (void)add(3, CONN_READY);
    (void)add(3, CONN_READY);
    newest = add(3, CONN_READY);
    assert_ptr_equal(conn_scheduler_surplus(&scheduler), newest);
}

TEST(a_stream_ends_only_for_a_client_that_has_fewer)
{
    struct client_conn *oldest = NULL;
    struct client_conn *client = NULL;
    struct client_conn *instead = NULL;

    scheduler.places = 9;
    scheduler.streams = 3;
    oldest = add(1, CONN_STREAMING);
    client = add(2, CONN_SERVED);
    (void)add(1, CONN_STREAMING);
    assert_true(conn_scheduler_has_stream(&scheduler, client->group, &instead));
    assert_null(instead); /* there is one left */
    (void)add(1, CONN_STREAMING);
    assert_false(conn_scheduler_has_stream(&scheduler, oldest->group, &instead));
    assert_true(conn_scheduler_has_stream(&scheduler, client->group, &instead));
    assert_ptr_equal(instead, oldest);
    conn_scheduler_note_evicted(&scheduler, oldest);
    conn_scheduler_move(&scheduler, client, CONN_STREAMING, client->group);
    conn_scheduler_move(&scheduler, oldest, CONN_NONE, NULL);
    assert_false(
        conn_scheduler_has_stream(&scheduler, client->group, &instead)); /* two and one: fair */
    scheduler.streams = 9;
    scheduler.address_streams = 1;
    assert_false(conn_scheduler_has_stream(&scheduler, client->group, &instead));
}
