/*
 * Waits that are ended from outside, for all kinds: one at any moment, a thousand at once, all of a
 * client when it is closed. Nothing is left of them, least of all a place in a queue.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "lockkit/latch.h"
#include "lockkit/semaphore.h"

#include "test/support/lk_kinds.h"

enum { CROWD = 1000, STACK_BYTES = 256 * 1024, POLL_MS = 60000, SOON_MS = 10000 };

LKS_SERVER(lks_server_start(NULL));

struct fixture {
    lk_client *client, *holder_client;
    lk_lock *holder;
    const char *key;
    atomic_uint askers;           /* threads that had an answer over client */
    _Atomic(lk_lock *) cancelled; /* by the thread that asks for it, at its next answer */
};

static void see_round_trip(const struct lk_event *event, void *arg)
{
    static _Thread_local bool has_asked;
    struct fixture *f = arg;

    if (event->type != LK_EVENT_ROUND_TRIP) return;
    if (!has_asked) atomic_fetch_add(&f->askers, 1);
    has_asked = true;
    lk_lock_cancel(atomic_exchange(&f->cancelled, NULL));
}

SET_UP(struct fixture, f)
{
    f->client = lks_client_with(server, (struct lk_client_options){.poll_ms = POLL_MS,
                                                                   .command_ms = POLL_MS / 3,
                                                                   .on_event = see_round_trip,
                                                                   .on_event_arg = f});
    f->holder_client =
        lks_client_with(server, (struct lk_client_options){.command_ms = POLL_MS / 3});
}

TEAR_DOWN(struct fixture, f)
{
    lk_client_close(f->client);
    lk_client_close(f->holder_client);
}

static lk_status acquire(lk_lock *lock, int64_t wait_ms, struct lk_error *err)
{
    return lk_lock_acquire(lock, &(struct lk_lock_options){.wait_ms = wait_ms}, err);
}

/* Somebody else holds a new key. */
static void hold(struct fixture *f, size_t kind)
{

    f->key = lks_new_key(server, "cancel");
    f->holder = lks_lock_of_kind(kind, f->holder_client, f->key);
    assert_int_equal(acquire(f->holder, 0, NULL), LK_OK);
}

/* And lets it go; then nobody is in its way any more. */
static void let_go(struct fixture *f)
{
    assert_int_equal(lk_lock_release(f->holder, NULL), LK_OK);
    assert_int_equal(acquire(f->holder, 0, NULL), LK_OK);
    assert_int_equal(lk_lock_release(f->holder, NULL), LK_OK);
    lk_lock_free(f->holder);
}

struct wait {
    lk_lock *lock;
    pthread_t thread;
    lk_status status; /* below: read after the join */
    struct lk_error err;
};

static void *acquire_main(void *arg)
{
    struct wait *wait = arg;

    wait->status = acquire(wait->lock, 60000, &wait->err);
    return NULL;
}

static void start_wait(struct wait *wait, lk_lock *lock)
{
    pthread_attr_t small;

    *wait = (struct wait){.lock = lock};
    assert_int_equal(pthread_attr_init(&small), 0);
    assert_int_equal(pthread_attr_setstacksize(&small, STACK_BYTES), 0);
    assert_int_equal(pthread_create(&wait->thread, &small, acquire_main, wait), 0);
    assert_int_equal(pthread_attr_destroy(&small), 0);
}

static void await_askers(struct fixture *f, unsigned count)
{
    LKS_EVENTUALLY(atomic_load(&f->askers) >= count, 20000);
}

/* Before it has joined those who wait. */
static void cancel_at_the_first_answer(struct fixture *f, lk_lock *lock)
{
    double begin = lks_now_ms();

    atomic_store(&f->cancelled, lock);
    assert_int_equal(acquire(lock, 60000, NULL), LK_CANCELLED);
    assert_true(lks_now_ms() - begin < SOON_MS);
}

TEST(a_cancel_is_not_lost_because_the_wait_has_only_begun, struct fixture *f)
{
    for (size_t i = 0; i < LKS_KINDS; i++) {
        hold(f, i);
        lk_lock *lock = lks_lock_of_kind(i, f->client, f->key);
        lk_lock *multi = lk_multi_new(&lock, 1, NULL, NULL);
        assert_int_equal(acquire(lock, 0, NULL), LK_BUSY); /* it knows its scripts */
        cancel_at_the_first_answer(f, lock);
        cancel_at_the_first_answer(f, multi);
        let_go(f);
        lk_lock_free(multi);
        lk_lock_free(lock);
    }
}

