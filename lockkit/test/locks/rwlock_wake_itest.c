/*
 * Who waits for a read/write lock: what wakes it, what ends its wait, and what breaking the lock
 * does. The fallback timer is ten seconds here, so whatever comes sooner came by a message or a TTL.
 * Numbers in brackets are cases of the Redisson checklist.
 */
#include "test/support/lk_rw.h"

enum { SOON_MS = 5000 };

LKS_SERVER(lks_server_start(NULL));
LKS_PATIENT();

static const char peer[] = "8743c9c0-0795-4907-87fd-6c719a6b4586:57";

LKR_PAIR();

/* ---- being woken ----------------------------------------------------------------------------- */

TEST(the_last_reader_wakes_a_writer, struct lkr_pair *p)
{
    struct lks_wait wait;

    assert_int_equal(lkr_take(p->read, 30000), LK_OK);
    lkr_wait_start(&wait, server, p->other_write, p->key);
    double released_at_ms = lks_now_ms();
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);

    assert_int_equal(lks_wait_end(&wait), LK_OK);
    assert_true(wait.ended_at_ms - released_at_ms < SOON_MS);
    assert_int_equal(lk_lock_release(p->other_write, NULL), LK_OK);
}

TEST(a_writer_wakes_all_readers_of_a_process, struct lkr_pair *p)
{
    enum { READERS = 4 };
    lk_rwlock *readers[READERS];
    struct lks_wait waits[READERS];

    assert_int_equal(lkr_take(p->write, 30000), LK_OK);
    for (size_t i = 0; i < READERS; i++) {
        readers[i] = lkr_new(p->clients[1], p->key);
        lkr_wait_start(&waits[i], server, lk_rwlock_read(readers[i]), p->key);
    }
    double released_at_ms = lks_now_ms();
    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
    for (size_t i = 0; i < READERS; i++) {
        assert_int_equal(lks_wait_end(&waits[i]), LK_OK);
        assert_true(waits[i].ended_at_ms - released_at_ms < SOON_MS);
    }
    for (size_t i = 0; i < READERS; i++) {
        assert_int_equal(lk_lock_release(lk_rwlock_read(readers[i]), NULL), LK_OK);
        lk_rwlock_free(readers[i]);
    }
}

TEST(peers_wake_our_waiters, struct lkr_pair *p)
{
    struct lks_wait wait;

    assert_int_equal(lkr_peer_write(server, p->key, peer, "30000"), LKR_HELD);
    lkr_wait_start(&wait, server, p->read, p->key);
    double released_at_ms = lks_now_ms();
    assert_int_equal(lkr_peer_write_unlock(server, p->key, peer), 1);
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    assert_true(wait.ended_at_ms - released_at_ms < SOON_MS);
    assert_int_equal(lkr_peer_read(server, p->key, peer, "30000"), LKR_HELD);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
    lkr_wait_start(&wait, server, p->write, p->key);
    released_at_ms = lks_now_ms();
    assert_int_equal(lkr_peer_read_unlock(server, p->key, peer), 1);

    assert_int_equal(lks_wait_end(&wait), LK_OK);
    assert_true(wait.ended_at_ms - released_at_ms < SOON_MS);
    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
}

TEST(a_writer_waits_no_longer_than_the_readers_live, struct lkr_pair *p)
{
    struct lk_lock_options patient = {.wait_ms = 60000};
    double begin = lks_now_ms();

    assert_int_equal(lkr_peer_read(server, p->key, peer, "300"), LKR_HELD);
    LKS_DO(server, "PEXPIRE", p->key, "60000"); /* as after a longer hold that was cut short */
    assert_int_equal(lk_lock_acquire(p->write, &patient, NULL), LK_OK);

    assert_true(lks_now_ms() - begin > 290);
    assert_true(lks_now_ms() - begin < 300 + SOON_MS);
    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
}

TEST(either_wait_can_be_cancelled, struct lkr_pair *p)
{
    lk_lock *const sides[] = {p->other_read, p->other_write};

    assert_int_equal(lkr_take(p->write, 30000), LK_OK);
    for (size_t i = 0; i < 2; i++) {
        struct lks_wait wait;

        lkr_wait_start(&wait, server, sides[i], p->key);
        lk_lock_cancel(sides[i]);
        assert_int_equal(lks_wait_end(&wait), LK_CANCELLED);
    }
    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
}

/* ---- breaking it ----------------------------------------------------------------------------- */

/* [44] */
TEST(a_side_is_broken_only_when_it_is_held_that_way, struct lkr_pair *p)
{
    struct lks_monitor *monitor = lks_monitor_open(server);

    assert_int_equal(lk_lock_force_release(p->other_read, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_lock_force_release(p->other_write, NULL), LK_NOT_OWNER);
    assert_int_equal(lkr_take(p->write, 30000), LK_OK);
    assert_int_equal(lkr_take(p->read, 30000), LK_OK);
    assert_int_equal(lk_lock_force_release(p->other_read, NULL), LK_NOT_OWNER);
    assert_int_equal(LKS_INTEGER(server, "HLEN", p->key), 3);
    assert_int_equal(lkr_messages(monitor, server, p->key, "0"), 0);
    assert_int_equal(lk_lock_force_release(p->other_write, NULL), LK_OK); /* the nested read too */

    assert_int_equal(LKS_INTEGER(server, "EXISTS", p->key), 0);
    assert_int_equal(lkr_messages(monitor, server, p->key, "1"), 1);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_lock_release(p->write, NULL), LK_NOT_OWNER);
    assert_int_equal(lkr_take(p->read, 30000), LK_OK);
    assert_int_equal(lk_lock_force_release(p->other_write, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_lock_force_release(p->other_read, NULL), LK_OK);
    assert_int_equal(lkr_messages(monitor, server, p->key, "0"), 1);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_NOT_OWNER);
    lks_monitor_close(monitor);
}

TEST(breaking_it_wakes_those_who_wait, struct lkr_pair *p)
{
    lk_rwlock *third = lkr_new(p->clients[0], p->key);
    struct lks_wait wait;

    assert_int_equal(lkr_take(p->write, 30000), LK_OK);
    lkr_wait_start(&wait, server, p->other_read, p->key);
    assert_int_equal(lk_lock_force_release(lk_rwlock_write(third), NULL), LK_OK);
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    (void)lk_lock_release(p->write, NULL);
    lkr_wait_start(&wait, server, p->write, p->key);
    assert_int_equal(lk_lock_force_release(lk_rwlock_read(third), NULL), LK_OK);

    assert_int_equal(lks_wait_end(&wait), LK_OK);
    assert_int_equal(lk_lock_release(p->other_read, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
    lk_rwlock_free(third);
}
