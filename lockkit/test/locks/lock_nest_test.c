/*
 * Holds within holds, renewal by hand and repeated releases, on a made-up reentrant kind and clock;
 * one thread. What a single hold does is in lock_test.c.
 * link: -Wl,--wrap=lki_context_deadline -Wl,--wrap=lki_context_emit
 * link: -Wl,--wrap=lki_watchdog_add -Wl,--wrap=lki_watchdog_remove
 * link: -Wl,--wrap=lki_clock_now -Wl,--wrap=lki_clock_after_ms -Wl,--wrap=lki_clock_left_ms
 * link: -Wl,--wrap=lki_context_ref -Wl,--wrap=lki_context_unref -Wl,--wrap=lki_context_check
 * link: -Wl,--wrap=lki_context_is_foreign -Wl,--wrap=lki_call_integer
 * link: -Wl,--wrap=lki_context_check_name
 * link: -Wl,--wrap=lki_watchdog_expect -Wl,--wrap=lki_watchdog_make_ready
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/name.h"
#include "locks/lock.h"
#include "test/support/testing.h"

enum { STEPS_MAX = 8, COMMAND_MS = 500, LEASE_MS = 1000, GOOD_MS = 988 };

/* What one call does: how it ends and how long it takes. */
struct step {
    lk_status status;
    int64_t takes_ms;
};

static struct {
    int64_t now_ns;
    struct step reenters[STEPS_MAX], leaves[STEPS_MAX], releases[STEPS_MAX];
    size_t reenter_count, leave_count, release_count;
    unsigned told;          /* the number of the last reenter or leave */
    int64_t told_lease_ms;  /* and its lease */
    struct step renewal;    /* by hand */
    long long renew_answer; /* of the script */
    char renew_lease[LKI_NUMBER_MAX];
    bool is_watched, is_foreign;
    struct lk_event last_event;
} world;

static lk_lock lock;

FAKE_RETURNS(int64_t, lki_context_deadline, (const lk_client *client, int64_t limit_ms),
             world.now_ns + (limit_ms > 0 ? limit_ms : COMMAND_MS) * NS_PER_MS);

FAKE(void, lki_context_emit, const lk_client *client, struct lk_event event)
{
    world.last_event = event;
}

FAKE(lk_status, lki_watchdog_add, struct lki_watchdog *watchdog, lk_lock *held,
     struct lk_error *err)
{
    assert_false(world.is_watched);
    world.is_watched = true;
    return LK_OK;
}

FAKE_RETURNS(lk_status, lki_watchdog_make_ready,
             (struct lki_watchdog * watchdog, const lk_lock *held, int64_t deadline,
              struct lk_error *err),
             LK_OK);

FAKE(void, lki_watchdog_expect, struct lki_watchdog *watchdog, lk_lock *held)
{
    held->lease.asked_at = world.now_ns;
}

FAKE(void, lki_watchdog_remove, struct lki_watchdog *watchdog, lk_lock *held)
{
    world.is_watched = false;
}

FAKE_RETURNS(lk_client *, lki_context_ref, (lk_client * client), client);

FAKE(void, lki_context_unref, lk_client *client)
{
}

FAKE_RETURNS(lk_status, lki_context_check, (const lk_client *client, struct lk_error *err),
             world.is_foreign ? LKI_FAIL(err, LK_INVALID, "forked") : LK_OK);
FAKE_RETURNS(lk_status, lki_context_check_name,
             (lk_client * client, const char *key, struct lk_error *err), LK_OK);
FAKE_RETURNS(bool, lki_context_is_foreign, (const lk_client *client), world.is_foreign);
FAKE_RETURNS(int64_t, lki_clock_now, (void), world.now_ns);
FAKE_RETURNS(int64_t, lki_clock_after_ms, (int64_t ms), world.now_ns + ms * NS_PER_MS);
FAKE_RETURNS(int, lki_clock_left_ms, (int64_t deadline),
             deadline > world.now_ns ? (int)((deadline - world.now_ns) / NS_PER_MS) : 0);

