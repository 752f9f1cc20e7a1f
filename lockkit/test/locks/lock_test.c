/*
 * The shared loop and the states of a handle, on a made-up kind of lock, hub and clock; one thread.
 * link: -Wl,--wrap=lki_context_deadline -Wl,--wrap=lki_context_emit -Wl,--wrap=lki_hub_join
 * link: -Wl,--wrap=lki_hub_wait -Wl,--wrap=lki_hub_unwake -Wl,--wrap=lki_hub_leave
 * link: -Wl,--wrap=lki_watchdog_add -Wl,--wrap=lki_watchdog_remove -Wl,--wrap=lki_clock_now
 * link: -Wl,--wrap=lki_clock_after_ms -Wl,--wrap=lki_clock_left_ms -Wl,--wrap=lki_context_ref
 * link: -Wl,--wrap=lki_context_unref -Wl,--wrap=lki_context_check -Wl,--wrap=lki_context_is_foreign
 * link: -Wl,--wrap=lki_context_check_name -Wl,--wrap=lki_watchdog_make_ready
 * link: -Wl,--wrap=lki_watchdog_expect
 */
#include <poll.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/name.h"
#include "locks/lock.h"
#include "test/support/testing.h"

enum { STEPS_MAX = 16, POLL_MS = 1000, COMMAND_MS = 500 };

/* What one try, wait or release does: how it ends and how long it takes. */
struct step {
    lk_status status;
    int64_t takes_ms;
    int64_t ttl_ms; /* a BUSY try */
};

static struct {
    int64_t now_ns;
    struct step tries[STEPS_MAX], waits[STEPS_MAX], releases[STEPS_MAX];
    size_t try_count, wait_count, release_count;
    int64_t waited_ms[STEPS_MAX]; /* how long each wait was willing to sleep */
    int64_t release_left_ms;      /* the budget of the last release */
    char release_token[LKI_TOKEN_LEN + 1];
    unsigned joins, leaves, unwakes, watched, unwatched;
    bool watchdog_is_full;
    int64_t unwatch_takes_ms;
    struct lk_event last_event;
} world;

static lk_lock lock;

FAKE_RETURNS(lk_client *, lki_context_ref, (lk_client * client), client);

FAKE(void, lki_context_unref, lk_client *client)
{
}

FAKE_RETURNS(lk_status, lki_context_check, (const lk_client *client, struct lk_error *err), LK_OK);
FAKE_RETURNS(lk_status, lki_context_check_name,
             (lk_client * client, const char *key, struct lk_error *err), LK_OK);
FAKE_RETURNS(bool, lki_context_is_foreign, (const lk_client *client), false);
FAKE_RETURNS(int64_t, lki_context_deadline, (lk_client * client, int64_t limit_ms),
             world.now_ns + (limit_ms > 0 ? limit_ms : COMMAND_MS) * NS_PER_MS);

FAKE(void, lki_context_emit, const lk_client *client, struct lk_event event)
{
    world.last_event = event;
}

FAKE(lk_status, lki_hub_join, struct lki_hub *hub, struct lki_waiter *waiter, const char *channel,
     int64_t deadline, struct lk_error *err)
{
    assert_string_equal(channel, "lockkit_wake:{test}");
    world.joins++;
    return LK_OK;
}

FAKE(lk_status, lki_hub_wait, struct lki_hub *hub, struct lki_waiter *waiter, int64_t until)
{
    struct step step = world.waits[world.wait_count];

    assert_in_range(world.wait_count, 0, STEPS_MAX - 1);
    world.waited_ms[world.wait_count++] = (until - world.now_ns) / NS_PER_MS;
    if (step.status == LK_BUSY) {
        world.now_ns = until; /* nobody woke it */
    } else {
        world.now_ns += step.takes_ms * NS_PER_MS;
    }
    return step.status;
}

FAKE(void, lki_hub_unwake, struct lki_hub *hub, struct lki_waiter *waiter)
{
    assert_int_equal(world.leaves, 0);
    world.unwakes++;
}

