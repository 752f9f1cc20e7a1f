/*
 * Waiting for permits on a real server: who is woken, what ends a wait, and a peer that does as
 * Redisson does. The fallback timer is ten seconds here, so whatever comes sooner came by a message
 * or a break. Numbers in brackets are those of the checklist of cases for clients that share keys
 * with Redisson.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "test/support/lk_support.h"

enum { POLL_MS = 10000, SOON_MS = 2500, CROWD = 1000, ROUNDS = 1000, KILLS = 10 };

LKS_SERVER(lks_server_start(NULL));

struct fixture {
    lk_client *client, *other_client; /* as two processes would have */
    lk_semaphore *mine, *other;
    const char *key;
    char channel[160];
};

static lk_semaphore *new_semaphore(lk_client *client, const char *key)
{
    struct lk_error err = {0};
    lk_semaphore *semaphore = lk_semaphore_new(client, key, &err);

    if (!semaphore) fail_msg("%s", err.text);
    return semaphore;
}

SET_UP(struct fixture, f)
{
    struct lk_client_options options = {.poll_ms = POLL_MS};

    f->key = lks_new_key(server, "semaphore");
    (void)snprintf(f->channel, sizeof f->channel, "redisson_sc:{%s}", f->key);
    f->client = lks_client_with(server, options);
    f->other_client = lks_client_with(server, options);
    f->mine = new_semaphore(f->client, f->key);
    f->other = new_semaphore(f->other_client, f->key);
}

TEAR_DOWN(struct fixture, f)
{
    lk_semaphore_free(f->mine);
    lk_semaphore_free(f->other);
    lk_client_close(f->client);
    lk_client_close(f->other_client);
    LKS_DO(server, "DEL", f->key);
}

static void set(struct fixture *f, int64_t permits)
{
    assert_int_equal(lk_semaphore_try_set(f->mine, permits, NULL), LK_OK);
}

static void take(lk_semaphore *semaphore, int64_t permits)
{
    assert_int_equal(lk_semaphore_acquire(semaphore, permits, 0, NULL), LK_OK);
}

static void give(lk_semaphore *semaphore, int64_t permits)
{
    assert_int_equal(lk_semaphore_release(semaphore, permits, NULL), LK_OK);
}

static void assert_free(struct fixture *f, int64_t permits)
{
    int64_t available = -4711;

    assert_int_equal(lk_semaphore_available(f->other, &available, NULL), LK_OK);
    assert_int_equal(available, permits);
}

/* ---- waiting --------------------------------------------------------------------------------- */

struct wait {
    lk_semaphore *semaphore;
    int64_t permits, wait_ms;
    pthread_t thread;
    lk_status status; /* below: written by the thread, read after the join */
    atomic_bool is_begun, is_over;
    double began_at_ms, ended_at_ms;
};

static void *acquire_main(void *arg)
{
    struct wait *wait = arg;

    atomic_store(&wait->is_begun, true);
    wait->began_at_ms = lks_now_ms();
    wait->status = lk_semaphore_acquire(wait->semaphore, wait->permits, wait->wait_ms, NULL);
    wait->ended_at_ms = lks_now_ms();
    atomic_store(&wait->is_over, true);
    return NULL;
}

static void start_wait(struct wait *wait, lk_semaphore *semaphore, int64_t permits, int64_t wait_ms)
{
    *wait = (struct wait){.semaphore = semaphore, .permits = permits, .wait_ms = wait_ms};
    assert_int_equal(pthread_create(&wait->thread, NULL, acquire_main, wait), 0);
}

static void finish_wait(struct wait *wait)
{
    assert_int_equal(pthread_join(wait->thread, NULL), 0);
}

static long long subscribers(const char *channel)
{
    lk_reply *reply = LKS_ASK(server, "PUBSUB", "NUMSUB", channel);
    long long count = lk_reply_integer(lk_reply_at(reply, 1), -1);

    lk_reply_free(reply);
    return count;
}

/* The waiter is subscribed and has had time to look once more and fall asleep. */
static void let_it_sleep(struct fixture *f)
{
    LKS_EVENTUALLY(subscribers(f->channel) == 1, 5000);
    lks_nap(20);
}