static void pass_ms(int64_t ms)
{
    world.now_ns += ms * NS_PER_MS;
}

static lk_status play(struct step step, struct lk_error *err)
{
    pass_ms(step.takes_ms);
    return step.status == LK_OK ? LK_OK : LKI_FAIL(err, step.status, "step");
}

/* The one script that lock.c itself runs: a renewal by hand. */
FAKE(lk_status, lki_call_integer, lk_client *client, const struct lki_call *call, int64_t deadline,
     long long *out_answer, struct lk_error *err)
{
    assert_true(deadline > world.now_ns);
    assert_string_equal(call->script, "fake_renew");
    assert_false(world.is_watched); /* or two renewals would meet */
    memcpy(world.renew_lease, call->args[1].data, call->args[1].len + 1);
    *out_answer = world.renew_answer;
    return play(world.renewal, err);
}

static lk_status fake_try(lk_lock *self, int64_t *out_ttl_ms, int64_t deadline,
                          struct lk_error *err)
{
    if (out_ttl_ms) *out_ttl_ms = -2;
    return LK_OK;
}

static lk_status fake_reenter(lk_lock *self, int64_t lease_ms, int64_t deadline,
                              struct lk_error *err)
{
    assert_in_range(world.reenter_count, 0, STEPS_MAX - 1);
    assert_false(world.is_watched);
    world.told = self->depth + 1;
    world.told_lease_ms = lease_ms;
    return play(world.reenters[world.reenter_count++], err);
}

static lk_status fake_leave(lk_lock *self, unsigned depth, int64_t deadline, struct lk_error *err)
{
    assert_in_range(world.leave_count, 0, STEPS_MAX - 1);
    assert_false(world.is_watched);
    world.told = depth;
    world.told_lease_ms = self->lease_ms;
    return play(world.leaves[world.leave_count++], err);
}

static lk_status fake_release(lk_lock *self, int64_t deadline, struct lk_error *err)
{
    assert_in_range(world.release_count, 0, STEPS_MAX - 1);
    assert_false(world.is_watched);
    return play(world.releases[world.release_count++], err);
}

static const struct lki_lock_ops fake_ops = {.kind = "fake",
                                             .renew_script = "fake_renew",
                                             .try_acquire = fake_try,
                                             .reenter = fake_reenter,
                                             .leave = fake_leave,
                                             .release = fake_release};

static int make_lock(void **state)
{
    static lk_client somebody; /* Redis's */

    memset(&world, 0, sizeof world);
    world.now_ns = 5000 * (int64_t)NS_PER_MS;
    world.renew_answer = 1;
    lock = (lk_lock){.wake_channel = lki_name_prefix("any", "test")};
    lk_status status = lki_lock_init(&lock, &fake_ops, &somebody, "test", NULL);
    return status == LK_OK ? 0 : -1;
}

static int free_lock(void **state)
{
    lki_lock_done(&lock);
    return 0;
}

static void remake_lock(void **state)
{
    assert_int_equal(free_lock(state), 0);
    assert_int_equal(make_lock(state), 0);
}

static lk_status acquire(int64_t lease_ms)
{
    return lk_lock_acquire(&lock, &(struct lk_lock_options){.lease_ms = lease_ms}, NULL);
}

static lk_status acquire_renewed(int64_t lease_ms)
{
    return lk_lock_acquire(
        &lock, &(struct lk_lock_options){.lease_ms = lease_ms, .is_renewed = true}, NULL);
}

static lk_status release(void)
{
    return lk_lock_release(&lock, NULL);
}

/* ---- taking it again ---------------------------------------------------------------------------- */

