/*
 * Leases of the reentrant lock on a real server: renewed ones, nested ones, those that end, and
 * what becomes of them when the server stands still or the key is taken away. Numbers are those of
 * the checklist in redisson.md, spans are shortened.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/lk_support.h"

enum { LEASE_MS = 3000, PERIOD_MS = LEASE_MS / 3, LONG_MS = 30000, MANY = 1000 };
enum { RACERS = 4, RACES = 100 };

LKS_SERVER(lks_server_start(NULL));
LKS_PATIENT();

struct fixture {
    lk_client *client, *other_client; /* as two processes would have */
    lk_lock *mine, *other;
    const char *key;
    atomic_int losses;
    atomic_int renewals; /* of client that a server confirmed */
};

static void count_renewal(const struct lk_event *event, void *arg)
{
    struct fixture *f = arg;

    if (event->type == LK_EVENT_RENEW && event->status == LK_OK) atomic_fetch_add(&f->renewals, 1);
}

static lk_lock *new_lock(lk_client *client, const char *key)
{
    lk_lock *lock = lk_reentrant_new(client, key, NULL);

    assert_non_null(lock);
    return lock;
}

SET_UP(struct fixture, f)
{
    f->key = lks_new_key(server, "lease");
    f->client = lks_client_with(
        server, (struct lk_client_options){.on_event = count_renewal, .on_event_arg = f});
    f->other_client = lks_client(server);
    f->mine = new_lock(f->client, f->key);
    f->other = new_lock(f->other_client, f->key);
}

TEAR_DOWN(struct fixture, f)
{
    lks_server_resume(server);
    lk_lock_free(f->mine);
    lk_lock_free(f->other);
    lk_client_close(f->client);
    lk_client_close(f->other_client);
    LKS_DO(server, "DEL", f->key);
}

static void acquire_renewed(struct fixture *f, lk_lock *lock, int lease_ms)
{
    struct lk_lock_options options = {.wait_ms = 5000,
                                      .lease_ms = lease_ms,
                                      .is_renewed = true,
                                      .on_lost = lks_count_loss,
                                      .on_lost_arg = &f->losses};
    struct lk_error err = {0};

    if (lk_lock_acquire(lock, &options, &err) != LK_OK) fail_msg("%s", err.text);
}

static long long ttl(struct fixture *f)
{
    return LKS_INTEGER(server, "PTTL", f->key);
}

/* So many renewals later the key is still there. */
static void await_renewals(struct fixture *f, int count)
{
    int until = atomic_load(&f->renewals) + count;

    LKS_EVENTUALLY(atomic_load(&f->renewals) >= until, 20000);
    assert_true(ttl(f) > 0);
}

/* All that was renewed by the client when this began would have been again: how many scripts, each of which
   asks so first, were about the key of this test meanwhile. */
static size_t scripts_within_a_period(struct fixture *f)
{
    lk_lock *marker = new_lock(f->client, lks_new_key(server, "marker"));
    struct lks_monitor *monitor = lks_monitor_open(server);
    int before = atomic_load(&f->renewals);

    acquire_renewed(f, marker, LEASE_MS);
    LKS_EVENTUALLY(atomic_load(&f->renewals) > before, 20000);
    size_t scripts =
        lks_count(lks_monitor_text(monitor, server), lks_format("lua] \"HEXISTS\" \"%s", f->key));
    assert_int_equal(lk_lock_close(marker, NULL), LK_OK);
    lks_monitor_close(monitor);
    return scripts;
}

/* ---- the watchdog ---------------------------------------------------------------------------------------- */

/* 20: nothing touches the key after the release. */
TEST(it_is_renewed_in_time_and_never_after_its_release, struct fixture *f)
{
    acquire_renewed(f, f->mine, LEASE_MS);
    await_renewals(f, 1);
    assert_true(lk_held(f->mine));
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);

    assert_int_equal(scripts_within_a_period(f), 0);
    assert_int_equal(atomic_load(&f->losses), 0);
}

/* 21 */
TEST(a_killed_holder_holds_no_longer_than_its_lease, struct fixture *f)
{
    int ends[2];
    char byte = 0;

    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) { /* with a client of its own */
        lk_client *client = lk_client_open(&(struct lk_client_options){.url = server->url}, NULL);
        lk_lock *lock = client ? lk_reentrant_new(client, f->key, NULL) : NULL;
        struct lk_lock_options options = {.lease_ms = LEASE_MS, .is_renewed = true};

        if (lk_lock_acquire(lock, &options, NULL) != LK_OK) _exit(1);
        if (write(ends[1], &byte, 1) != 1) _exit(1);
        for (;;)
            (void)pause();
    }
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1); /* else it has failed */
    assert_true(lks_is_renewed(server, f->key));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);

    assert_true(ttl(f) <= LEASE_MS);
    LKS_DO(server, "PEXPIRE", f->key, "1");
    assert_int_equal(lks_acquire(f->mine, 20000, 0), LK_OK);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
    (void)close(ends[0]);
}

