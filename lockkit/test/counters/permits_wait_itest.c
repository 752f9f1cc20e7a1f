/*
 * Waiting for permits with leases, and a permit as a lock. The fallback timer is ten seconds here,
 * so whatever comes sooner came by a message, a lease or a break. Numbers in brackets are those of
 * the checklist of cases for clients that share keys with Redisson.
 */
#include <poll.h>

#include "test/support/lk_support.h"

enum { POLL_MS = 10000, SOON_MS = 20000 };

LKS_SERVER(lks_server_start(NULL));
LKS_PATIENT();

struct fixture {
    lk_client *client, *other_client; /* as two processes would have */
    lk_permits *mine, *other;
    lk_lock *lock;
    const char *key;
    char timeouts[160], channel[160];
};

LKS_NEW(lk_permits, new_permits, lk_permits_new);

LKS_NEW(lk_lock, new_lock, lk_permit_lock_new);

SET_UP(struct fixture, f)
{
    struct lk_client_options options = {.poll_ms = POLL_MS};

    f->key = lks_new_key(server, "permits");
    (void)snprintf(f->timeouts, sizeof f->timeouts, "{%s}:timeout", f->key);
    (void)snprintf(f->channel, sizeof f->channel, "redisson_sc:{%s}", f->key);
    f->client = lks_client_with(server, options);
    f->other_client = lks_client_with(server, options);
    f->mine = new_permits(f->client, f->key);
    f->other = new_permits(f->other_client, f->key);
    f->lock = new_lock(f->client, f->key);
}

TEAR_DOWN(struct fixture, f)
{
    lk_lock_free(f->lock);
    lk_permits_free(f->mine);
    lk_permits_free(f->other);
    lk_client_close(f->client);
    lk_client_close(f->other_client);
    LKS_DO(server, "DEL", f->key, f->timeouts);
}

static void set(struct fixture *f, int64_t count)
{
    assert_int_equal(lk_permits_set(f->mine, count, NULL), LK_OK);
}

static void take_for(struct fixture *f, struct lk_permit *list, size_t count, int64_t lease_ms)
{
    struct lk_permit_options options = {.lease_ms = lease_ms};

    assert_int_equal(lk_permits_acquire(f->other, &options, list, count, NULL), LK_OK);
}

static void assert_usage(struct fixture *f, int64_t available, int64_t acquired)
{
    struct lk_permits_usage usage = {-4711, -4711};

    assert_int_equal(lk_permits_usage(f->other, &usage, NULL), LK_OK);
    assert_int_equal(usage.available, available);
    assert_int_equal(usage.acquired, acquired);
}

/* ---- an acquire on its own thread ------------------------------------------------------------ */

static lk_status acquire_some(struct lks_wait *wait)
{
    struct lk_permit_options options = {.wait_ms = 60000};

    return lk_permits_acquire(wait->what, &options, wait->list, (size_t)wait->count, NULL);
}

static void start_wait(struct lks_wait *wait, lk_permits *permits, int64_t count)
{
    *wait = (struct lks_wait){.run = acquire_some, .what = permits, .count = count};
    lks_wait_begin(wait);
}

/* The waiter is subscribed and has had time to look once more and fall asleep. */
static void let_it_sleep(struct fixture *f)
{
    LKS_EVENTUALLY(lks_subscribers(server, f->channel) == 1, 5000);
    lks_nap(20);
}

TEST(a_permit_that_is_never_released_is_had_when_its_lease_ends, struct fixture *f) /* [61] */
{
    struct lk_permit list[2];
    struct lks_wait wait;

    set(f, 2);
    take_for(f, list, 1, 60000);
    double begin_ms = lks_now_ms();
    take_for(f, list + 1, 1, 1000); /* the nearer end counts */
    start_wait(&wait, f->mine, 1);
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    assert_true(wait.ended_at_ms - begin_ms >= 999);
    assert_true(wait.ended_at_ms - begin_ms < 1000 + 5000); /* and not found by the timer */
    assert_usage(f, 0, 2);
}

TEST(a_release_of_many_wakes_many, struct fixture *f)
{
    lk_permits *third = new_permits(f->client, f->key);
    struct lk_permit list[3];
    struct lks_wait two, one;

    set(f, 3);
    take_for(f, list, 3, 60000);
    start_wait(&two, f->mine, 2);
    start_wait(&one, third, 1);
    let_it_sleep(f);
    lks_nap(50);
    double given_at_ms = lks_now_ms();
    assert_int_equal(lk_permits_release(f->other, list, 3, NULL), LK_OK);

    lks_wait_is_woken(&two, given_at_ms);
    lks_wait_is_woken(&one, given_at_ms);
    assert_usage(f, 0, 3);
    lk_permits_free(third);
}

TEST(a_permit_too_few_wakes_who_needs_one, struct fixture *f)
{
    lk_permits *third = new_permits(f->client, f->key);
    struct lk_permit list[2];
    struct lks_wait two, one;

    set(f, 2);
    take_for(f, list, 2, 60000);
    start_wait(&two, f->mine, 2); /* longest waiting */
    let_it_sleep(f);
    start_wait(&one, third, 1);
    lks_nap(50);
    double given_at_ms = lks_now_ms();
    assert_int_equal(lk_permits_release(f->other, list, 1, NULL), LK_OK);
    lks_wait_is_woken(&one, given_at_ms);
    assert_false(atomic_load(&two.has_ended));
    lk_permits_cancel(f->mine);
    assert_int_equal(lks_wait_end(&two), LK_CANCELLED);
    lk_permits_free(third);
}