TEST(each_acquire_needs_its_release)
{
    for (unsigned i = 1; i <= 3; i++) {
        assert_int_equal(acquire(LEASE_MS), LK_OK);
        assert_int_equal(lk_lock_hold_count(&lock), i);
    }
    assert_int_equal(world.told, 3);
    for (unsigned left = 2; left > 0; left--) {
        assert_int_equal(release(), LK_OK);
        assert_int_equal(world.told, left);
        assert_int_equal(lk_lock_hold_count(&lock), left);
        assert_true(lk_held(&lock));
    }
    assert_int_equal(world.release_count, 0);
    assert_int_equal(release(), LK_OK);

    assert_int_equal(world.release_count, 1);
    assert_false(lk_held(&lock));
    assert_int_equal(lk_lock_hold_count(&lock), 0);
    assert_int_equal(release(), LK_OK); /* nothing left to release */
    assert_int_equal(world.release_count, 1);
}

TEST(taking_it_again_prolongs_and_never_shortens)
{
    assert_int_equal(acquire(LEASE_MS), LK_OK);
    assert_int_equal(acquire(100), LK_OK);
    assert_int_equal(world.told_lease_ms, 100);
    assert_int_equal(lk_lock_remaining_ms(&lock), GOOD_MS);
    assert_int_equal(acquire(2000), LK_OK);

    assert_int_equal(lk_lock_remaining_ms(&lock), 1978);
}

TEST(an_inner_release_prolongs_by_the_outer_lease)
{
    assert_int_equal(acquire(LEASE_MS), LK_OK);
    assert_int_equal(acquire(100), LK_OK);
    pass_ms(600);
    assert_int_equal(release(), LK_OK);

    assert_int_equal(world.told_lease_ms, LEASE_MS);
    assert_int_equal(lk_lock_remaining_ms(&lock), GOOD_MS);
}

TEST(a_lost_reply_is_asked_for_again_and_counts_once)
{
    struct lk_error err = {0};

    assert_int_equal(acquire(LEASE_MS), LK_OK);
    world.reenters[0].status = LK_UNKNOWN;
    assert_int_equal(lk_lock_acquire(&lock, NULL, &err), LK_OK);
    assert_int_equal(err.code, LK_OK);
    assert_int_equal(world.last_event.attempts, 2);
    assert_int_equal(world.told, 2);
    assert_int_equal(lk_lock_hold_count(&lock), 2);
    world.leaves[0].status = LK_UNKNOWN;
    assert_int_equal(lk_lock_release(&lock, &err), LK_OK);

    assert_int_equal(err.code, LK_OK);
    assert_int_equal(world.leave_count, 2);
    assert_int_equal(world.told, 1);
    assert_int_equal(lk_lock_hold_count(&lock), 1);
}

/* Nothing was sent the second time; the first time it was. */
TEST(what_is_asked_again_in_vain_stays_unknown)
{
    struct lk_error err = {0};

    assert_int_equal(acquire(LEASE_MS), LK_OK);
    world.reenters[0].status = LK_UNKNOWN;
    world.reenters[1].status = LK_UNREACHABLE;
    assert_int_equal(lk_lock_acquire(&lock, NULL, &err), LK_UNKNOWN);

    assert_int_equal(err.code, LK_UNKNOWN);
    assert_int_equal(lk_lock_hold_count(&lock), 1);
}

TEST(a_second_take_that_fails_leaves_the_first)
{
    static const lk_status failures[] = {LK_UNKNOWN, LK_UNREACHABLE, LK_BUSY, LK_SERVER,
                                         LK_NO_MEMORY};

    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
        struct lk_error err = {0};

        remake_lock(state);
        assert_int_equal(acquire_renewed(LEASE_MS), LK_OK);
        world.reenters[0].status = world.reenters[1].status = failures[i];
        assert_int_equal(lk_lock_acquire(&lock, NULL, &err), failures[i]);
        assert_int_equal(err.code, failures[i]);
        assert_in_range(world.last_event.attempts, 1, 2);
        assert_int_equal(lk_lock_hold_count(&lock), 1);
        assert_true(world.is_watched);
        assert_int_equal(release(), LK_OK);
        assert_int_equal(world.leave_count, 0);
        assert_int_equal(world.release_count, 1);
    }
}

