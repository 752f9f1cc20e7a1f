/*
 * The reentrant lock on a real server: what lies on the wire, as Redisson writes and reads it, who
 * gets in, who is woken. Numbers are those of the checklist in redisson.md; a peer is a Redisson
 * client played with raw commands. Leases are in reentrant_lease_itest.c.
 */
#include <stdatomic.h>

#include "test/support/lk_support.h"

enum {
    POLL_MS = 10000,
    SOON_MS = 5000,
    CROWD = 10
}; /* what is soon was told, not found by the timer */

static const char peer[] = "8743c9c0-0795-4907-87fd-6c719a6b4586:57";
LKS_SERVER(lks_server_start(NULL));
LKS_PATIENT();

struct fixture {
    lk_client *client, *other_client; /* as two processes would have */
    lk_lock *mine, *sibling, *other;  /* sibling: of the same client */
    const char *key;
    char channel[128];
    atomic_uint round_trips; /* of other_client, its watchdog's looks included */
    atomic_uint tries;       /* of its acquires that are over */
};

LKS_NEW(lk_lock, new_lock, lk_reentrant_new);

static void count(const struct lk_event *event, void *fixture)
{
    struct fixture *f = fixture;

    if (event->type == LK_EVENT_ROUND_TRIP) atomic_fetch_add(&f->round_trips, 1);
    if (event->type == LK_EVENT_ACQUIRE) atomic_fetch_add(&f->tries, event->attempts);
}

SET_UP(struct fixture, f)
{
    f->key = lks_new_key(server, "reentrant");
    (void)snprintf(f->channel, sizeof f->channel, "redisson_lock__channel:{%s}", f->key);
    f->client = lks_client_with(server, (struct lk_client_options){.poll_ms = POLL_MS});
    f->other_client = lks_client_with(
        server, (struct lk_client_options){
                    .poll_ms = POLL_MS, .pool_size = CROWD, .on_event = count, .on_event_arg = f});
    f->mine = new_lock(f->client, f->key);
    f->sibling = new_lock(f->client, f->key);
    f->other = new_lock(f->other_client, f->key);
}

TEAR_DOWN(struct fixture, f)
{
    lk_lock_free(f->mine);
    lk_lock_free(f->sibling);
    lk_lock_free(f->other);
    lk_client_close(f->client);
    lk_client_close(f->other_client);
    LKS_DO(server, "DEL", f->key);
}

static void let_peer_hold(struct fixture *f, const char *lease_ms)
{
    LKS_DO(server, "HSET", f->key, peer, "1");
    if (lease_ms) LKS_DO(server, "PEXPIRE", f->key, lease_ms);
}

static long long count_of(struct fixture *f, const lk_lock *lock)
{
    return strtoll(LKS_TEXT(server, "HGET", f->key, lk_lock_token(lock)), NULL, 10);
}

static size_t messages(struct lks_monitor *monitor)
{
    return lks_count(lks_monitor_text(monitor, server), "\"PUBLISH\"");
}

/* ---- an acquire on its own thread -------------------------------------------------------------------- */

static void await_subscription(struct fixture *f)
{
    LKS_EVENTUALLY(lks_subscribers(server, f->channel) == 1, 5000);
}

/* Started, subscribed, and with time to look once more and fall asleep. */
static void start_wait(struct lks_wait *wait, struct fixture *f, lk_lock *lock)
{
    lks_wait_start(wait, lock, 60000);
    await_subscription(f);
    lks_nap(10);
}

static double finish_wait(struct lks_wait *wait)
{
    assert_int_equal(lks_wait_end(wait), LK_OK);
    return wait->ended_at_ms;
}

/* ---- the wire ----------------------------------------------------------------------------------------- */