/* ---- a permit as a lock ---------------------------------------------------------------------- */

TEST(as_many_locks_are_held_as_there_are_permits, struct fixture *f)
{
    lk_lock *second = new_lock(f->other_client, f->key), *third = new_lock(f->client, f->key);
    struct lk_permit known = {0};

    set(f, 2);
    assert_int_equal(lk_lock_acquire(f->lock, NULL, NULL), LK_OK);
    assert_int_equal(lk_lock_acquire(second, NULL, NULL), LK_OK);
    assert_int_equal(lk_lock_acquire(third, NULL, NULL), LK_BUSY);
    assert_int_equal(lk_lock_acquire(second, NULL, NULL), LK_INVALID); /* not reentrant */
    assert_int_equal(lk_lock_force_release(second, NULL), LK_INVALID);
    assert_true(lk_held(f->lock) && lk_held(second) && !lk_held(third));
    assert_usage(f, 0, 2);
    (void)snprintf(known.id, sizeof known.id, "%s", lk_lock_token(second));
    assert_int_equal(lk_permits_ask(f->mine, &known, NULL), LK_OK);
    assert_int_equal(lk_lock_release(second, NULL), LK_OK);
    assert_int_equal(lk_lock_acquire(third, NULL, NULL), LK_OK);
    assert_int_equal(lk_lock_release(third, NULL), LK_OK);
    assert_int_equal(lk_lock_release(f->lock, NULL), LK_OK);
    assert_usage(f, 2, 0);
    lk_lock_free(second);
    lk_lock_free(third);
}

TEST(its_loss_is_noticed, struct fixture *f)
{
    atomic_int losses = 0;
    struct lk_lock_options options = {
        .lease_ms = 3000, .is_renewed = true, .on_lost = lks_count_loss, .on_lost_arg = &losses};
    struct pollfd poll_fd = {.fd = lk_lock_lost_fd(f->lock), .events = POLLIN};
    struct lk_permit known = {0};

    set(f, 1);
    assert_int_equal(lk_lock_acquire(f->lock, &options, NULL), LK_OK);
    (void)snprintf(known.id, sizeof known.id, "%s", lk_lock_token(f->lock));
    assert_int_equal(lk_permits_release(f->other, &known, 1, NULL), LK_OK); /* behind its back */

    assert_int_equal(poll(&poll_fd, 1, SOON_MS), 1);
    LKS_EVENTUALLY(atomic_load(&losses) == 1, SOON_MS);
    assert_false(lk_held(f->lock));
    assert_int_equal(lk_lock_release(f->lock, NULL), LK_NOT_OWNER);
    assert_usage(f, 1, 0); /* not brought back, not given twice */
}

TEST(its_lease_is_prolonged_by_hand_and_never_cut, struct fixture *f)
{
    set(f, 1);
    assert_int_equal(lk_lock_acquire(f->lock, &(struct lk_lock_options){.lease_ms = 20000}, NULL),
                     LK_OK);
    assert_int_equal(lk_lock_renew(f->lock, 1000, NULL), LK_OK);
    struct lk_permit known = {0};
    (void)snprintf(known.id, sizeof known.id, "%s", lk_lock_token(f->lock));
    assert_int_equal(lk_permits_ask(f->mine, &known, NULL), LK_OK);
    assert_in_range(lk_permit_remaining_ms(&known), 15000, 20000);
    assert_in_range(lk_lock_remaining_ms(f->lock), 15000, 20000);
    assert_int_equal(lk_lock_renew(f->lock, 40000, NULL), LK_OK);
    assert_in_range(lk_lock_remaining_ms(f->lock), 35000, 40000);
    assert_int_equal(lk_lock_release(f->lock, NULL), LK_OK);
}

TEST(it_guards_a_script, struct fixture *f)
{
    static const struct lk_script_source add = {.name = "add",
                                                .source = "return redis.call('INCR', KEYS[1])"};
    lk_script *script = lk_script_new(&add);
    const char *counter = lks_key(server, "guarded");
    struct lk_bytes key = lk_bytes_of(counter);
    struct lk_eval eval = {.script = script, .keys = &key, .key_count = 1};
    lk_reply *reply = NULL;

    set(f, 1);
    assert_int_equal(lk_lock_acquire(f->lock, NULL, NULL), LK_OK);
    assert_int_equal(lk_guarded_eval(f->lock, &eval, 0, &reply, NULL), LK_OK);
    assert_int_equal(lk_reply_integer(reply, 0), 1);
    lk_reply_free(reply);
    LKS_DO(server, "ZADD", f->timeouts, "1",
           "x"); /* some other has ended, which is nothing to us */
    assert_int_equal(lk_guarded_eval(f->lock, &eval, 0, &reply, NULL), LK_OK);
    lk_reply_free(reply);
    LKS_DO(server, "DEL", f->timeouts);
    assert_int_equal(lk_guarded_eval(f->lock, &eval, 0, &reply, NULL), LK_NOT_OWNER);
    assert_string_equal(LKS_TEXT(server, "GET", counter), "2");
    assert_int_equal(lk_lock_release(f->lock, NULL), LK_NOT_OWNER);
    lk_script_free(script);
}