TEST(bad_options_are_refused_and_the_hold_stays)
{
    assert_int_equal(acquire_renewed(LEASE_MS), LK_OK);
    assert_int_equal(acquire(9), LK_INVALID);
    assert_int_equal(acquire(-1), LK_INVALID);

    assert_int_equal(world.reenter_count, 0);
    assert_int_equal(lk_lock_hold_count(&lock), 1);
    assert_true(world.is_watched);
}

/* ---- the hold ends inside ----------------------------------------------------------------------- */

TEST(a_hold_that_has_ended_is_not_taken_again)
{
    assert_int_equal(acquire(LEASE_MS), LK_OK);
    pass_ms(LEASE_MS);
    assert_int_equal(acquire(LEASE_MS), LK_LOST);
    assert_int_equal(world.reenter_count, 0);
    world.releases[0].status = LK_NOT_OWNER;
    assert_int_equal(release(), LK_NOT_OWNER);
    assert_int_equal(acquire(0), LK_OK); /* a new hold, with its own lease */

    assert_int_equal(lock.lease_ms, LKI_DEFAULT_LEASE_MS);
}

TEST(a_server_that_knows_no_outer_hold_ends_it_here_too)
{
    assert_int_equal(acquire(LEASE_MS), LK_OK);
    assert_int_equal(acquire(LEASE_MS), LK_OK);
    world.reenters[1].status = LK_LOST;
    assert_int_equal(acquire(LEASE_MS), LK_LOST);
    assert_false(lk_held(&lock));
    assert_int_equal(lk_lock_hold_count(&lock), 0);
    assert_int_equal(release(), LK_NOT_OWNER); /* of two takes: nothing is asked */
    world.releases[0].status = LK_NOT_OWNER;
    assert_int_equal(release(), LK_NOT_OWNER);

    assert_int_equal(world.leave_count, 0);
    assert_int_equal(release(), LK_OK);
}

TEST(an_answer_after_the_end_of_the_lease_is_lost)
{
    assert_int_equal(acquire(LEASE_MS), LK_OK);
    world.reenters[0].takes_ms = LEASE_MS;
    assert_int_equal(acquire(LEASE_MS), LK_LOST);

    assert_false(lk_held(&lock));
    assert_int_equal(release(), LK_OK); /* of the one take; the server is told to be sure */
    assert_int_equal(world.release_count, 1);
}

TEST(an_inner_release_that_finds_nothing_ends_the_hold)
{
    struct lk_error err = {0};

    assert_int_equal(acquire_renewed(LEASE_MS), LK_OK);
    assert_int_equal(acquire(LEASE_MS), LK_OK);
    world.leaves[0].status = LK_NOT_OWNER;
    assert_int_equal(lk_lock_release(&lock, &err), LK_NOT_OWNER);

    assert_int_equal(err.code, LK_NOT_OWNER);
    assert_false(lk_held(&lock));
    world.releases[0].status = LK_NOT_OWNER;
    assert_int_equal(release(), LK_NOT_OWNER);
    assert_int_equal(release(), LK_OK);
}

/* Whoever repeats a release that was not confirmed must not give back the hold around it. */
TEST(an_inner_release_is_done_when_the_server_cannot_be_told)
{
    static const struct {
        lk_status told, answered;
    } rows[] = {
        {LK_UNKNOWN, LK_OK},   {LK_UNREACHABLE, LK_OK}, {LK_EXHAUSTED, LK_OK},
        {LK_NO_MEMORY, LK_OK}, {LK_SERVER, LK_SERVER},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lk_error err = {0};

        remake_lock(state);
        assert_int_equal(acquire_renewed(LEASE_MS), LK_OK);
        assert_int_equal(acquire(LEASE_MS), LK_OK);
        world.leaves[0].status = world.leaves[1].status = rows[i].told;
        assert_int_equal(lk_lock_release(&lock, &err), rows[i].answered);
        assert_int_equal(err.code, rows[i].answered);
        assert_int_equal(lk_lock_hold_count(&lock), 1);
        assert_true(world.is_watched);
    }
}