FAKE(void, lki_hub_leave, struct lki_hub *hub, struct lki_waiter *waiter)
{
    world.leaves++;
}

FAKE(lk_status, lki_watchdog_add, struct lki_watchdog *watchdog, lk_lock *held,
     struct lk_error *err)
{
    if (world.watchdog_is_full) return LKI_FAIL(err, LK_NO_MEMORY, "watchdog");
    world.watched++;
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
    world.unwatched++;
    world.now_ns += world.unwatch_takes_ms * NS_PER_MS;
}

FAKE_RETURNS(int64_t, lki_clock_now, (void), world.now_ns);
FAKE_RETURNS(int64_t, lki_clock_after_ms, (int64_t ms),
             ms > (INT64_MAX - world.now_ns) / NS_PER_MS ? INT64_MAX
                                                         : world.now_ns + ms * NS_PER_MS);
FAKE_RETURNS(int, lki_clock_left_ms, (int64_t deadline),
             deadline > world.now_ns ? (int)((deadline - world.now_ns + NS_PER_MS - 1) / NS_PER_MS)
                                     : 0);

static lk_status play(struct step step, struct lk_error *err)
{
    world.now_ns += step.takes_ms * NS_PER_MS;
    return step.status == LK_OK ? LK_OK : LKI_FAIL(err, step.status, "step");
}

static lk_status fake_try(lk_lock *self, int64_t *out_ttl_ms, int64_t deadline,
                          struct lk_error *err)
{
    struct step step = world.tries[world.try_count];

    assert_in_range(world.try_count, 0, STEPS_MAX - 1);
    assert_int_equal(out_ttl_ms != NULL, world.joins > world.leaves);
    world.try_count++;
    if (out_ttl_ms) *out_ttl_ms = step.ttl_ms;
    return play(step, err);
}

static lk_status fake_release(lk_lock *self, int64_t deadline, struct lk_error *err)
{
    struct step step = world.releases[world.release_count];

    assert_in_range(world.release_count, 0, STEPS_MAX - 1);
    world.release_count++;
    world.release_left_ms = (deadline - world.now_ns) / NS_PER_MS;
    memcpy(world.release_token, self->token, sizeof world.release_token);
    return play(step, err);
}

static const struct lki_lock_ops fake_ops = {
    .kind = "fake", .try_acquire = fake_try, .release = fake_release};

static lk_status init(lk_lock *any, const char *key)
{
    static lk_client somebody = {.options.poll_ms = POLL_MS}; /* Redis's */

    any->wake_channel = lki_name_prefix("lockkit_wake", key);
    return lki_lock_init(any, &fake_ops, &somebody, key, NULL);
}

static int make_lock(void **state)
{
    memset(&world, 0, sizeof world);
    world.now_ns = 5000 * (int64_t)NS_PER_MS;
    lock = (lk_lock){0};
    return init(&lock, "test") == LK_OK ? 0 : -1;
}

static int free_lock(void **state)
{
    lki_lock_done(&lock);
    return world.joins == world.leaves ? 0 : -1;
}

static void remake_lock(void **state)
{
    assert_int_equal(free_lock(state), 0);
    assert_int_equal(make_lock(state), 0);
}

static lk_status acquire_for(int64_t wait_ms)
{
    return lk_lock_acquire(&lock, &(struct lk_lock_options){.wait_ms = wait_ms}, NULL);
}

/* ---- arithmetic --------------------------------------------------------------------------------- */

