/*
 * Waiting on a real server, for whatever can be waited for: who is woken, how fast, and what ends a wait.
 * The fallback timer is ten seconds here, so whatever comes sooner came by a message, a TTL or a break.
 * [59] and [62] of the checklist of cases for clients that share keys with Redisson.
 */
#include "test/support/lk_support.h"

enum { POLL_MS = 10000, SOON_MS = POLL_MS / 2, CROWD = 8, TURNS = 10 };
enum { KILLS = 12, THOUSAND = 1000 };

LKS_SERVER(lks_server_start(NULL));

/* ---- the kinds --------------------------------------------------------------------------------- */

struct fixture {
    const struct kind *kind;
    lk_client *clients[2]; /* as two processes would have */
    void *mine, *other;    /* who waits, and who shuts and opens */
    const char *key;
    char channel[160];
    struct lk_permit permit; /* of other */
};

struct kind {
    const char *name, *channel; /* without its key */
    void *(*make)(lk_client *client, const char *key, struct lk_error *err);
    void (*free)(void *handle);
    lk_status (*wait)(struct lks_wait *wait); /* for `what`, `count` ms */
    lk_status (*leave)(struct lks_wait *wait);
    void (*cancel)(void *handle);
    lk_status (*shut)(struct fixture *f);
    lk_status (*open)(struct fixture *f); /* one gets through, or all by a latch */
    const char *peer_shuts, *peer_opens;  /* scripts: what a peer does... */
    const char *message;                  /* ... and tells; NULL: it does not */
};

#define HANDLE(type, prefix)                                                                       \
    static void free_##type(void *handle)                                                          \
    {                                                                                              \
        prefix##_free(handle);                                                                     \
    }                                                                                              \
    static void cancel_##type(void *handle)                                                        \
    {                                                                                              \
        prefix##_cancel(handle);                                                                   \
    }

HANDLE(mutex, lk_lock)
HANDLE(semaphore, lk_semaphore)
HANDLE(permits, lk_permits)
HANDLE(latch, lk_latch)

static void *make_mutex(lk_client *client, const char *key, struct lk_error *err)
{
    return lk_mutex_new(client, key, err);
}

static lk_status wait_mutex(struct lks_wait *wait)
{
    return lks_acquire(wait->what, wait->count, 0);
}

static lk_status leave_mutex(struct lks_wait *wait)
{
    return lk_lock_release(wait->what, NULL);
}

static lk_status shut_mutex(struct fixture *f)
{
    return lks_acquire(f->other, 0, 0);
}

static lk_status open_mutex(struct fixture *f)
{
    return lk_lock_release(f->other, NULL);
}

static void *make_semaphore(lk_client *client, const char *key, struct lk_error *err)
{
    return lk_semaphore_new(client, key, err);
}

static lk_status wait_semaphore(struct lks_wait *wait)
{
    return lk_semaphore_acquire(wait->what, 1, wait->count, NULL);
}

static lk_status leave_semaphore(struct lks_wait *wait)
{
    return lk_semaphore_release(wait->what, 1, NULL);
}

static lk_status shut_semaphore(struct fixture *f)
{
    lk_status status = lk_semaphore_try_set(f->other, 1, NULL); /* set once */

    return status == LK_OK || status == LK_BUSY ? lk_semaphore_acquire(f->other, 1, 0, NULL)
                                                : status;
}

static lk_status open_semaphore(struct fixture *f)
{
    return lk_semaphore_release(f->other, 1, NULL);
}

static void *make_permits(lk_client *client, const char *key, struct lk_error *err)
{
    return lk_permits_new(client, key, err);
}

static lk_status wait_permits(struct lks_wait *wait)
{
    struct lk_permit_options options = {.wait_ms = wait->count};

    return lk_permits_acquire(wait->what, &options, wait->list, 1, NULL);
}

static lk_status leave_permits(struct lks_wait *wait)
{
    return lk_permits_release(wait->what, wait->list, 1, NULL);
}

static lk_status shut_permits(struct fixture *f)
{
    lk_status status = lk_permits_set(f->other, 1, NULL);

    return status == LK_OK ? lk_permits_acquire(f->other, NULL, &f->permit, 1, NULL) : status;
}

static lk_status open_permits(struct fixture *f)
{
    return lk_permits_release(f->other, &f->permit, 1, NULL);
}

static void *make_latch(lk_client *client, const char *key, struct lk_error *err)
{
    return lk_latch_new(client, key, err);
}

