/*
 * The spin lock on a real server: no message is sent, nobody subscribes, and a waiter asks in
 * growing pauses (18 of the checklist in redisson.md). What it shares with the reentrant lock is in
 * reentrant_itest.c.
 */
#include <stdatomic.h>

#include "test/support/lk_support.h"

LKS_SERVER(lks_server_start(NULL));
LKS_PATIENT();

struct fixture {
    lk_client *client, *other_client;
    lk_lock *mine, *other;
    const char *key;
    atomic_uint round_trips; /* of other_client */
};

static void count_round_trip(const struct lk_event *event, void *arg)
{
    struct fixture *f = arg;

    if (event->type == LK_EVENT_ROUND_TRIP) atomic_fetch_add(&f->round_trips, 1);
}

SET_UP(struct fixture, f)
{
    f->key = lks_new_key(server, "spin");
    f->client = lks_client(server);
    f->other_client = lks_client_with(
        server, (struct lk_client_options){.on_event = count_round_trip, .on_event_arg = f});
    f->mine = lk_spin_new(f->client, f->key, NULL);
    f->other = lk_spin_new(f->other_client, f->key, NULL);
    assert_non_null(f->mine);
    assert_non_null(f->other);
}

TEAR_DOWN(struct fixture, f)
{
    lk_lock_free(f->mine);
    lk_lock_free(f->other);
    lk_client_close(f->client);
    lk_client_close(f->other_client);
    LKS_DO(server, "DEL", f->key);
}

TEST(nothing_is_published_and_nobody_subscribes, struct fixture *f)
{
    struct lks_monitor *monitor = lks_monitor_open(server);
    struct lks_wait wait;

    assert_int_equal(lks_acquire(f->mine, 0, 0), LK_OK);
    assert_int_equal(lks_acquire(f->mine, 0, 0), LK_OK);
    lks_wait_start(&wait, f->other, 60000);
    LKS_EVENTUALLY(atomic_load(&f->round_trips) >= 5, 5000);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    assert_int_equal(lk_lock_force_release(f->mine, NULL), LK_OK);
    const char *text = lks_monitor_text(monitor, server);

    assert_int_equal(lks_count(text, "\"PUBLISH\""), 0);
    assert_int_equal(lks_count(text, "\"SUBSCRIBE\""), 0);
    assert_int_equal(lk_lock_release(f->other, NULL), LK_NOT_OWNER);
    lks_monitor_close(monitor);
}

/* Pauses of 1 or 2 ms, then up to twice as long each time, 64 to 128 ms in the end: 20 questions take 830 ms
   at least, and would take half an hour if pauses grew for ever. */
TEST(a_waiter_asks_ever_more_seldom_and_finds_it_free, struct fixture *f)
{
    struct lks_wait wait;

    assert_int_equal(lks_acquire(f->mine, 0, 0), LK_OK);
    double begin = lks_now_ms();
    lks_wait_start(&wait, f->other, 60000);
    LKS_EVENTUALLY(atomic_load(&f->round_trips) >= 20, 20000);
    assert_true(lks_now_ms() - begin > 800);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    assert_int_equal(lk_lock_release(f->other, NULL), LK_OK);
}

/* Any run may be late on a busy machine, but those in time get ahead by so many; were a pause not cut short, most
   would be late. */
enum { AHEAD = 8 };

/* No pause goes past it. */
TEST(a_wait_ends_at_its_deadline, struct fixture *f)
{
    enum { WAIT_MS = 150 };
    int ahead = 0;

    assert_int_equal(lks_acquire(f->mine, 0, 0), LK_OK);
    while (abs(ahead) < AHEAD) {
        double begin = lks_now_ms();

        assert_int_equal(lks_acquire(f->other, WAIT_MS, 0), LK_BUSY);
        assert_true(lks_now_ms() - begin >= WAIT_MS);
        ahead += lks_now_ms() - begin < WAIT_MS + 20 ? 1 : -1;
    }

    assert_int_equal(ahead, AHEAD);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
}

static void await_round_trip(struct fixture *f, unsigned before)
{
    LKS_EVENTUALLY(atomic_load(&f->round_trips) > before, 5000);
}

TEST(cancelling_ends_a_pause, struct fixture *f)
{
    int ahead = 0;

    assert_int_equal(lks_acquire(f->mine, 0, 0), LK_OK);
    for (int64_t i = 0; abs(ahead) < AHEAD; i++) {
        struct lks_wait wait;
        unsigned before = atomic_load(&f->round_trips);

        lks_wait_start(&wait, f->other, 60000);
        await_round_trip(f, before);
        lks_nap(200 + i % 10 * 10); /* its pauses have grown */
        double cancelled_at_ms = lks_now_ms();
        lk_lock_cancel(f->other);
        assert_int_equal(lks_wait_end(&wait), LK_CANCELLED);
        ahead += wait.ended_at_ms - cancelled_at_ms < 20 ? 1 : -1;
    }

    assert_int_equal(ahead, AHEAD);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
}

/* 18: it is told nothing, but looks once per poll_ms. */
TEST(a_waiter_of_another_kind_finds_it_by_its_timer, struct fixture *f)
{
    lk_client *client = lks_client_with(server, (struct lk_client_options){.poll_ms = 200});
    lk_lock *plain = lk_reentrant_new(client, f->key, NULL);
    struct lks_wait wait;

    assert_int_equal(lks_acquire(f->mine, 0, 0), LK_OK);
    lks_wait_start(&wait, plain, 60000);
    LKS_EVENTUALLY(lks_subscribers(server, lks_format("redisson_lock__channel:{%s}", f->key)) == 1,
                   5000);
    double released_at_ms = lks_now_ms();
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    assert_true(wait.ended_at_ms - released_at_ms < 15000); /* the lease would be 30 s */
    assert_int_equal(lk_lock_release(plain, NULL), LK_OK);
    lk_lock_free(plain);
    lk_client_close(client);
}