/* ---- renewal ------------------------------------------------------------------------------------ */

TEST(renewal_lasts_as_long_as_the_hold_that_asked_for_it)
{
    assert_int_equal(acquire(LEASE_MS), LK_OK);
    assert_int_equal(acquire_renewed(300), LK_OK);
    assert_true(lock.is_renewed && world.is_watched);
    assert_int_equal(acquire(LEASE_MS), LK_OK);
    assert_int_equal(release(), LK_OK);
    assert_true(lock.is_renewed && world.is_watched);
    assert_int_equal(release(), LK_OK); /* the one that asked */

    assert_false(lock.is_renewed);
}

TEST(an_inner_lease_does_not_end_the_outer_renewal)
{
    assert_int_equal(acquire_renewed(0), LK_OK);
    assert_int_equal(acquire(100), LK_OK);
    assert_int_equal(acquire_renewed(200), LK_OK);
    assert_int_equal(release(), LK_OK);
    assert_int_equal(release(), LK_OK);

    assert_true(lock.is_renewed && world.is_watched);
    assert_int_equal(lock.lease_ms, LKI_DEFAULT_LEASE_MS);
}

TEST(renewing_by_hand_begins_the_lease_anew)
{
    static const struct {
        int64_t lease_ms, left_ms;
        const char *sent;
    } rows[] = {
        {0, GOOD_MS, "1000"}, /* as it was acquired */
        {2000, 1978, "2000"},
        {100, 388, "100"}, /* never shorter: of the first lease this is left */
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        remake_lock(state);
        assert_int_equal(acquire_renewed(LEASE_MS), LK_OK);
        pass_ms(600);
        assert_int_equal(lk_lock_renew(&lock, rows[i].lease_ms, NULL), LK_OK);
        assert_string_equal(world.renew_lease, rows[i].sent);
        assert_int_equal(lk_lock_remaining_ms(&lock), rows[i].left_ms);
        assert_true(world.is_watched);
        assert_int_equal(world.last_event.type, LK_EVENT_RENEW);
    }
}

TEST(a_renewal_by_hand_that_finds_nothing_is_a_loss)
{
    assert_int_equal(acquire_renewed(LEASE_MS), LK_OK);
    world.renew_answer = 0;
    assert_int_equal(lk_lock_renew(&lock, 0, NULL), LK_LOST);

    assert_false(lk_held(&lock));
    assert_false(world.is_watched);
    assert_int_equal(lk_lock_renew(&lock, 0, NULL), LK_LOST);
}

TEST(a_renewal_by_hand_without_answer_changes_nothing)
{
    static const lk_status failures[] = {LK_UNKNOWN, LK_UNREACHABLE, LK_BUSY, LK_SERVER,
                                         LK_NO_MEMORY};

    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
        remake_lock(state);
        assert_int_equal(acquire_renewed(LEASE_MS), LK_OK);
        pass_ms(100);
        world.renewal.status = failures[i];
        assert_int_equal(lk_lock_renew(&lock, 9000, NULL), failures[i]);
        assert_int_equal(lk_lock_remaining_ms(&lock), GOOD_MS - 100);
        assert_int_equal(lock.lease_ms, LEASE_MS);
        assert_true(world.is_watched);
    }
}