/* 1 */
TEST(a_held_lock_is_a_hash_of_its_owner_with_a_ttl, struct fixture *f)
{
    const char *colon = NULL;
    char uuid[40] = "";

    assert_int_equal(lks_acquire(f->mine, 0, 30000), LK_OK);
    assert_string_equal(LKS_TEXT(server, "TYPE", f->key), "hash");
    assert_int_equal(LKS_INTEGER(server, "HLEN", f->key), 1);
    assert_string_equal(LKS_TEXT(server, "HGET", f->key, lk_lock_token(f->mine)), "1");
    assert_in_range(LKS_INTEGER(server, "PTTL", f->key), 20001, 30000);
    (void)snprintf(uuid, sizeof uuid, "%.36s", lk_lock_token(f->mine));
    assert_int_equal(strspn(uuid, "0123456789abcdef-"), 36);
    colon = lk_lock_token(f->mine) + 36;
    assert_int_equal(*colon, ':');
    assert_true(strtoul(colon + 1, NULL, 10) > 0);
    assert_int_equal(lks_acquire(f->sibling, 0, 0), LK_BUSY);
    assert_int_equal(lks_acquire(f->other, 0, 0), LK_BUSY);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
    assert_int_equal(lks_acquire(f->sibling, 0, 0), LK_OK);

    assert_memory_equal(lk_lock_token(f->sibling), uuid, 36);                   /* one client, */
    assert_string_not_equal(lk_lock_token(f->sibling), lk_lock_token(f->mine)); /* many owners */
    assert_int_equal(lk_lock_release(f->sibling, NULL), LK_OK);
}

/* 3, 6 */
TEST(only_the_last_release_frees_it_and_tells_it_once, struct fixture *f)
{
    struct lks_monitor *monitor = lks_monitor_open(server);
    char message[192];

    for (long long i = 1; i <= 3; i++) {
        assert_int_equal(lks_acquire(f->mine, 0, 30000), LK_OK);
        assert_int_equal(count_of(f, f->mine), i);
        assert_int_equal(lk_lock_hold_count(f->mine), i);
    }
    for (long long left = 2; left > 0; left--) {
        LKS_DO(server, "PEXPIRE", f->key, "20000");
        assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
        assert_int_equal(count_of(f, f->mine), left);
        assert_in_range(LKS_INTEGER(server, "PTTL", f->key), 20001, 30000);
        assert_int_equal(lks_acquire(f->other, 0, 0), LK_BUSY);
    }
    assert_int_equal(messages(monitor), 0);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);

    assert_int_equal(LKS_INTEGER(server, "EXISTS", f->key), 0);
    assert_int_equal(messages(monitor), 1);
    (void)snprintf(message, sizeof message, "\"PUBLISH\" \"%s\" \"0\"", f->channel);
    assert_int_equal(lks_count(lks_monitor_text(monitor, server), message), 1);
    lks_monitor_close(monitor);
}

/* 4 */
TEST(a_name_with_a_tag_of_its_own_keeps_it, struct fixture *f)
{
    char key[96];
    struct lks_wait wait;

    (void)snprintf(key, sizeof key, "%s:app:{t}:k", f->key);
    (void)snprintf(f->channel, sizeof f->channel, "redisson_lock__channel:%s", key);
    lk_lock *holder = new_lock(f->client, key);
    lk_lock *waiter = new_lock(f->other_client, key);
    assert_int_equal(lks_acquire(holder, 0, 0), LK_OK);
    start_wait(&wait, f, waiter); /* it is subscribed to that channel */
    double released_at_ms = lks_now_ms();
    assert_int_equal(lk_lock_release(holder, NULL), LK_OK);
    assert_true(finish_wait(&wait) - released_at_ms < SOON_MS); /* and told there */

    assert_int_equal(lk_lock_release(waiter, NULL), LK_OK);
    lk_lock_free(holder);
    lk_lock_free(waiter);
}