static void assert_woken_soon(struct wait *wait, double since_ms)
{
    finish_wait(wait);
    assert_int_equal(wait->status, LK_OK);
    assert_true(wait->ended_at_ms - since_ms < SOON_MS);
}

TEST(a_release_wakes_whom_it_serves, struct fixture *f)
{
    lk_semaphore *third = new_semaphore(f->client, f->key);
    struct wait wants_three, wants_one;

    set(f, 0);
    start_wait(&wants_three, f->mine, 3, 60000); /* longest waiting, but one is no help to it */
    let_it_sleep(f);
    start_wait(&wants_one, third, 1, 60000);
    lks_nap(50);
    double given_at_ms = lks_now_ms();
    give(f->other, 1);
    assert_woken_soon(&wants_one, given_at_ms);
    assert_false(atomic_load(&wants_three.is_over));

    given_at_ms = lks_now_ms();
    give(f->other, 3);
    assert_woken_soon(&wants_three, given_at_ms);
    assert_free(f, 0);
    lk_semaphore_free(third);
}

TEST(a_release_of_many_wakes_many, struct fixture *f)
{
    enum { WAITERS = 4 };
    lk_semaphore *semaphores[WAITERS];
    struct wait waits[WAITERS];

    for (size_t i = 0; i < WAITERS; i++) {
        semaphores[i] = new_semaphore(f->client, f->key);
        start_wait(&waits[i], semaphores[i], 1 + (int64_t)(i % 2), 60000);
    }
    let_it_sleep(f);
    lks_nap(50);
    double given_at_ms = lks_now_ms();
    give(f->other, 6);

    for (size_t i = 0; i < WAITERS; i++) {
        assert_woken_soon(&waits[i], given_at_ms);
        lk_semaphore_free(semaphores[i]);
    }
    assert_free(f, 0);
}

TEST(a_peer_that_adds_and_publishes_wakes_a_waiter, struct fixture *f)
{
    struct wait wait;

    start_wait(&wait, f->mine, 2, 60000);
    let_it_sleep(f);
    double given_at_ms = lks_now_ms();
    LKS_DO(server, "INCRBY", f->key, "2");
    LKS_DO(server, "PUBLISH", f->channel, "2");
    assert_woken_soon(&wait, given_at_ms);
}

TEST(a_message_that_never_comes_is_made_up_for) /* [59] */
{
    struct fixture *f = *state;
    lk_client *client = lks_client_with(server, (struct lk_client_options){.poll_ms = 100});
    lk_semaphore *semaphore = new_semaphore(client, f->key);
    struct wait wait;

    start_wait(&wait, semaphore, 1, 60000);
    lks_nap(150);
    double given_at_ms = lks_now_ms();
    LKS_DO(server, "INCRBY", f->key, "1"); /* and nobody is told */
    finish_wait(&wait);

    assert_int_equal(wait.status, LK_OK);
    assert_true(wait.ended_at_ms - given_at_ms < 100 + 25 + 1000);
    lk_semaphore_free(semaphore);
    lk_client_close(client);
}

TEST(a_release_during_a_break_is_not_slept_through, struct fixture *f)
{
    struct wait wait;

    for (int i = 0; i < KILLS; i++) {
        start_wait(&wait, f->mine, 1, 60000);
        let_it_sleep(f);
        assert_int_equal(LKS_INTEGER(server, "CLIENT", "KILL", "TYPE", "pubsub"), 1);
        if (i % 4) lks_nap(i % 4); /* before, while and after it subscribes again */
        double given_at_ms = lks_now_ms();
        give(f->other, 1);
        assert_woken_soon(&wait, given_at_ms);
    }
}

TEST(the_wait_lasts_as_long_as_it_was_told, struct fixture *f)
{
    static const int64_t spans_ms[] = {1, 50, 300};

    set(f, 1);
    for (size_t i = 0; i < sizeof spans_ms / sizeof spans_ms[0]; i++) {
        double begin = lks_now_ms();

        assert_int_equal(lk_semaphore_acquire(f->mine, 2, spans_ms[i], NULL), LK_BUSY);
        double took_ms = lks_now_ms() - begin;
        assert_true(took_ms >= (double)spans_ms[i]);
        assert_true(took_ms < (double)spans_ms[i] + 1000);
    }
    assert_free(f, 1);
}