TEST(a_lease_counts_from_the_request_less_the_drift)
{
    static const struct {
        int64_t lease_ms, good_ms;
    } rows[] = {
        {10, 8}, {99, 97}, {100, 97}, {1000, 988}, {30000, 29698}, {INT32_MAX, 2126008809},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(lki_hold_ends_at(7, rows[i].lease_ms), 7 + rows[i].good_ms * NS_PER_MS);
}

TEST(what_remains_is_counted_down_and_rounded_up)
{
    assert_int_equal(acquire_for(0), LK_OK);
    assert_int_equal(lk_lock_remaining_ms(&lock), 29698);
    world.now_ns += 1;
    assert_int_equal(lk_lock_remaining_ms(&lock), 29698);
    world.now_ns += 29697 * (int64_t)NS_PER_MS;
    assert_int_equal(lk_lock_remaining_ms(&lock), 1);
    assert_true(lk_held(&lock));
    world.now_ns += NS_PER_MS;
    assert_int_equal(lk_lock_remaining_ms(&lock), 0);
    assert_false(lk_held(&lock));

    assert_false(lk_held(NULL));
    assert_int_equal(lk_lock_remaining_ms(NULL), 0);
}

TEST(the_time_of_the_request_is_taken_off_the_lease)
{
    world.tries[0] = (struct step){LK_OK, 100, 0};
    assert_int_equal(acquire_for(0), LK_OK);

    assert_int_equal(lk_lock_remaining_ms(&lock), 29698 - 100);
}

/* ---- options ------------------------------------------------------------------------------------ */

TEST(the_lease_counts_from_the_try_that_won)
{
    world.tries[0].status = LK_BUSY;
    world.tries[1] = (struct step){LK_BUSY, 0, 60000};
    world.waits[0] = (struct step){LK_OK, 40000, 0}; /* a wait longer than the lease */
    assert_int_equal(acquire_for(90000), LK_OK);

    assert_int_equal(lk_lock_remaining_ms(&lock), 29698);
}

TEST(bad_options_are_refused_before_anything_is_sent)
{
    static const struct lk_lock_options rows[] = {
        {.wait_ms = -1}, {.lease_ms = -1}, {.max_hold_ms = -1},     {.lease_ms = INT64_MIN},
        {.lease_ms = 9}, {.lease_ms = 1},  {.lease_ms = 1LL << 31}, {.lease_ms = INT64_MAX},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lk_error err = {0};

        assert_int_equal(lk_lock_acquire(&lock, &rows[i], &err), LK_INVALID);
        assert_int_equal(err.code, LK_INVALID);
        assert_true(strlen(err.text) > 10);
    }
    assert_int_equal(world.try_count, 0);
}

TEST(options_at_their_edge_are_taken)
{
    static const struct lk_lock_options rows[] = {
        {0},
        {.wait_ms = INT64_MAX, .lease_ms = 10, .max_hold_ms = INT64_MAX},
        {.lease_ms = INT32_MAX, .max_hold_ms = 1},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(lk_lock_acquire(&lock, &rows[i], NULL), LK_OK);
        assert_int_equal(lk_lock_release(&lock, NULL), LK_OK);
    }
    assert_int_equal(lk_lock_acquire(&lock, NULL, NULL), LK_OK);
    assert_int_equal(lock.lease_ms, LKI_DEFAULT_LEASE_MS);
}

TEST(a_handle_that_holds_is_not_acquired_again)
{
    struct lk_error err = {0};

    assert_int_equal(acquire_for(0), LK_OK);
    assert_int_equal(lk_lock_acquire(&lock, NULL, &err), LK_INVALID);
    assert_non_null(strstr(err.text, "test"));
    world.now_ns += 40000 * (int64_t)NS_PER_MS; /* also not when the lease is over */
    assert_int_equal(acquire_for(0), LK_INVALID);
    assert_true(lki_hold_lose(&lock));
    assert_int_equal(acquire_for(0), LK_INVALID);

    assert_int_equal(world.try_count, 1);
    assert_int_equal(lk_lock_release(&lock, NULL), LK_OK);
    assert_int_equal(acquire_for(0), LK_OK);
}

/* ---- trying and waiting ------------------------------------------------------------------------- */

TEST(without_wait_one_try_is_made_and_the_hub_left_alone)
{
    world.tries[0].status = LK_BUSY;
    assert_int_equal(acquire_for(0), LK_BUSY);

    assert_int_equal(world.try_count, 1);
    assert_int_equal(world.joins, 0);
    assert_int_equal(world.last_event.status, LK_BUSY);
    assert_int_equal(world.last_event.attempts, 1);
}

TEST(an_event_tells_begin_and_end_by_one_look_at_the_clock)
{
    int64_t begin = world.now_ns;

    world.tries[0].status = LK_BUSY;
    world.tries[1] = (struct step){LK_BUSY, 0, 60000};
    world.waits[0].status = LK_OK;
    assert_int_equal(acquire_for(1000), LK_OK);

    assert_int_equal(world.last_event.at_ns, world.now_ns);
    assert_int_equal(world.last_event.at_ns - world.last_event.duration_ns, begin);
}

TEST(after_joining_it_tries_again_before_it_sleeps)
{
    world.tries[0].status = LK_BUSY; /* released before the subscription stood */
    assert_int_equal(acquire_for(1000), LK_OK);

    assert_int_equal(world.try_count, 2);
    assert_int_equal(world.wait_count, 0);
    assert_int_equal(world.leaves, 1);
    assert_int_equal(world.unwakes, 0);
}

TEST(the_sleep_follows_the_ttl_the_timer_and_the_deadline)
{
    static const struct {
        int64_t ttl_ms, wait_ms, least_ms, most_ms;
    } rows[] = {
        {400, 5000, 400, 450},  /* the holder's rest, and jitter */
        {8, 5000, 8, 11},       /* little jitter on little */
        {0, 5000, 2, 3},        /* a floor */
        {-2, 5000, 2, 3},       /* gone by now: at once, but not in a spin */
        {-1, 5000, 1000, 1050}, /* for ever: the timer */
        {60000, 5000, 1000, 1050}, {60000, 300, 300, 300}, /* the deadline */
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        remake_lock(state);
        world.tries[0].status = LK_BUSY;
        world.tries[1] = (struct step){LK_BUSY, 0, rows[i].ttl_ms};
        world.waits[0].status = LK_CANCELLED;
        assert_int_equal(acquire_for(rows[i].wait_ms), LK_CANCELLED);
        assert_in_range(world.waited_ms[0], rows[i].least_ms, rows[i].most_ms);
    }
}

TEST(it_ends_busy_at_the_deadline)
{
    struct lk_error err = {0};

    for (size_t i = 0; i < STEPS_MAX; i++) {
        world.tries[i] = (struct step){LK_BUSY, 0, 400};
        world.waits[i].status = LK_BUSY;
    }
    int64_t begin = world.now_ns;
    assert_int_equal(lk_lock_acquire(&lock, &(struct lk_lock_options){.wait_ms = 1000}, &err),
                     LK_BUSY);

    assert_int_equal((world.now_ns - begin) / NS_PER_MS, 1000);
    assert_string_equal(err.text, "test: not free after 4 tries");
    assert_int_equal(world.unwakes, 0);
}

TEST(a_wake_up_at_the_deadline_is_handed_on)
{
    world.tries[0].status = LK_BUSY;
    world.tries[1] = (struct step){LK_BUSY, 0, 60000};
    world.waits[0] = (struct step){LK_OK, 300, 0}; /* woken in the moment it gives up */
    assert_int_equal(acquire_for(300), LK_BUSY);

    assert_int_equal(world.try_count, 2);
    assert_int_equal(world.unwakes, 1);
}

TEST(a_wake_up_whose_try_fails_is_handed_on)
{
    static const lk_status failures[] = {LK_SERVER, LK_NO_MEMORY};

    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
        remake_lock(state);
        world.tries[0].status = LK_BUSY;
        world.tries[1] = (struct step){LK_BUSY, 0, 60000};
        world.waits[0].status = LK_OK;
        world.tries[2].status = failures[i];
        assert_int_equal(acquire_for(1000), failures[i]);
        assert_int_equal(world.unwakes, 1);
    }
}