struct racer {
    struct fixture *f;
    char keys[2][128];
    pthread_t thread;
    int failures; /* read after the join */
};

/* Taken, and released or cut short at once. */
static void *racer_main(void *arg)
{
    struct racer *racer = arg;
    struct lk_lock_options options = {.wait_ms = 20000, .lease_ms = 30, .is_renewed = true};

    for (unsigned i = 0; i < RACES; i++) {
        lk_lock *lock = lk_reentrant_new(racer->f->client, racer->keys[i % 2], NULL);
        lk_status status = lk_lock_acquire(lock, &options, NULL);

        if (i % 3 == 0) lk_lock_cancel(lock);
        if (i % 5 == 0) lks_nap(1);
        if (status == LK_OK && i % 7) status = lk_lock_release(lock, NULL);
        /* On a busy machine a lease of 30 ms may end. */
        if (status != LK_OK && status != LK_NOT_OWNER && status != LK_LOST) racer->failures++;
        lk_lock_free(lock);
    }
    return NULL;
}

/* 22: an end that meets a beginning leaves nothing that is renewed for ever. */
TEST(nothing_is_renewed_when_all_is_over, struct fixture *f)
{
    struct racer racers[RACERS];

    for (size_t i = 0; i < RACERS; i++) {
        racers[i] = (struct racer){.f = f};
        (void)snprintf(racers[i].keys[0], sizeof racers[i].keys[0], "%s-%zu", f->key, i);
        (void)snprintf(racers[i].keys[1], sizeof racers[i].keys[1], "%s-shared", f->key);
        assert_int_equal(pthread_create(&racers[i].thread, NULL, racer_main, &racers[i]), 0);
    }
    for (size_t i = 0; i < RACERS; i++) {
        assert_int_equal(pthread_join(racers[i].thread, NULL), 0);
        assert_int_equal(racers[i].failures, 0);
    }
    for (size_t i = 0; i < RACERS; i++)
        LKS_EVENTUALLY(LKS_INTEGER(server, "EXISTS", racers[i].keys[0], racers[i].keys[1]) == 0,
                       5000);

    assert_int_equal(scripts_within_a_period(f), 0);
}

/* ---- nested leases ---------------------------------------------------------------------------------------- */

/* 23: Redisson loses the outer hold. */
TEST(a_short_hold_inside_a_renewed_one_does_not_end_it, struct fixture *f)
{
    acquire_renewed(f, f->mine, LEASE_MS);
    assert_int_equal(lks_acquire(f->mine, 0, PERIOD_MS * 3 / 2), LK_OK);
    await_renewals(f, 1);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
    await_renewals(f, 1); /* the short one would have ended by then */

    assert_true(lk_held(f->mine));
    assert_int_equal(atomic_load(&f->losses), 0);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
}

TEST(a_renewed_hold_inside_a_short_one_is_renewed_as_long_as_it_lasts, struct fixture *f)
{
    assert_int_equal(lks_acquire(f->mine, 0, LEASE_MS), LK_OK);
    acquire_renewed(f, f->mine, LEASE_MS);
    await_renewals(f, 1);
    double released_at_ms = lks_now_ms();
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
    LKS_EVENTUALLY(!lk_held(f->mine), 20000); /* the outer one goes on for a lease */

    assert_true(lks_now_ms() - released_at_ms > LEASE_MS / 2.0);
    LKS_EVENTUALLY(LKS_INTEGER(server, "EXISTS", f->key) == 0, 5000);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_NOT_OWNER);
}

/* 24 */
TEST(a_lease_that_ended_leaves_no_mark_on_the_next, struct fixture *f)
{
    assert_int_equal(lks_acquire(f->mine, 0, LONG_MS), LK_OK);
    LKS_DO(server, "PEXPIRE", f->key, "1");
    LKS_EVENTUALLY(LKS_INTEGER(server, "EXISTS", f->key) == 0, 5000);
    assert_int_equal(lks_acquire(f->mine, 0, 0), LK_LOST); /* it would be inside the lost one */
    assert_int_equal(LKS_INTEGER(server, "EXISTS", f->key), 0);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_NOT_OWNER);
    assert_int_equal(lks_acquire(f->mine, 0, 0), LK_OK);

    assert_in_range(ttl(f), LONG_MS - 10000, LONG_MS); /* the default, not what was left */
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
}

/* 30 */
TEST(a_lease_without_renewal_ends_when_it_said, struct fixture *f)
{
    double begin = lks_now_ms();

    assert_int_equal(lks_acquire(f->mine, 0, PERIOD_MS), LK_OK);
    assert_int_equal(lks_acquire(f->other, 20000, 0), LK_OK);

    assert_true(lks_now_ms() - begin >= PERIOD_MS - 1);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_NOT_OWNER);
    assert_true(lk_held(f->other));
    assert_in_range(ttl(f), LONG_MS - 10000, LONG_MS);
    assert_int_equal(lk_lock_release(f->other, NULL), LK_OK);
}

