/*
 * The fair lock as its callers see it: the order, what ends a wait, what a holder can do. Waiters ask
 * again every 1.7 s, told or not: that they are told is seen at the server.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "test/support/lk_fair.h"

enum { POLL_MS = 10000, WAITERS = 6 };

LKS_SERVER(lks_server_start(NULL));
LKS_PATIENT();
static const struct lk_lock_options long_wait = {.wait_ms = 60000};

struct fixture {
    lk_client *clients[2]; /* as two processes would have */
    lk_lock *locks[WAITERS];
    struct lkf_keys keys;
    struct lk_event events[16]; /* acquires, releases and places of clients[1] */
    size_t event_count;
    pthread_mutex_t mutex; /* guards the two above */
};

static void note_event(const struct lk_event *event, void *arg)
{
    struct fixture *f = arg;

    if (event->type != LK_EVENT_QUEUED && event->type != LK_EVENT_ACQUIRE) return;
    (void)pthread_mutex_lock(&f->mutex);
    f->events[f->event_count++ % 16] = *event;
    (void)pthread_mutex_unlock(&f->mutex);
}

static size_t event_count(struct fixture *f)
{
    (void)pthread_mutex_lock(&f->mutex);
    size_t count = f->event_count;
    (void)pthread_mutex_unlock(&f->mutex);
    return count;
}

SET_UP(struct fixture, f)
{
    struct lk_client_options options = {.poll_ms = POLL_MS};

    (void)pthread_mutex_init(&f->mutex, NULL);
    lkf_keys_init(&f->keys, server, "fair");
    f->clients[0] = lks_client_with(server, options);
    options.on_event = note_event;
    options.on_event_arg = f;
    f->clients[1] = lks_client_with(server, options);
    for (size_t i = 0; i < WAITERS; i++)
        f->locks[i] = lkf_lock(f->clients[i % 2], &f->keys, 0);
}

/* Every test leaves the lock free and the queue empty. */
TEAR_DOWN(struct fixture, f)
{
    if (!lkf_is_gone(&f->keys)) fail_msg("left in the queue: %s", lkf_queue(&f->keys));
    for (size_t i = 0; i < WAITERS; i++)
        lk_lock_free(f->locks[i]);
    lk_client_close(f->clients[0]);
    lk_client_close(f->clients[1]);
    (void)pthread_mutex_destroy(&f->mutex);
}

static void take(lk_lock *lock)
{
    struct lk_error err = {0};

    if (lk_lock_acquire(lock, NULL, &err) != LK_OK) fail_msg("%s", err.text);
}

static void give_back(lk_lock *lock)
{
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
}

static void wait_for(struct lks_wait *wait, struct fixture *f, size_t i)
{
    lkf_wait_start(wait, &f->keys, f->locks[i], &long_wait);
}

/* How often a waiter asked since the lock was taken, told by a step that only fair_acquire takes. */
static size_t questions(struct lks_monitor *monitor)
{
    return lks_count(lks_monitor_text(monitor, server), "lua] \"PTTL\"");
}

/* So many waiters asked, asked again when they were subscribed, and sleep. */
static void let_sleep(struct lks_monitor *monitor, size_t waiters)
{
    LKS_EVENTUALLY(questions(monitor) >= 2 * waiters, 10000);
}

static size_t messages(struct lks_monitor *monitor, struct fixture *f, size_t to)
{
    return lks_count(lks_monitor_text(monitor, server),
                     lks_format("lua] \"PUBLISH\" \"%s:%s\" \"0\"", f->keys.channel,
                                lk_lock_token(f->locks[to])));
}

