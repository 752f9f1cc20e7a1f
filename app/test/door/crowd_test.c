/*
 * The books alone: guests without descriptors, by address, and who is next.
 */
#include "door/crowd.h"
#include "door/inside.h"
#include "test/support/testing.h"

enum { GUESTS = 16 };

static struct crowd crowd;
static struct guest guests[GUESTS];
static size_t count;

/* One more of 10.0.0.n. */
static struct guest *add(unsigned char n, crowd_stage stage)
{
    struct client_address address = {{[10] = 0xff, [11] = 0xff, [12] = 10, [15] = n}};
    struct guest *guest = &guests[count++];
    struct crowd_group *group = crowd_group(&crowd, &address, n == 0);

    assert_non_null(group);
    crowd_place(&crowd, guest, stage, group);
    return guest;
}

BEFORE_EACH()
{
    crowd = (struct crowd){0};
    memset(guests, 0, sizeof guests);
    count = 0;
}

AFTER_EACH()
{
    for (size_t i = 0; i < count; i++)
        if (guests[i].stage != NOWHERE) crowd_place(&crowd, &guests[i], NOWHERE, NULL);
    for (size_t i = 0; i < CROWD_CHAINS; i++)
        assert_null(crowd.groups[i]); /* a group goes with its last guest */
}

TEST(the_address_that_has_least_inside_comes_next)
{
    struct guest *crowded = NULL;
    struct guest *alone = NULL;

    crowd.places = 3;
    (void)add(1, INSIDE);
    (void)add(1, HANDED);
    crowded = add(1, READY);
    alone = add(2, READY);
    (void)add(2, READY);
    assert_ptr_equal(crowd_next(&crowd), alone);
    crowd_place(&crowd, alone, INSIDE, alone->group);
    assert_null(crowd_next(&crowd)); /* full */
    crowd.places = 4;
    assert_ptr_not_equal(crowd_next(&crowd), crowded); /* 2 has one, 1 has two */
}

TEST(a_proxy_waits_behind_nobody_and_may_be_idle_for_longer)
{
    struct guest *proxy = NULL;
    struct guest *client = NULL;

    crowd.places = 3;
    crowd.address_places = 1;
    proxy = add(0, INSIDE);
    (void)add(0, INSIDE);
    client = add(1, INSIDE);
    (void)add(1, READY);
    atomic_store(&proxy->spared_until_ms, 100);
    atomic_store(&proxy->turn, INSIDE_CLIENT_IDLE);
    atomic_store(&client->spared_until_ms, 200);
    assert_null(crowd_idle(&crowd, 199, 1000));
    assert_ptr_equal(crowd_idle(&crowd, 200, 1000), client);
    crowd_note_given_up(&crowd, client);
    assert_int_equal(crowd.list[INSIDE].leaving, 1);
    assert_null(crowd_idle(&crowd, 1100, 1000)); /* 1 has its one place already */
    (void)add(2, READY);
    assert_null(crowd_idle(&crowd, 1099, 1000));
    assert_ptr_equal(crowd_idle(&crowd, 1100, 1000), proxy);
    crowd_place(&crowd, client, NOWHERE, NULL);
    assert_int_equal(crowd.list[INSIDE].leaving, 0);
}

TEST(nobody_leaves_for_an_address_that_waits_for_itself)
{
    struct guest *own = NULL;
    struct guest *other = NULL;

    crowd.places = 9;
    crowd.address_places = 2;
    own = add(1, INSIDE);
    (void)add(1, INSIDE);
    (void)add(1, READY);
    other = add(2, INSIDE);
    assert_null(crowd_next(&crowd)); /* it has its two */
    assert_true(crowd_wants_place_of(&crowd, own->group));
    assert_false(crowd_wants_place_of(&crowd, other->group));
    atomic_store(&other->spared_until_ms, 1);
    assert_null(crowd_idle(&crowd, 1000, 0));
    atomic_store(&own->spared_until_ms, 1);
    assert_ptr_equal(crowd_idle(&crowd, 1000, 0), own);
}

TEST(who_has_least_gives_nothing_to_who_has_more)
{
    struct guest *alone = NULL;
    struct guest *one_of_two = NULL;

    crowd.places = 3;
    alone = add(1, INSIDE);
    one_of_two = add(2, INSIDE);
    (void)add(2, INSIDE);
    (void)add(2, READY);
    atomic_store(&alone->spared_until_ms, 1);
    assert_null(crowd_idle(&crowd, 1000, 0));
    assert_false(crowd_wants_place_of(&crowd, alone->group));
    assert_true(crowd_wants_place_of(&crowd, one_of_two->group));
    (void)add(3, READY); /* who has nothing yet */
    assert_ptr_equal(crowd_idle(&crowd, 1000, 0), alone);
    atomic_store(&one_of_two->spared_until_ms, 1);
    assert_ptr_equal(crowd_idle(&crowd, 1000, 0), one_of_two);
}

TEST(the_oldest_silent_one_of_the_fullest_address_is_dropped)
{
    struct guest *silent = NULL;
    struct guest *newest = NULL;

    crowd.places = 1;
    (void)add(1, OUTSIDE);
    silent = add(2, OUTSIDE);
    (void)add(2, OUTSIDE);
    assert_ptr_equal(crowd_surplus(&crowd), silent);
    (void)add(0, OUTSIDE); /* a proxy's are nobody's surplus */
    (void)add(0, OUTSIDE);
    (void)add(0, OUTSIDE);
    (void)add(0, OUTSIDE);
    assert_ptr_equal(crowd_surplus(&crowd), silent);
    (void)add(3, READY);
    (void)add(3, READY);
    newest = add(3, READY);
    assert_ptr_equal(crowd_surplus(&crowd), newest);
}

TEST(a_stream_ends_only_for_a_client_that_has_fewer)
{
    struct guest *oldest = NULL;
    struct guest *client = NULL;
    struct guest *instead = NULL;

    crowd.places = 9;
    crowd.streams = 3;
    oldest = add(1, STREAMING);
    client = add(2, INSIDE);
    (void)add(1, STREAMING);
    assert_true(crowd_has_stream(&crowd, client->group, &instead));
    assert_null(instead); /* there is one left */
    (void)add(1, STREAMING);
    assert_false(crowd_has_stream(&crowd, oldest->group, &instead));
    assert_true(crowd_has_stream(&crowd, client->group, &instead));
    assert_ptr_equal(instead, oldest);
    crowd_note_given_up(&crowd, oldest);
    crowd_place(&crowd, client, STREAMING, client->group);
    crowd_place(&crowd, oldest, NOWHERE, NULL);
    assert_false(crowd_has_stream(&crowd, client->group, &instead)); /* two and one: fair */
    crowd.streams = 9;
    crowd.address_streams = 1;
    assert_false(crowd_has_stream(&crowd, client->group, &instead));
}