TEST(only_what_is_held_is_renewed_by_hand)
{
    assert_int_equal(lk_lock_renew(NULL, 0, NULL), LK_INVALID);
    assert_int_equal(lk_lock_renew(&lock, 0, NULL), LK_INVALID);
    assert_int_equal(acquire(LEASE_MS), LK_OK);
    assert_int_equal(lk_lock_renew(&lock, 9, NULL), LK_INVALID);
    assert_int_equal(lk_lock_renew(&lock, -1, NULL), LK_INVALID);
    assert_int_equal(lk_lock_renew(&lock, 1LL << 31, NULL), LK_INVALID);
    pass_ms(LEASE_MS);
    assert_int_equal(lk_lock_renew(&lock, 0, NULL), LK_LOST); /* its time was up */
    world.releases[0].status = LK_UNREACHABLE;
    assert_int_equal(release(), LK_UNREACHABLE);
    assert_int_equal(lk_lock_renew(&lock, 0, NULL), LK_INVALID);

    assert_string_equal(world.renew_lease, ""); /* nobody was asked */
}

/* ---- releasing again ------------------------------------------------------------------------------ */

/* One that may have arrived, or is owed, can be the one that freed the lock; a refused one cannot. */
TEST(a_repeated_release_knows_what_the_first_may_have_done)
{
    static const struct {
        lk_status first, second;
        int64_t later_ms;
        lk_status last;
    } rows[] = {
        {LK_UNKNOWN, LK_NOT_OWNER, 0, LK_OK},
        {LK_UNKNOWN, LK_NOT_OWNER, GOOD_MS, LK_NOT_OWNER}, /* or its lease has ended */
        {LK_UNKNOWN, LK_OK, 0, LK_OK},
        {LK_UNREACHABLE, LK_NOT_OWNER, 0, LK_OK}, /* made up for meanwhile */
        {LK_EXHAUSTED, LK_NOT_OWNER, 0, LK_OK},
        {LK_BUSY, LK_NOT_OWNER, 0, LK_NOT_OWNER},
        {LK_SERVER, LK_NOT_OWNER, 0, LK_NOT_OWNER}, /* refused */
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lk_error err = {0};

        remake_lock(state);
        assert_int_equal(acquire(LEASE_MS), LK_OK);
        world.releases[0].status = rows[i].first;
        world.releases[1].status = LK_SERVER;
        world.releases[2].status = rows[i].second;
        assert_int_equal(release(), rows[i].first);
        assert_int_equal(release(), LK_SERVER);
        pass_ms(rows[i].later_ms);
        assert_int_equal(lk_lock_release(&lock, &err), rows[i].last);
        assert_int_equal(err.code, rows[i].last);
        assert_int_equal(release(), LK_OK);
        assert_int_equal(world.release_count, 3);
    }
}

TEST(a_lock_known_lost_is_not_released_by_repeating)
{
    assert_int_equal(acquire(LEASE_MS), LK_OK);
    assert_true(lki_hold_lose(&lock));
    world.releases[0].status = LK_UNKNOWN;
    world.releases[1].status = LK_NOT_OWNER;
    assert_int_equal(release(), LK_UNKNOWN);

    assert_int_equal(release(), LK_NOT_OWNER);
}

TEST(a_new_hold_knows_nothing_of_the_last_ones_release)
{
    assert_int_equal(acquire(LEASE_MS), LK_OK);
    world.releases[0].status = LK_UNKNOWN;
    world.releases[1].status = LK_NOT_OWNER;
    assert_int_equal(release(), LK_UNKNOWN);
    assert_int_equal(acquire(LEASE_MS), LK_OK);

    assert_int_equal(release(), LK_NOT_OWNER);
}

/* ---- other ------------------------------------------------------------------------------------------ */

TEST(a_forked_child_holds_nothing)
{
    assert_int_equal(acquire(LEASE_MS), LK_OK);
    world.is_foreign = true;
    assert_false(lk_held(&lock));
    assert_int_equal(lk_lock_remaining_ms(&lock), 0);
    assert_int_equal(lk_lock_hold_count(&lock), 0);
    assert_int_equal(acquire(LEASE_MS), LK_INVALID);
    assert_int_equal(release(), LK_INVALID);
    world.is_foreign = false;

    assert_true(lk_held(&lock));
    assert_int_equal(world.release_count, 0);
}

FIXTURE(make_lock, free_lock);