static lk_status wait_latch(struct lks_wait *wait)
{
    return lk_latch_await(wait->what, wait->count, NULL);
}

static lk_status leave_latch(struct lks_wait *wait)
{
    return LK_OK;
}

static lk_status shut_latch(struct fixture *f)
{
    return lk_latch_try_set(f->other, 1, NULL);
}

static lk_status open_latch(struct fixture *f)
{
    return lk_latch_count_down(f->other, NULL);
}

#define KIND(type, channel)                                                                        \
#type, channel, make_##type, free_##type, wait_##type, leave_##type, cancel_##type,            \
        shut_##type, open_##type

static const struct kind kinds[] = {
    {KIND(mutex, "lockkit_wake:"), "redis.call('SET', KEYS[1], 'for ever')",
     "redis.call('DEL', KEYS[1])", NULL},
    {KIND(semaphore, "redisson_sc:"), "", "redis.call('INCRBY', KEYS[1], 1)", "1"},
    {KIND(permits, "redisson_sc:"),
     "redis.call('SET', KEYS[1], 0)"
     "redis.call('ZADD', '{' .. KEYS[1] .. '}:timeout', 922337203685477, '0123456789abcdef')",
     "redis.call('ZREM', '{' .. KEYS[1] .. '}:timeout', '0123456789abcdef')"
     "redis.call('INCRBY', KEYS[1], 1)",
     "1"},
    {KIND(latch, "redisson_countdownlatch__channel__"), "redis.call('SET', KEYS[1], 1)",
     "redis.call('DEL', KEYS[1])", "0"},
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void begin(struct fixture *f, size_t kind, int64_t poll_ms)
{
    *f = (struct fixture){.kind = &kinds[kind], .key = lks_new_key(server, kinds[kind].name)};
    print_message("# %s\n", f->kind->name);
    (void)snprintf(f->channel, sizeof f->channel, "%s{%s}", f->kind->channel, f->key);
    for (size_t i = 0; i < 2; i++)
        f->clients[i] = lks_client_with(
            server, (struct lk_client_options){.poll_ms = poll_ms, .command_ms = 20000});
    f->mine = f->kind->make(f->clients[0], f->key, NULL);
    f->other = f->kind->make(f->clients[1], f->key, NULL);
    assert_true(f->mine && f->other);
}

static void end(struct fixture *f)
{
    f->kind->free(f->mine);
    f->kind->free(f->other);
    for (size_t i = 0; i < 2; i++)
        lk_client_close(f->clients[i]);
    LKS_DO(server, "DEL", f->key);
}

static void start_wait(struct lks_wait *wait, struct fixture *f, void *handle, int64_t wait_ms)
{
    *wait = (struct lks_wait){.run = f->kind->wait, .what = handle, .count = wait_ms};
    lks_wait_begin(wait);
}

/* The waiter is subscribed and has had time to look once more and fall asleep. */
static void let_it_sleep(struct fixture *f)
{
    LKS_EVENTUALLY(lks_subscribers(server, f->channel) == 1, 5000);
    lks_nap(20);
}

/* ---- each of them ------------------------------------------------------------------------------- */

#define EACH_KIND(name)                                                                            \
    static void name##_by(struct fixture *f);                                                      \
    TEST(name)                                                                                     \
    {                                                                                              \
        for (size_t kind = 0; kind < KINDS; kind++) {                                              \
            struct fixture f;                                                                      \
                                                                                                   \
            begin(&f, kind, POLL_MS);                                                              \
            name##_by(&f);                                                                         \
            end(&f);                                                                               \
        }                                                                                          \
    }                                                                                              \
    static void name##_by(struct fixture *f)

EACH_KIND(after_a_break_it_is_subscribed_again_and_woken)
{
    struct lks_wait wait;

    assert_int_equal(f->kind->shut(f), LK_OK);
    start_wait(&wait, f, f->mine, 60000);
    let_it_sleep(f);
    assert_int_equal(LKS_INTEGER(server, "CLIENT", "KILL", "TYPE", "pubsub"), 1);
    let_it_sleep(f);
    double opened_at_ms = lks_now_ms();
    assert_int_equal(f->kind->open(f), LK_OK);
    lks_wait_is_woken(&wait, opened_at_ms);
}

EACH_KIND(an_opening_during_a_break_is_not_slept_through)
{
    for (int i = 0; i < KILLS; i++) {
        struct lks_wait wait;

        assert_int_equal(f->kind->shut(f), LK_OK);
        start_wait(&wait, f, f->mine, 60000);
        let_it_sleep(f);
        assert_int_equal(LKS_INTEGER(server, "CLIENT", "KILL", "TYPE", "pubsub"), 1);
        if (i % 4) lks_nap(i % 4); /* before, while and after it subscribes again */
        double opened_at_ms = lks_now_ms();
        assert_int_equal(f->kind->open(f), LK_OK);
        lks_wait_is_woken(&wait, opened_at_ms);
        assert_int_equal(f->kind->leave(&wait), LK_OK);
    }
}

static void let_a_peer_open(size_t kind, bool tells)
{
    enum { TIMER_MS = 100 };
    struct fixture f;
    struct lks_wait wait;

    begin(&f, kind, tells ? POLL_MS : TIMER_MS);
    LKS_DO(server, "EVAL", f.kind->peer_shuts, "1", f.key);
    start_wait(&wait, &f, f.mine, 60000);
    let_it_sleep(&f);
    double opened_at_ms = lks_now_ms();
    LKS_DO(server, "EVAL", f.kind->peer_opens, "1", f.key);
    if (tells) LKS_DO(server, "PUBLISH", f.channel, f.kind->message);
    lks_wait_is_woken(&wait, opened_at_ms);
    end(&f);
}

TEST(a_peer_that_opens_and_publishes_wakes_a_waiter)
{
    for (size_t kind = 0; kind < KINDS; kind++)
        if (kinds[kind].message) let_a_peer_open(kind, true);
}

TEST(a_message_that_never_comes_is_made_up_for)
{
    for (size_t kind = 0; kind < KINDS; kind++)
        let_a_peer_open(kind, false);
}

EACH_KIND(the_wait_lasts_as_long_as_it_was_told)
{
    static const int64_t spans_ms[] = {1, 50, 300};

    assert_int_equal(f->kind->shut(f), LK_OK);
    for (size_t i = 0; i < sizeof spans_ms / sizeof spans_ms[0]; i++) {
        struct lks_wait wait = {.what = f->mine, .count = spans_ms[i]};
        double begin_ms = lks_now_ms();

        assert_int_equal(f->kind->wait(&wait), LK_BUSY);
        double took_ms = lks_now_ms() - begin_ms;
        assert_true(took_ms >= (double)spans_ms[i]);
        assert_true(took_ms < (double)spans_ms[i] + SOON_MS);
    }
    assert_int_equal(f->kind->open(f), LK_OK);
}

static void cancel_a_thousand(struct fixture *f, struct lks_wait *waits)
{
    assert_int_equal(f->kind->shut(f), LK_OK);
    for (size_t i = 0; i < THOUSAND; i++)
        start_wait(&waits[i], f, f->kind->make(f->clients[0], f->key, NULL), 60000);
    for (size_t i = 0; i < THOUSAND; i++)
        f->kind->cancel(waits[i].what); /* of some, before they wait */
    for (size_t i = 0; i < THOUSAND; i++) {
        assert_int_equal(lks_wait_end(&waits[i]), LK_CANCELLED);
        f->kind->free(waits[i].what);
    }
    LKS_EVENTUALLY(lks_subscribers(server, f->channel) == 0, 5000);
}

EACH_KIND(a_thousand_waiters_are_cancelled_at_once_and_leave_nothing)
{
    static struct lks_wait waits[THOUSAND];
    struct lks_wait mine = {.what = f->mine}, other = {.what = f->other};

    if (f->kind == kinds) return; /* for locks there is cancel_itest.c */
    cancel_a_thousand(f, waits);
    assert_int_equal(f->kind->wait(&mine), LK_BUSY);
    assert_int_equal(f->kind->open(f), LK_OK);
    f->kind->cancel(f->mine); /* no wait, no effect */
    assert_int_equal(f->kind->wait(&mine), LK_OK);
    assert_int_equal(f->kind->wait(&other), f->kind->leave == leave_latch ? LK_OK : LK_BUSY);
    assert_int_equal(f->kind->leave(&mine), LK_OK);
}

/* ---- a mutex ------------------------------------------------------------------------------------- */

SET_UP(struct fixture, f)
{
    begin(f, 0, POLL_MS);
}

TEAR_DOWN(struct fixture, f)
{
    end(f);
}

static void hold(struct fixture *f)
{
    assert_int_equal(lk_lock_acquire(f->other, NULL, NULL), LK_OK);
}

/* ---- being woken ------------------------------------------------------------------------------------- */

TEST(a_crowd_in_one_process_takes_turns, struct fixture *f)
{
    struct lks_wait waits[CROWD];
    double begin = lks_now_ms();

    for (int turn = 0; turn < TURNS; turn++) {
        size_t left = CROWD;

        hold(f);
        for (size_t i = 0; i < CROWD; i++)
            lks_wait_start(&waits[i], lks_mutex(f->clients[0], f->key), 60000);
        assert_int_equal(lk_lock_release(f->other, NULL), LK_OK);
        while (left > 0) { /* whoever has it gives it on */
            for (size_t i = 0; i < CROWD; i++) {
                if (!waits[i].lock || !lk_held(waits[i].lock)) continue;
                assert_int_equal(lks_wait_end(&waits[i]), LK_OK);
                assert_int_equal(lk_lock_release(waits[i].lock, NULL), LK_OK);
                lk_lock_free(waits[i].lock);
                waits[i].lock = NULL;
                left--;
            }
        }
    }

    assert_true(lks_now_ms() - begin < POLL_MS); /* nobody has slept until its timer */
}

TEST(waiters_of_many_locks_share_one_subscriber, struct fixture *f)
{
    lk_lock *holders[CROWD];
    struct lks_wait waits[CROWD];
    char name[32];

    for (size_t i = 0; i < CROWD; i++) {
        (void)snprintf(name, sizeof name, "shared-%zu", i);
        holders[i] = lks_mutex(f->clients[1], lks_key(server, name));
        assert_int_equal(lk_lock_acquire(holders[i], NULL, NULL), LK_OK);
        lks_wait_start(&waits[i], lks_mutex(f->clients[0], lks_key(server, name)), 60000);
    }
    LKS_EVENTUALLY(lks_info(server, "stats", "pubsub_channels") >= CROWD, 5000);
    const char *pubsub = LKS_TEXT(server, "CLIENT", "LIST", "TYPE", "pubsub");
    assert_int_equal(lks_count(pubsub, "\n"), 1);
    for (size_t i = CROWD; i-- > 0;) {
        assert_int_equal(lk_lock_release(holders[i], NULL), LK_OK);
        assert_int_equal(lks_wait_end(&waits[i]), LK_OK);
        assert_int_equal(lk_lock_release(waits[i].lock, NULL), LK_OK);
        lk_lock_free(waits[i].lock);
        lk_lock_free(holders[i]);
    }
}

/* ---- no message --------------------------------------------------------------------------------------- */

TEST(a_holder_that_never_publishes_is_waited_for_no_longer_than_its_ttl, struct fixture *f)
{
    struct lks_wait wait;
    double set_at_ms = lks_now_ms();

    LKS_DO(server, "SET", f->key, "b2f1c9e0d7a411ee9d2f0242ac120002", "PX", "300");
    lks_wait_start(&wait, f->mine, 60000);
    (void)lks_wait_end(&wait);
    double took_ms = wait.ended_at_ms - set_at_ms;

    assert_int_equal(wait.status, LK_OK);
    assert_true(took_ms > 290);
    assert_true(took_ms < SOON_MS); /* not by its timer */
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
}

/* ---- the waiter gives up -------------------------------------------------------------------------------- */

/* One waiter gives up about when the lock is released, the other is there to stay. */
static void release_between_two(struct fixture *f, lk_lock *lock, int64_t released_after_ms)
{
    struct lks_wait hasty, patient;

    hold(f);
    lks_wait_start(&hasty, lock, 20); /* first in the queue */
    LKS_EVENTUALLY(lks_subscribers(server, f->channel) == 1 || atomic_load(&hasty.has_ended), 5000);
    lks_wait_start(&patient, f->mine, 60000);
    lks_nap(released_after_ms);
    double released_at_ms = lks_now_ms();
    assert_int_equal(lk_lock_release(f->other, NULL), LK_OK);
    (void)lks_wait_end(&hasty);
    if (hasty.status == LK_OK) assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    assert_int_equal(lks_wait_end(&patient), LK_OK);
    assert_true(patient.ended_at_ms - released_at_ms < SOON_MS);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
}

TEST(who_gives_up_leaves_the_release_to_the_next, struct fixture *f)
{
    lk_lock *lock = lks_mutex(f->clients[0], f->key);

    for (int i = 0; i < 20; i++)
        release_between_two(f, lock, 8 + i % 8);
    lk_lock_free(lock);
}
