/*
 * The sums of a redlock: how long a try waits for a server, and until when a majority of leases lasts.
 */
#include "redlock/redlock.h"
#include "test/support/testing.h"

static struct redlock *make(size_t count)
{
    struct redlock *self = calloc(1, sizeof *self + count * sizeof self->members[0]);

    assert_non_null(self);
    self->count = count;
    self->quorum = count / 2 + 1;
    return self;
}

TEST(a_try_waits_for_a_server_a_small_part_of_the_lease)
{
    static const struct {
        int64_t option_ms, lease_ms, expected_ms;
    } cases[] = {
        {0, 30000, 300}, {0, 10000, 100}, {0, 5000, 50}, {0, 1000, 50},     {0, 100, 33},
        {0, 10, 3},      {7, 30000, 7},   {7, 12, 4},    {60000, 900, 300},
    };
    struct redlock *self = make(1);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        self->options.node_ms = cases[i].option_ms;
        assert_int_equal(lki_redlock_node_ms(self, cases[i].lease_ms), cases[i].expected_ms);
    }
    free(self);
}

static void set_member(struct redlock *self, size_t i, enum lki_vote vote, int state, int64_t ends)
{
    atomic_store(&self->members[i].vote, vote);
    atomic_store(&self->members[i].base.state, state);
    atomic_store(&self->members[i].base.expires_at, ends);
}

TEST(it_is_held_as_long_as_the_third_longest_lease_of_five)
{
    static const int64_t ends[] = {500, 100, 300, 200, 400};
    struct redlock *self = make(5);

    for (size_t i = 0; i < 5; i++)
        set_member(self, i, LKI_VOTE_COUNTED, LOCK_HELD, ends[i]);
    assert_int_equal(lki_redlock_ends_at(self), 300);
    set_member(self, 0, LKI_VOTE_LOST, LOCK_HELD, 500);
    assert_int_equal(lki_redlock_ends_at(self), 200);
    set_member(self, 4, LKI_VOTE_COUNTED, LOCK_LOST, 400);
    assert_int_equal(lki_redlock_ends_at(self), 100);
    set_member(self, 1, LKI_VOTE_OPEN, LOCK_HELD, 900); /* it has not said yes */
    assert_int_equal(lki_redlock_ends_at(self), 0);
    free(self);
}

TEST(of_four_three_are_a_majority)
{
    struct redlock *self = make(4);

    for (size_t i = 0; i < 4; i++)
        set_member(self, i, i < 2 ? LKI_VOTE_COUNTED : LKI_VOTE_NONE, LOCK_HELD, 100);
    assert_int_equal(lki_redlock_ends_at(self), 0);
    set_member(self, 2, LKI_VOTE_COUNTED, LOCK_HELD, 50);
    assert_int_equal(lki_redlock_ends_at(self), 50);
    free(self);
}

/* As long as it is had anew it does not confirm, and confirmed is who was asked after that. */
TEST(a_vote_had_anew_counts_once_a_majority_is_confirmed_without_it)
{
    static const struct {
        int64_t confirmed[5]; /* the first is the one */
        enum lki_vote expected;
    } cases[] = {
        {{900, 150, 150, 150, 90}, LKI_VOTE_COUNTED},
        {{900, 150, 150, 90, 90}, LKI_VOTE_REGAINED},
        {{900, 100, 100, 100, 100}, LKI_VOTE_REGAINED},
    };
    struct redlock *self = make(5);

    self->is_regaining = true;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t k = 0; k < 5; k++) {
            set_member(self, k, k == 0 ? LKI_VOTE_REGAINED : LKI_VOTE_COUNTED, LOCK_HELD, 1000);
            atomic_store(&self->members[k].confirmed_at, cases[i].confirmed[k]);
        }
        atomic_store(&self->members[0].since, 100);
        lki_redlock_regain_votes(self, false);
        assert_int_equal(atomic_load(&self->members[0].vote), cases[i].expected);
    }
    free(self);
}
