/*
 * The books alone: guests without descriptors, by address, and who is next.
 */
#include "door/crowd.h"
#include "door/inside.h"
#include "test/support/testing.h"

enum { GUESTS = 16 };

struct fixture {
    struct crowd crowd;
    struct guest guests[GUESTS];
    size_t count;
};

/* One more of 10.0.0.n. */
static struct guest *add(struct fixture *self, unsigned char n, crowd_stage stage)
{
    struct client_address address = {{[10] = 0xff, [11] = 0xff, [12] = 10, [15] = n}};
    struct guest *guest = &self->guests[self->count++];
    struct crowd_group *group = crowd_group(&self->crowd, &address, n == 0);

    assert_non_null(group);
    crowd_place(&self->crowd, guest, stage, group);
    return guest;
}

static void leave_all(struct fixture *self)
{
    for (size_t i = 0; i < self->count; i++)
        if (self->guests[i].stage != NOWHERE)
            crowd_place(&self->crowd, &self->guests[i], NOWHERE, NULL);
    for (size_t i = 0; i < CROWD_CHAINS; i++)
        assert_null(self->crowd.groups[i]); /* a group goes with its last guest */
}

TEST(the_address_that_has_least_inside_comes_next)
{
    struct fixture self = {.crowd = {.places = 3}};
    struct guest *crowded = NULL;
    struct guest *alone = NULL;

    (void)add(&self, 1, INSIDE);
    (void)add(&self, 1, HANDED);
    crowded = add(&self, 1, READY);
    alone = add(&self, 2, READY);
    (void)add(&self, 2, READY);
    assert_ptr_equal(crowd_next(&self.crowd), alone);
    crowd_place(&self.crowd, alone, INSIDE, alone->group);
    assert_null(crowd_next(&self.crowd)); /* full */
    self.crowd.places = 4;
    assert_ptr_not_equal(crowd_next(&self.crowd), crowded); /* 2 has one, 1 has two */
    leave_all(&self);
}

TEST(a_proxy_waits_behind_nobody_and_may_be_idle_for_longer)
{
    struct fixture self = {.crowd = {.places = 3, .address_places = 1}};
    struct guest *proxy = NULL;
    struct guest *client = NULL;

    proxy = add(&self, 0, INSIDE);
    (void)add(&self, 0, INSIDE);
    client = add(&self, 1, INSIDE);
    (void)add(&self, 1, READY);
    atomic_store(&proxy->spared_until_ms, 100);
    atomic_store(&proxy->turn, INSIDE_CLIENT_IDLE);
    atomic_store(&client->spared_until_ms, 200);
    assert_null(crowd_idle(&self.crowd, 199, 1000));
    assert_ptr_equal(crowd_idle(&self.crowd, 200, 1000), client);
    crowd_note_given_up(&self.crowd, client);
    assert_int_equal(self.crowd.list[INSIDE].leaving, 1);
    assert_null(crowd_idle(&self.crowd, 1100, 1000)); /* 1 has its one place already */
    (void)add(&self, 2, READY);
    assert_null(crowd_idle(&self.crowd, 1099, 1000));
    assert_ptr_equal(crowd_idle(&self.crowd, 1100, 1000), proxy);
    crowd_place(&self.crowd, client, NOWHERE, NULL);
    assert_int_equal(self.crowd.list[INSIDE].leaving, 0);
    leave_all(&self);
}

TEST(nobody_leaves_for_an_address_that_waits_for_itself)
{
    struct fixture self = {.crowd = {.places = 9, .address_places = 2}};
    struct guest *own = NULL;
    struct guest *other = NULL;

    own = add(&self, 1, INSIDE);
    (void)add(&self, 1, INSIDE);
    (void)add(&self, 1, READY);
    other = add(&self, 2, INSIDE);
    assert_null(crowd_next(&self.crowd)); /* it has its two */
    assert_true(crowd_wants_place_of(&self.crowd, own->group));
    assert_false(crowd_wants_place_of(&self.crowd, other->group));
    atomic_store(&other->spared_until_ms, 1);
    assert_null(crowd_idle(&self.crowd, 1000, 0));
    atomic_store(&own->spared_until_ms, 1);
    assert_ptr_equal(crowd_idle(&self.crowd, 1000, 0), own);
    leave_all(&self);
}

TEST(who_has_least_gives_nothing_to_who_has_more)
{
    struct fixture self = {.crowd = {.places = 3}};
    struct guest *alone = NULL;
    struct guest *one_of_two = NULL;

    alone = add(&self, 1, INSIDE);
    one_of_two = add(&self, 2, INSIDE);
    (void)add(&self, 2, INSIDE);
    (void)add(&self, 2, READY);
    atomic_store(&alone->spared_until_ms, 1);
    assert_null(crowd_idle(&self.crowd, 1000, 0));
    assert_false(crowd_wants_place_of(&self.crowd, alone->group));
    assert_true(crowd_wants_place_of(&self.crowd, one_of_two->group));
    (void)add(&self, 3, READY); /* who has nothing yet */
    assert_ptr_equal(crowd_idle(&self.crowd, 1000, 0), alone);
    atomic_store(&one_of_two->spared_until_ms, 1);
    assert_ptr_equal(crowd_idle(&self.crowd, 1000, 0), one_of_two);
    leave_all(&self);
}

TEST(the_oldest_silent_one_of_the_fullest_address_is_dropped)
{
    struct fixture self = {.crowd = {.places = 1}};
    struct guest *silent = NULL;
    struct guest *newest = NULL;

    (void)add(&self, 1, OUTSIDE);
    silent = add(&self, 2, OUTSIDE);
    (void)add(&self, 2, OUTSIDE);
    assert_ptr_equal(crowd_surplus(&self.crowd), silent);
    (void)add(&self, 0, OUTSIDE); /* a proxy's are nobody's surplus */
    (void)add(&self, 0, OUTSIDE);
    (void)add(&self, 0, OUTSIDE);
    (void)add(&self, 0, OUTSIDE);
    assert_ptr_equal(crowd_surplus(&self.crowd), silent);
    (void)add(&self, 3, READY);
    (void)add(&self, 3, READY);
    newest = add(&self, 3, READY);
    assert_ptr_equal(crowd_surplus(&self.crowd), newest);
    leave_all(&self);
}

TEST(a_stream_ends_only_for_a_client_that_has_fewer)
{
    struct fixture self = {.crowd = {.places = 9, .streams = 3}};
    struct guest *oldest = add(&self, 1, STREAMING);
    struct guest *client = add(&self, 2, INSIDE);
    struct guest *instead = NULL;

    (void)add(&self, 1, STREAMING);
    assert_true(crowd_has_stream(&self.crowd, client->group, &instead));
    assert_null(instead); /* there is one left */
    (void)add(&self, 1, STREAMING);
    assert_false(crowd_has_stream(&self.crowd, oldest->group, &instead));
    assert_true(crowd_has_stream(&self.crowd, client->group, &instead));
    assert_ptr_equal(instead, oldest);
    crowd_note_given_up(&self.crowd, oldest);
    crowd_place(&self.crowd, client, STREAMING, client->group);
    crowd_place(&self.crowd, oldest, NOWHERE, NULL);
    assert_false(crowd_has_stream(&self.crowd, client->group, &instead)); /* two and one: fair */
    self.crowd.streams = 9;
    self.crowd.address_streams = 1;
    assert_false(crowd_has_stream(&self.crowd, client->group, &instead));
    leave_all(&self);
}