/* All threads are about to wait: a cancel before the wait has no effect. */
static bool has_begun(struct wait *waits)
{
    size_t begun = 0;

    while (begun < CROWD && atomic_load(&waits[begun].is_begun))
        begun++;
    if (begun == CROWD) lks_nap(50);
    return begun == CROWD;
}

TEST(a_thousand_waiters_are_cancelled_at_once, struct fixture *f)
{
    struct wait *waits = calloc(CROWD, sizeof *waits);
    lk_semaphore **semaphores = calloc(CROWD, sizeof *semaphores);

    assert_non_null(waits);
    assert_non_null(semaphores);
    set(f, 1);
    for (size_t i = 0; i < CROWD; i++) {
        semaphores[i] = new_semaphore(f->client, f->key);
        start_wait(&waits[i], semaphores[i], 2, 60000);
    }
    LKS_EVENTUALLY(has_begun(waits), 20000); /* some are not subscribed so far */
    double cancelled_at_ms = lks_now_ms();
    for (size_t i = 0; i < CROWD; i++)
        lk_semaphore_cancel(semaphores[i]);
    for (size_t i = 0; i < CROWD; i++) {
        finish_wait(&waits[i]);
        assert_int_equal(waits[i].status, LK_CANCELLED);
        lk_semaphore_free(semaphores[i]);
    }
    print_message("# %d waiters, cancelled in %.0f ms\n", CROWD, lks_now_ms() - cancelled_at_ms);

    assert_true(lks_now_ms() - cancelled_at_ms < SOON_MS);
    assert_free(f, 1);
    lk_semaphore_cancel(f->mine); /* no wait, no effect */
    take(f->mine, 1);
    LKS_EVENTUALLY(subscribers(f->channel) == 0, 5000);
    free(waits);
    free(semaphores);
}

/* ---- beside a peer that does as Redisson does ------------------------------------------------ */

static atomic_int inside, too_many, rounds;

static void pass_through(void)
{
    if (atomic_fetch_add(&inside, 1) >= 2) atomic_fetch_add(&too_many, 1);
    if (atomic_fetch_add(&rounds, 1) % 16 == 0) lks_nap(1);
    atomic_fetch_sub(&inside, 1);
}

struct visitor {
    lk_semaphore *semaphore;
    atomic_int failures;
};

static void *visitor_main(void *arg)
{
    struct visitor *visitor = arg;

    for (int i = 0; i < ROUNDS / 2; i++) {
        if (lk_semaphore_acquire(visitor->semaphore, 1, 20000, NULL) == LK_OK) {
            pass_through();
            if (lk_semaphore_release(visitor->semaphore, 1, NULL) == LK_OK) continue;
        }
        atomic_fetch_add(&visitor->failures, 1);
    }
    return NULL;
}

/* What Redisson's scripts do, in our words. */
static bool peer_takes_one(const struct fixture *f)
{
    static const char take_one[] = "local free = redis.call('GET', KEYS[1]) "
                                   "if not free or tonumber(free) < 1 then return 0 end "
                                   "redis.call('DECRBY', KEYS[1], 1) return 1";

    return LKS_INTEGER(server, "EVAL", take_one, "1", f->key) == 1;
}

static void peer_gives_one(const struct fixture *f)
{
    static const char give_one[] = "local total = redis.call('INCRBY', KEYS[1], 1) "
                                   "redis.call('PUBLISH', KEYS[2], total)";

    LKS_DO(server, "EVAL", give_one, "2", f->key, f->channel);
}

static void peer_passes_through(const struct fixture *f)
{
    LKS_EVENTUALLY(peer_takes_one(f), 20000);
    pass_through();
    peer_gives_one(f);
}

TEST(a_peer_and_two_handles_are_never_three) /* [59] */
{
    struct fixture *f = *state;
    struct visitor visitors[] = {{.semaphore = f->mine}, {.semaphore = f->other}};
    pthread_t threads[2];

    set(f, 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, visitor_main, &visitors[i]), 0);
    for (int i = 0; i < ROUNDS / 2; i++)
        peer_passes_through(f);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(atomic_load(&visitors[i].failures), 0);
    }

    assert_int_equal(atomic_load(&too_many), 0);
    assert_int_equal(atomic_load(&rounds), 3 * (ROUNDS / 2));
    assert_free(f, 2);
}