/* A server that keeps a lease shorter than we believe would let two in. */
TEST(a_renewal_by_hand_never_shortens, struct fixture *f)
{
    lk_lock *locks[] = {f->mine, lks_mutex(f->client, lks_key(server, "by-hand"))};

    for (size_t i = 0; i < 2; i++) {
        const char *key = i == 0 ? f->key : lks_key(server, "by-hand");

        assert_int_equal(lks_acquire(locks[i], 0, 30000), LK_OK);
        assert_int_equal(lk_lock_renew(locks[i], 100, NULL), LK_OK);
        assert_true(LKS_INTEGER(server, "PTTL", key) >= lk_lock_remaining_ms(locks[i]));
        assert_int_equal(lk_lock_renew(locks[i], 60000, NULL), LK_OK);
        assert_in_range(LKS_INTEGER(server, "PTTL", key), 50000, 60000);
        assert_int_equal(lk_lock_release(locks[i], NULL), LK_OK);
    }
    lk_lock_free(locks[1]);
}

/* ---- lost --------------------------------------------------------------------------------------------------- */

static void await_loss(struct fixture *f)
{
    LKS_EVENTUALLY(atomic_load(&f->losses) == 1, 20000);
}

/* 25 */
TEST(a_key_that_was_taken_away_is_told_of_once_and_left_alone, struct fixture *f)
{
    for (int i = 0; i < 2; i++) {
        atomic_store(&f->losses, 0);
        acquire_renewed(f, f->mine, LEASE_MS);
        acquire_renewed(f, f->mine, LEASE_MS); /* two deep */
        LKS_DO(server, "DEL", f->key);
        if (i == 1) assert_int_equal(lks_acquire(f->other, 0, LONG_MS), LK_OK);
        await_loss(f);
        assert_false(lk_held(f->mine));
        if (i == 1) assert_int_equal(scripts_within_a_period(f), 0);
        assert_int_equal(LKS_INTEGER(server, "EXISTS", f->key), i);
        assert_int_equal(lk_lock_release(f->mine, NULL), LK_NOT_OWNER);
        assert_int_equal(lk_lock_release(f->mine, NULL), LK_NOT_OWNER);
        assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK); /* nothing left */
        assert_int_equal(atomic_load(&f->losses), 1);
    }
    assert_int_equal(lk_lock_release(f->other, NULL), LK_OK);
}

/* 26: what is left of a lost hold does not stand in the way of the next one's renewal. */
TEST(a_sibling_is_renewed_from_its_first_period_on, struct fixture *f)
{
    lk_lock *sibling = new_lock(f->client, f->key);

    for (int i = 0; i < 3; i++)
        acquire_renewed(f, f->mine, LEASE_MS);
    LKS_DO(server, "DEL", f->key);
    acquire_renewed(f, sibling, LEASE_MS);
    await_renewals(f, 1);

    assert_true(lk_held(sibling));
    await_loss(f);
    assert_false(lk_held(f->mine));
    for (int i = 0; i < 3; i++)
        assert_int_equal(lk_lock_release(f->mine, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_lock_release(sibling, NULL), LK_OK);
    lk_lock_free(sibling);
}

/* 27 */
TEST(one_poisoned_key_costs_no_other_its_lease, struct fixture *f)
{
    enum { POISONED = 500 };
    lk_lock **locks = calloc(MANY, sizeof(lk_lock *));
    char key[160];

    assert_non_null(locks);
    for (size_t i = 0; i < MANY; i++) {
        (void)snprintf(key, sizeof key, "%s-%zu", f->key, i);
        locks[i] = new_lock(f->client, key);
        acquire_renewed(f, locks[i], LEASE_MS);
    }
    (void)snprintf(key, sizeof key, "%s-%d", f->key, POISONED);
    LKS_DO(server, "SET", key, "a string");
    await_loss(f);
    assert_false(lk_held(locks[POISONED]));
    LKS_EVENTUALLY(atomic_load(&f->renewals) >= 2 * (MANY - 1), 20000);

    assert_int_equal(atomic_load(&f->losses), 1);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(lk_held(locks[i]), i != POISONED);
        assert_int_equal(lk_lock_release(locks[i], NULL), i == POISONED ? LK_SERVER : LK_OK);
        lk_lock_free(locks[i]);
    }
    free((void *)locks);
}

/* 29 */
TEST(a_server_that_stands_still_costs_the_lock_only_when_it_is_for_too_long, struct fixture *f)
{
    acquire_renewed(f, f->mine, LEASE_MS);
    lks_server_pause(server);
    lks_nap(PERIOD_MS + 200); /* a renewal waits there */
    lks_server_resume(server);
    await_renewals(f, 1);
    assert_true(lk_held(f->mine));
    lks_server_pause(server);
    await_loss(f); /* told by the clock here */
    assert_false(lk_held(f->mine));
    lks_server_resume(server);
    LKS_EVENTUALLY(lks_acquire(f->other, 0, LONG_MS) == LK_OK, 10000);

    assert_int_equal(lk_lock_release(f->mine, NULL), LK_NOT_OWNER);
    assert_true(lk_held(f->other));
    assert_int_equal(lk_lock_release(f->other, NULL), LK_OK);
}