TEST(a_server_that_is_away_or_refuses_is_asked_again)
{
    world.tries[0].status = world.tries[1].status = LK_UNREACHABLE;
    world.waits[0] = (struct step){LK_BUSY, 2, 0};
    assert_int_equal(acquire_for(1000), LK_OK);
    assert_int_equal(world.try_count, 3);
    assert_in_range(world.waited_ms[0], 1, 2); /* not until somebody wakes us */
}

TEST(what_was_not_answered_is_undone_and_tried_under_another_name)
{
    char first[LKI_TOKEN_LEN + 1];

    world.tries[0].status = LK_UNKNOWN; /* it may have been done */
    assert_int_equal(acquire_for(1000), LK_OK);
    memcpy(first, world.release_token, sizeof first);
    assert_int_equal(world.try_count, 2);
    assert_string_not_equal(lk_lock_token(&lock), first);

    remake_lock(state);
    world.tries[0].status = LK_UNKNOWN;
    assert_int_equal(acquire_for(0), LK_UNKNOWN); /* who does not wait is told */
    assert_int_equal(world.try_count, 1);
}

TEST(a_wake_up_that_led_to_a_try_is_used_up)
{
    world.tries[0].status = LK_BUSY;
    world.tries[1] = (struct step){LK_BUSY, 0, 60000};
    world.waits[0].status = LK_OK;
    world.tries[2] = (struct step){LK_BUSY, 0, 60000}; /* somebody else was faster */
    world.waits[1].status = LK_OK;
    assert_int_equal(acquire_for(1000), LK_OK);

    assert_int_equal(world.try_count, 4);
    assert_int_equal(world.unwakes, 0);
    assert_int_equal(world.last_event.attempts, 4);
}