/* 7 */
TEST(a_release_by_who_is_not_the_owner_changes_nothing, struct fixture *f)
{
    struct lks_monitor *monitor = NULL;

    for (int i = 0; i < 2; i++) { /* somebody else's, and nobody's */
        assert_int_equal(lks_acquire(f->mine, 0, 0), LK_OK);
        LKS_DO(server, "DEL", f->key);
        if (i == 0) let_peer_hold(f, "30000");
        monitor = lks_monitor_open(server);
        assert_int_equal(lk_lock_release(f->sibling, NULL), LK_OK); /* it has nothing to release */
        assert_int_equal(lk_lock_release(f->mine, NULL), LK_NOT_OWNER);
        assert_int_equal(messages(monitor), 0);
        lks_monitor_close(monitor);
        assert_int_equal(LKS_INTEGER(server, "EXISTS", f->key), i == 0);
        if (i == 0) assert_string_equal(LKS_TEXT(server, "HGET", f->key, peer), "1");
        LKS_DO(server, "DEL", f->key);
    }
}

/* 8 */
TEST(breaking_it_wakes_the_waiters_and_stops_the_holder, struct fixture *f)
{
    struct lk_lock_options options = {.lease_ms = 3000, .is_renewed = true};
    struct lks_wait wait;

    assert_int_equal(lk_lock_force_release(f->sibling, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_lock_acquire(f->mine, &options, NULL), LK_OK);
    start_wait(&wait, f, f->other);
    double broken_at_ms = lks_now_ms();
    assert_int_equal(lk_lock_force_release(f->sibling, NULL), LK_OK);
    assert_true(finish_wait(&wait) - broken_at_ms < SOON_MS);
    LKS_EVENTUALLY(!lk_held(f->mine), 10000);

    assert_int_equal(lk_lock_release(f->mine, NULL), LK_NOT_OWNER);
    assert_true(lk_held(f->other));
    assert_int_equal(lk_lock_release(f->other, NULL), LK_OK);
}

TEST(the_other_kinds_of_the_family_exclude_each_other, struct fixture *f)
{
    lk_lock *family[] = {
        lk_reentrant_new(f->client, f->key, NULL), lk_non_reentrant_new(f->client, f->key, NULL),
        lk_spin_new(f->other_client, f->key, NULL), lk_fenced_new(f->other_client, f->key, NULL)};

    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(lks_acquire(family[i], 0, 0), LK_OK);
        for (size_t k = 0; k < 4; k++) {
            if (k != i) assert_int_equal(lks_acquire(family[k], 0, 0), LK_BUSY);
        }
        assert_int_equal(lk_lock_release(family[i], NULL), LK_OK);
    }
    for (size_t i = 0; i < 4; i++)
        lk_lock_free(family[i]);
}

TEST(the_variant_that_is_not_reentrant_refuses_its_holder, struct fixture *f)
{
    lk_lock *lock = lk_non_reentrant_new(f->client, f->key, NULL);

    assert_int_equal(lks_acquire(lock, 0, 0), LK_OK);
    assert_int_equal(lks_acquire(lock, 1000, 0), LK_INVALID);
    assert_int_equal(count_of(f, lock), 1);
    assert_int_equal(lk_lock_hold_count(lock), 1);
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);

    assert_int_equal(LKS_INTEGER(server, "EXISTS", f->key), 0);
    lk_lock_free(lock);
}

TEST(a_guarded_script_runs_for_the_owner_alone, struct fixture *f)
{
    struct lk_bytes data = lk_bytes_of(lks_key(server, "guarded"));
    lk_script *script = lk_script_new(
        &(struct lk_script_source){.name = "add", .source = "return redis.call('INCR', KEYS[1])"});
    struct lk_eval eval = {.script = script, .keys = &data, .key_count = 1};
    lk_reply *reply = NULL;

    assert_int_equal(lks_acquire(f->mine, 0, 0), LK_OK);
    assert_int_equal(lks_acquire(f->mine, 0, 0), LK_OK);
    assert_int_equal(lk_guarded_eval(f->mine, &eval, 0, &reply, NULL), LK_OK);
    assert_int_equal(lks_integer_of(reply), 1);
    LKS_DO(server, "DEL", f->key);
    let_peer_hold(f, "30000");
    reply = NULL;
    assert_int_equal(lk_guarded_eval(f->mine, &eval, 0, &reply, NULL), LK_NOT_OWNER);

    assert_null(reply);
    assert_string_equal(LKS_TEXT(server, "GET", data.data), "1");
    (void)lk_lock_release(f->mine, NULL);
    (void)lk_lock_release(f->mine, NULL);
    lk_script_free(script);
}