/* It ends one wait: the one under way, or else the next; one that does not wait leaves it. */
TEST(a_cancel_just_before_the_wait_ends_it_and_no_other, struct fixture *f)
{
    for (size_t i = 0; i < LKS_KINDS; i++) {
        hold(f, i);
        lk_lock *lock = lks_lock_of_kind(i, f->client, f->key);
        lk_lock *multi = lk_multi_new(&lock, 1, NULL, NULL);
        lk_lock *both[] = {lock, multi};
        for (size_t k = 0; k < 2; k++) {
            double begin = lks_now_ms();

            lk_lock_cancel(both[k]);
            assert_int_equal(lk_lock_try(both[k], NULL), LK_BUSY);
            assert_int_equal(lk_lock_wait(both[k], LK_FOREVER, NULL), LK_CANCELLED);
            assert_true(lks_now_ms() - begin < SOON_MS);
            assert_int_equal(lk_lock_wait(both[k], 20, NULL), LK_BUSY);
        }
        atomic_store(&f->cancelled, lock);
        assert_int_equal(acquire(lock, 60000, NULL), LK_CANCELLED);
        assert_int_equal(acquire(lock, 20, NULL), LK_BUSY);
        let_go(f);
        lk_lock_cancel(lock);
        assert_int_equal(acquire(lock, 20, NULL),
                         LK_OK); /* nothing to wait for, and it is used up */
        assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
        hold(f, i);
        lk_lock *other = lks_lock_of_kind(i, f->client, f->key);
        assert_int_equal(acquire(other, 20, NULL), LK_BUSY);
        let_go(f);
        lk_lock_free(multi);
        lk_lock_free(lock);
        lk_lock_free(other);
    }
}

TEST(counters_are_cancelled_just_before_their_wait_too, struct fixture *f)
{
    struct lk_permit permit;
    struct lk_permit_options options = {.wait_ms = LK_FOREVER};
    lk_semaphore *semaphore = lk_semaphore_new(f->client, lks_new_key(server, "cancel"), NULL);
    lk_permits *permits = lk_permits_new(f->client, lks_new_key(server, "cancel"), NULL);
    lk_latch *latch = lk_latch_new(f->client, lks_new_key(server, "cancel"), NULL);

    assert_int_equal(lk_latch_try_set(latch, 1, NULL), LK_OK);
    lk_semaphore_cancel(semaphore);
    lk_permits_cancel(permits);
    lk_latch_cancel(latch);
    assert_int_equal(lk_semaphore_acquire(semaphore, 1, 0, NULL), LK_BUSY);
    assert_int_equal(lk_semaphore_acquire(semaphore, 1, LK_FOREVER, NULL), LK_CANCELLED);
    assert_int_equal(lk_semaphore_acquire(semaphore, 1, 20, NULL), LK_BUSY);
    assert_int_equal(lk_permits_acquire(permits, &options, &permit, 1, NULL), LK_CANCELLED);
    options.wait_ms = 20;
    assert_int_equal(lk_permits_acquire(permits, &options, &permit, 1, NULL), LK_BUSY);
    assert_int_equal(lk_latch_await(latch, LK_FOREVER, NULL), LK_CANCELLED);
    assert_int_equal(lk_latch_await(latch, 20, NULL), LK_BUSY);
    lk_semaphore_free(semaphore);
    lk_permits_free(permits);
    lk_latch_free(latch);
}

static void cancel_a_thousand(struct fixture *f, size_t kind)
{
    static struct wait waits[CROWD];
    unsigned before = atomic_load(&f->askers);

    hold(f, kind);
    for (size_t i = 0; i < CROWD; i++)
        start_wait(&waits[i], lks_lock_of_kind(kind, f->client, f->key));
    await_askers(f, before + CROWD);
    double begin = lks_now_ms();
    for (size_t i = 0; i < CROWD; i++)
        lk_lock_cancel(waits[i].lock);
    for (size_t i = 0; i < CROWD; i++) {
        assert_int_equal(pthread_join(waits[i].thread, NULL), 0);
        assert_int_equal(waits[i].status, LK_CANCELLED);
        lk_lock_free(waits[i].lock);
    }
    print_message("# %s: a thousand waits ended in %.0f ms\n", lks_kinds[kind].name,
                  lks_now_ms() - begin);
    let_go(f);
}

TEST(a_thousand_waits_are_cancelled_at_once)
{
    for (size_t i = 0; i < LKS_KINDS; i++)
        cancel_a_thousand(*state, i);
}

/* Each kind as itself, and as part of a multi lock. */
TEST(closing_the_client_ends_its_waits, struct fixture *f)
{
    lk_lock *holders[LKS_KINDS], *members[LKS_KINDS];
    struct wait waits[2 * LKS_KINDS];
    unsigned before = 0;

    for (size_t i = 0; i < LKS_KINDS; i++) {
        before = atomic_load(&f->askers);
        hold(f, i);
        holders[i] = f->holder;
        members[i] = lks_lock_of_kind(i, f->client, f->key);
        start_wait(&waits[2 * i], lks_lock_of_kind(i, f->client, f->key));
        start_wait(&waits[2 * i + 1], lk_multi_new(&members[i], 1, NULL, NULL));
        await_askers(f, before + 2);
    }
    double begin = lks_now_ms();
    lk_client_close(f->client);
    f->client = NULL;
    for (size_t i = 0; i < (size_t)2 * LKS_KINDS; i++) {
        assert_int_equal(pthread_join(waits[i].thread, NULL), 0);
        assert_int_equal(waits[i].status, LK_INVALID);
        assert_int_equal(waits[i].err.code, LK_INVALID);
        lk_lock_free(waits[i].lock);
    }

    assert_true(lks_now_ms() - begin < SOON_MS);
    for (size_t i = 0; i < LKS_KINDS; i++) {
        assert_int_equal(lk_lock_release(holders[i], NULL), LK_OK);
        lk_lock_free(holders[i]);
        lk_lock_free(members[i]);
    }
}