TEST(cancelling_ends_the_wait)
{
    struct lk_error err = {0};

    world.tries[0].status = LK_BUSY;
    world.tries[1] = (struct step){LK_BUSY, 0, 60000};
    world.waits[0].status = LK_CANCELLED;
    assert_int_equal(lk_lock_acquire(&lock, &(struct lk_lock_options){.wait_ms = 1000}, &err),
                     LK_CANCELLED);

    assert_int_equal(err.code, LK_CANCELLED);
    assert_int_equal(world.release_count, 0);
}

TEST(an_acquire_that_succeeds_leaves_the_error_alone)
{
    struct lk_error err = {.code = LK_STATUS_COUNT, .text = "untouched"};

    world.tries[0].status = LK_BUSY;
    assert_int_equal(lk_lock_acquire(&lock, &(struct lk_lock_options){.wait_ms = 1000}, &err),
                     LK_OK);

    assert_int_equal(err.code, LK_STATUS_COUNT);
    assert_string_equal(err.text, "untouched");
}

/* ---- lost replies and late answers --------------------------------------------------------------- */

TEST(an_unknown_try_is_undone_within_a_small_budget)
{
    static const struct {
        int64_t lease_ms, budget_ms;
    } rows[] = {{30000, 100}, {1000, 100}, {500, 50}, {10, 1}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        remake_lock(state);
        world.tries[0].status = LK_UNKNOWN;
        assert_int_equal(
            lk_lock_acquire(&lock, &(struct lk_lock_options){.lease_ms = rows[i].lease_ms}, NULL),
            LK_UNKNOWN);
        assert_int_equal(world.release_count, 1);
        assert_int_equal(world.release_left_ms, rows[i].budget_ms);
        assert_string_equal(world.release_token, lock.token);
        assert_false(lk_held(&lock));
        assert_int_equal(lk_lock_release(&lock, NULL), LK_OK); /* nothing to release */
        assert_int_equal(world.release_count, 1);
    }
}

TEST(an_answer_after_the_lease_is_lost_and_given_back)
{
    struct lk_error err = {0};

    world.tries[0] = (struct step){LK_OK, 97, 0};
    assert_int_equal(lk_lock_acquire(&lock, &(struct lk_lock_options){.lease_ms = 100}, &err),
                     LK_LOST);

    assert_int_equal(world.release_count, 1);
    assert_false(lk_held(&lock));
    assert_int_equal(err.code, LK_LOST);
    assert_int_equal(world.watched, 0);
}