static void has_got_it(struct lks_wait *wait)
{
    assert_int_equal(lks_wait_end(wait), LK_OK);
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Checklist 45, our side of it. */
TEST(the_first_to_come_is_the_first_served, struct fixture *f)
{
    struct lks_wait waits[WAITERS];

    take(f->locks[0]);
    for (size_t i = 1; i < WAITERS; i++)
        wait_for(&waits[i], f, i);
    for (size_t i = 1; i < WAITERS; i++)
        assert_non_null(strstr(lkf_queue(&f->keys), lk_lock_token(f->locks[i])));
    for (size_t i = 1; i < WAITERS; i++) {

        give_back(f->locks[i - 1]);
        has_got_it(&waits[i]);
        assert_int_equal(lkf_length(&f->keys), WAITERS - 1 - i);
        for (size_t k = i + 1; k < WAITERS; k++)
            assert_false(lk_held(f->locks[k]));
    }
    give_back(f->locks[WAITERS - 1]);
}

TEST(a_release_wakes_the_next_and_nobody_else, struct fixture *f)
{
    struct lks_wait waits[WAITERS];

    take(f->locks[0]);
    struct lks_monitor *monitor = lks_monitor_open(server);
    for (size_t i = 1; i < WAITERS; i++)
        wait_for(&waits[i], f, i);
    let_sleep(monitor, WAITERS - 1);
    size_t before = questions(monitor);
    give_back(f->locks[0]);
    has_got_it(&waits[1]);

    assert_int_equal(messages(monitor, f, 1), 1);
    assert_int_equal(lks_count(lks_monitor_text(monitor, server), "\"PUBLISH\""), 1);
    assert_int_equal(questions(monitor) - before, 1);
    lks_monitor_close(monitor);
    for (size_t i = 2; i < WAITERS; i++) {
        give_back(f->locks[i - 1]);
        has_got_it(&waits[i]);
    }
    give_back(f->locks[WAITERS - 1]);
}

/* Checklist 52. */
TEST(who_does_not_wait_does_not_pass_a_queue, struct fixture *f)
{
    struct lkf_foreign holder = {.owner = "f:1", .lease_ms = 30000};
    struct lkf_foreign waiter = {.owner = "f:2", .lease_ms = 30000, .wait_ms = 60000};

    assert_int_equal(lkf_foreign_try(&f->keys, &holder), LKF_TAKEN);
    assert_true(lkf_foreign_try(&f->keys, &waiter) >= 0);
    assert_int_equal(lkf_foreign_unlock(&f->keys, &holder), 1);
    long long score = lkf_score(&f->keys, "f:2");

    assert_int_equal(LKS_INTEGER(server, "EXISTS", f->keys.lock), 0);
    assert_int_equal(lk_lock_acquire(f->locks[0], NULL, NULL), LK_BUSY);
    assert_string_equal(lkf_queue(&f->keys), "f:2");
    assert_int_equal(LKS_INTEGER(server, "ZCARD", f->keys.timeouts), 1);
    assert_int_equal(lkf_score(&f->keys, "f:2"), score);
    lkf_foreign_give_up(&f->keys, &waiter);
    take(f->locks[0]);
    give_back(f->locks[0]);
}

TEST(events_tell_the_places, struct fixture *f)
{
    struct lks_wait waits[2];

    take(f->locks[0]);
    wait_for(&waits[0], f, 1);
    LKS_EVENTUALLY(event_count(f) == 1, 5000); /* a moment before it tells it is in the queue */
    wait_for(&waits[1], f, 3);
    LKS_EVENTUALLY(event_count(f) == 2, 5000);
    give_back(f->locks[0]);
    has_got_it(&waits[0]);
    give_back(f->locks[1]);
    has_got_it(&waits[1]);
    static const struct {
        lk_event_type type;
        size_t lock;
    } expected[] = {
        {LK_EVENT_QUEUED, 1}, {LK_EVENT_QUEUED, 3}, {LK_EVENT_ACQUIRE, 1}, {LK_EVENT_ACQUIRE, 3}};

    assert_int_equal(f->event_count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct lk_event *event = &f->events[i];

        assert_int_equal(event->type, expected[i].type);
        assert_int_equal(event->status, LK_OK);
        assert_string_equal(event->kind, "fair");
        assert_ptr_equal(event->token, lk_lock_token(f->locks[expected[i].lock]));
        assert_int_equal(event->count, event->type == LK_EVENT_ACQUIRE);
        if (i > 0) assert_true(event->at_ns >= f->events[i - 1].at_ns);
    }
    assert_true(f->events[1].at_ns - f->events[1].duration_ns > f->events[0].at_ns);
    give_back(f->locks[3]);
}

/* ---- what ends a wait ------------------------------------------------------------------------ */

/* Checklist 46. */
TEST(who_gives_up_leaves_and_the_next_moves_up, struct fixture *f)
{
    struct lks_wait hasty, patient;

    take(f->locks[0]);
    lkf_wait_start(&hasty, &f->keys, f->locks[1], &(struct lk_lock_options){.wait_ms = 2000});
    wait_for(&patient, f, 2);
    assert_int_equal(lks_wait_end(&hasty), LK_BUSY);

    assert_string_equal(lkf_queue(&f->keys), lk_lock_token(f->locks[2]));
    assert_int_equal(lkf_score(&f->keys, lk_lock_token(f->locks[1])), -1);
    give_back(f->locks[0]);
    has_got_it(&patient);
    give_back(f->locks[2]);
}

/* Checklist 48. */
TEST(who_is_cancelled_leaves_at_once, struct fixture *f)
{
    struct lks_wait cancelled, patient;

    take(f->locks[0]);
    wait_for(&cancelled, f, 1);
    wait_for(&patient, f, 2);
    lk_lock_cancel(f->locks[1]);
    assert_int_equal(lks_wait_end(&cancelled), LK_CANCELLED);

    assert_string_equal(lkf_queue(&f->keys), lk_lock_token(f->locks[2]));
    give_back(f->locks[0]);
    has_got_it(&patient);
    give_back(f->locks[2]);
}

TEST(who_leaves_when_it_is_its_turn_wakes_the_next, struct fixture *f)
{
    struct lks_wait first, second;

    take(f->locks[0]);
    struct lks_monitor *monitor = lks_monitor_open(server);
    wait_for(&first, f, 1);
    wait_for(&second, f, 2);
    let_sleep(monitor, 2);
    LKS_DO(server, "DEL", f->keys.lock); /* free, and nobody is told */
    lk_lock_cancel(f->locks[1]);
    assert_int_equal(lks_wait_end(&first), LK_CANCELLED);
    has_got_it(&second);

    assert_int_equal(messages(monitor, f, 2), 1);
    give_back(f->locks[2]);
    assert_int_equal(lk_lock_release(f->locks[0], NULL), LK_NOT_OWNER);
    lks_monitor_close(monitor);
}

TEST(a_release_that_comes_too_late_wakes_the_next_too, struct fixture *f)
{
    struct lks_wait wait;

    take(f->locks[0]);
    struct lks_monitor *monitor = lks_monitor_open(server);
    wait_for(&wait, f, 1);
    let_sleep(monitor, 1);
    LKS_DO(server, "DEL", f->keys.lock); /* as if the lease had ended just now */
    assert_int_equal(lk_lock_release(f->locks[0], NULL), LK_NOT_OWNER);
    has_got_it(&wait);

    assert_int_equal(messages(monitor, f, 1), 1);
    give_back(f->locks[1]);
    lks_monitor_close(monitor);
}

TEST(the_end_of_a_lease_is_the_turn_of_the_next, struct fixture *f)
{
    struct lks_wait first, second;
    double begin = lks_now_ms();

    assert_int_equal(
        lk_lock_acquire(f->locks[0], &(struct lk_lock_options){.lease_ms = 1000}, NULL), LK_OK);
    wait_for(&first, f, 1);
    wait_for(&second, f, 2);
    assert_int_equal(lks_wait_end(&first), LK_OK);
    assert_true(first.ended_at_ms - begin > 990);

    assert_int_equal(lk_lock_release(f->locks[0], NULL), LK_NOT_OWNER);
    assert_true(lk_held(f->locks[1]));
    assert_string_equal(lkf_queue(&f->keys), lk_lock_token(f->locks[2]));
    give_back(f->locks[1]);
    has_got_it(&second);
    give_back(f->locks[2]);
}

/* ---- a hold ---------------------------------------------------------------------------------- */

TEST(it_is_taken_again_and_given_back_as_often, struct fixture *f)
{
    struct lks_wait wait;

    take(f->locks[0]);
    wait_for(&wait, f, 1);
    take(f->locks[0]);
    take(f->locks[0]);
    assert_int_equal(lk_lock_hold_count(f->locks[0]), 3);
    const char *owner = lk_lock_token(f->locks[0]);
    assert_string_equal(LKS_TEXT(server, "HGET", f->keys.lock, owner), "3");
    give_back(f->locks[0]);
    give_back(f->locks[0]);
    assert_string_equal(LKS_TEXT(server, "HGET", f->keys.lock, owner), "1");
    assert_false(lk_held(f->locks[1]));
    give_back(f->locks[0]);
    has_got_it(&wait);
    give_back(f->locks[1]);
}

TEST(breaking_it_is_the_turn_of_the_next, struct fixture *f)
{
    struct lks_wait wait;

    assert_int_equal(lk_lock_force_release(f->locks[2], NULL), LK_NOT_OWNER);
    take(f->locks[0]);
    struct lks_monitor *monitor = lks_monitor_open(server);
    wait_for(&wait, f, 1);
    assert_int_equal(lk_lock_force_release(f->locks[2], NULL), LK_OK);
    has_got_it(&wait);

    assert_int_equal(messages(monitor, f, 1), 1);
    lks_monitor_close(monitor);
    assert_int_equal(lk_lock_release(f->locks[0], NULL), LK_NOT_OWNER);
    assert_true(lk_held(f->locks[1]));
    give_back(f->locks[1]);
}

TEST(data_is_guarded_by_the_hold, struct fixture *f)
{
    lk_script *script = lk_script_new(
        &(struct lk_script_source){.name = "seven", .source = "return tonumber(ARGV[1]) + 6"});
    struct lk_bytes one = LK_BYTES("1");
    struct lk_eval eval = {.script = script, .args = &one, .arg_count = 1};
    lk_reply *reply = NULL;

    assert_non_null(script);
    take(f->locks[0]);
    assert_int_equal(lk_guarded_eval(f->locks[0], &eval, 0, &reply, NULL), LK_OK);
    assert_int_equal(lks_integer_of(reply), 7);
    assert_int_equal(lk_lock_renew(f->locks[0], 60000, NULL), LK_OK);
    assert_in_range(LKS_INTEGER(server, "PTTL", f->keys.lock), 50000, 60000);
    assert_int_equal(lk_lock_force_release(f->locks[1], NULL), LK_OK);
    assert_int_equal(lk_guarded_eval(f->locks[0], &eval, 0, &reply, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_lock_release(f->locks[0], NULL), LK_NOT_OWNER);
    lk_script_free(script);
}

TEST(bad_use_gets_a_status, struct fixture *f)
{
    static const int64_t bad_windows_ms[] = {-1, 1, 99, (int64_t)INT32_MAX + 1, INT64_MIN};
    struct lk_error err = {0};
    lk_client *closed = lks_client(server);
    lk_lock *late = lkf_lock(closed, &f->keys, 100);

    assert_null(lk_fair_new(NULL, "key", NULL, &err));
    assert_int_equal(err.code, LK_INVALID);
    assert_null(lk_fair_new(f->clients[0], NULL, NULL, NULL));
    assert_null(lk_fair_new(f->clients[0], "", NULL, NULL));
    for (size_t i = 0; i < sizeof bad_windows_ms / sizeof bad_windows_ms[0]; i++) {
        struct lk_fair_options options = {.waiter_ms = bad_windows_ms[i]};

        err.code = LK_OK;
        assert_null(lk_fair_new(f->clients[0], "key", &options, &err));
        assert_int_equal(err.code, LK_INVALID);
    }
    lk_client_close(closed);
    assert_int_equal(lk_lock_acquire(late, &long_wait, NULL), LK_INVALID);
    lk_lock_free(late);
}