/* ---- waiting -------------------------------------------------------------------------------------------- */

/* 13 */
TEST(a_key_without_ttl_is_asked_for_and_not_slept_by, struct fixture *f)
{
    lk_client *client = lks_client_with(server, (struct lk_client_options){.poll_ms = 100});
    lk_lock *lock = new_lock(client, f->key);
    struct lks_wait wait;

    let_peer_hold(f, NULL);
    start_wait(&wait, f, lock);
    lks_nap(150);
    assert_false(atomic_load(&wait.has_ended));
    LKS_DO(server, "DEL", f->key); /* and nothing is published */

    (void)finish_wait(&wait);
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    lk_lock_free(lock);
    lk_client_close(client);
}

static size_t count_ended(struct lks_wait *waits)
{
    size_t count = 0;

    for (size_t i = 0; i < CROWD; i++)
        count += atomic_load(&waits[i].has_ended);
    return count;
}

static void await_ended(struct lks_wait *waits, size_t count)
{
    LKS_EVENTUALLY(count_ended(waits) == count, 5000);
}

static void await_round_trips(struct fixture *f, unsigned count)
{
    LKS_EVENTUALLY(atomic_load(&f->round_trips) >= count, 5000);
}

/* 14 */
TEST(of_a_crowd_one_is_woken_and_no_other_asks, struct fixture *f)
{
    struct lks_wait waits[CROWD];

    let_peer_hold(f, "60000");
    for (size_t i = 0; i < CROWD; i++) {
        start_wait(&waits[i], f, new_lock(f->other_client, f->key));
        await_round_trips(f, 2 * (unsigned)(i + 1)); /* it sleeps */
    }
    for (size_t gone = 0; gone < CROWD; gone++) {
        unsigned before = atomic_load(&f->tries);
        LKS_DO(server, "DEL", f->key);
        LKS_DO(server, "PUBLISH", f->channel, "0");
        await_ended(waits, gone + 1);
        lks_nap(20);
        assert_int_equal(count_ended(waits), gone + 1);
        assert_int_equal(atomic_load(&f->tries) - before, 3); /* at once, subscribed, and woken */
    }
    for (size_t i = 0; i < CROWD; i++) {
        (void)finish_wait(&waits[i]);
        (void)lk_lock_release(waits[i].lock, NULL);
        lk_lock_free(waits[i].lock);
    }
}

static void await_subscription_or_end(struct fixture *f, struct lks_wait *wait)
{
    LKS_EVENTUALLY(atomic_load(&wait->has_ended) || lks_subscribers(server, f->channel) == 1, 5000);
}

/* 15 */
TEST(a_wake_up_at_the_deadline_goes_to_the_next, struct fixture *f)
{
    lk_lock *hasty = new_lock(f->other_client, f->key);
    struct lks_wait wait;

    for (int i = 0; i < 20; i++) {
        struct lks_wait early;

        let_peer_hold(f, "60000");
        lks_wait_start(&early, hasty, 20);
        await_subscription_or_end(f, &early);
        start_wait(&wait, f, f->other); /* second in the queue; takes 10 ms */
        lks_nap(i % 10);
        LKS_DO(server, "DEL", f->key);
        double released_at_ms = lks_now_ms();
        LKS_DO(server, "PUBLISH", f->channel, "0");
        (void)lks_wait_end(&early);
        if (early.status == LK_OK) assert_int_equal(lk_lock_release(hasty, NULL), LK_OK);
        assert_true(finish_wait(&wait) - released_at_ms < SOON_MS);
        assert_int_equal(lk_lock_release(f->other, NULL), LK_OK);
    }
    lk_lock_free(hasty);
}