TEST(every_acquisition_has_a_token_of_its_own)
{
    char first[LKI_TOKEN_LEN + 1];

    assert_int_equal(acquire_for(0), LK_OK);
    memcpy(first, lock.token, sizeof first);
    assert_int_equal(lk_lock_release(&lock, NULL), LK_OK);
    assert_int_equal(acquire_for(0), LK_OK);

    assert_string_not_equal(first, lock.token);
}

/* ---- release ------------------------------------------------------------------------------------- */

TEST(release_goes_by_what_the_server_says)
{
    static const struct {
        lk_status answer;
        bool is_repeatable;
    } rows[] = {{LK_OK, false},         {LK_NOT_OWNER, false}, {LK_UNKNOWN, true},
                {LK_UNREACHABLE, true}, {LK_SERVER, true},     {LK_NO_MEMORY, true}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        remake_lock(state);
        assert_int_equal(acquire_for(0), LK_OK);
        world.releases[0].status = rows[i].answer;
        assert_int_equal(lk_lock_release(&lock, NULL), rows[i].answer);
        assert_false(lk_held(&lock));
        assert_int_equal(world.release_left_ms, COMMAND_MS);
        assert_int_equal(lk_lock_release(&lock, NULL), LK_OK);
        assert_int_equal(world.release_count, rows[i].is_repeatable ? 2 : 1);
    }
}

TEST(releasing_nothing_is_fine)
{
    assert_int_equal(lk_lock_release(NULL, NULL), LK_OK);
    assert_int_equal(lk_lock_release(&lock, NULL), LK_OK);

    assert_int_equal(world.release_count, 0);
}

TEST(release_takes_the_lock_off_the_watchdog_first)
{
    assert_int_equal(lk_lock_acquire(&lock, &(struct lk_lock_options){.is_renewed = true}, NULL),
                     LK_OK);
    assert_int_equal(world.watched, 1);
    world.unwatch_takes_ms = 400; /* a renewal was under way: it counts */
    assert_int_equal(lk_lock_release(&lock, NULL), LK_OK);

    assert_int_equal(world.unwatched, 1);
    assert_int_equal(world.release_left_ms, COMMAND_MS - 400);
}

TEST(an_unconfirmed_release_does_not_stop_the_next_acquire)
{
    assert_int_equal(acquire_for(0), LK_OK);
    world.releases[0].status = LK_UNKNOWN;
    assert_int_equal(lk_lock_release(&lock, NULL), LK_UNKNOWN);

    assert_int_equal(acquire_for(0), LK_OK);
}

/* ---- watching and losing -------------------------------------------------------------------------- */

TEST(every_hold_is_watched)
{
    assert_int_equal(acquire_for(0), LK_OK);
    assert_int_equal(world.watched, 1);
    assert_int_equal(lk_lock_release(&lock, NULL), LK_OK);
    assert_int_equal(world.unwatched, 1);
}

TEST(an_acquire_that_cannot_be_watched_is_given_back)
{
    world.watchdog_is_full = true;
    assert_int_equal(lk_lock_acquire(&lock, &(struct lk_lock_options){.is_renewed = true}, NULL),
                     LK_NO_MEMORY);

    assert_int_equal(world.release_count, 1);
    assert_false(lk_held(&lock));
}

static bool is_readable(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    return poll(&poll_fd, 1, 0) == 1;
}

TEST(a_loss_is_marked_once_and_readable_until_the_next_acquire)
{
    int fd = lk_lock_lost_fd(&lock);

    assert_int_equal(fd, lk_lock_lost_fd(&lock));
    assert_false(lki_hold_lose(&lock)); /* nothing held */
    assert_int_equal(acquire_for(0), LK_OK);
    assert_false(is_readable(fd));
    assert_true(lki_hold_lose(&lock));
    assert_false(lki_hold_lose(&lock));
    assert_false(lk_held(&lock));
    assert_true(is_readable(fd));
    world.releases[0].status = LK_NOT_OWNER;
    assert_int_equal(lk_lock_release(&lock, NULL), LK_NOT_OWNER);
    assert_true(is_readable(fd));
    assert_int_equal(acquire_for(0), LK_OK);

    assert_false(is_readable(fd));
}

FIXTURE(make_lock, free_lock);
