/*
 * From reading to writing without letting go: who waits for whom, who is told that it would wait for
 * ever, and what is left whatever becomes of it. The fallback timer is ten seconds here.
 */
#include "test/support/lk_fair.h"
#include "test/support/lk_rw.h"

enum { SOON_MS = 1000, WINDOW_MS = 400 };

static const char peer[] = "8743c9c0-0795-4907-87fd-6c719a6b4586:57";

LKS_SERVER(lks_server_start(NULL));

/* Handles of one key, each in a client of its own. */
struct fixture {
    lk_client *clients[3];
    lk_rwlock *rw[3];
    lk_lock *read[3], *write[3];
    struct lkf_keys keys;
};

static void open_all(struct fixture *f, lk_rwlock_order order)
{
    struct lk_rwlock_options options = {.order = order, .waiter_ms = WINDOW_MS};

    lkf_keys_init(&f->keys, server, "upgrade");
    for (size_t i = 0; i < 3; i++) {
        f->clients[i] = lks_client_with(server, (struct lk_client_options){.poll_ms = 10000});
        f->rw[i] = lk_rwlock_new_with(f->clients[i], f->keys.lock, &options, NULL);
        assert_non_null(f->rw[i]);
        f->read[i] = lk_rwlock_read(f->rw[i]);
        f->write[i] = lk_rwlock_write(f->rw[i]);
    }
}

static void close_all(struct fixture *f)
{
    for (size_t i = 0; i < 3; i++) {
        lk_rwlock_free(f->rw[i]);
        lk_client_close(f->clients[i]);
    }
    assert_int_equal(lkr_keys(server, f->keys.lock), 0);
}

static lk_status upgrade(lk_rwlock *rw, int64_t wait_ms)
{
    return lk_rwlock_upgrade(rw, &(struct lk_lock_options){.wait_ms = wait_ms}, NULL);
}

static lk_status upgrade_main(struct lks_wait *wait)
{
    return lk_rwlock_upgrade(wait->what, &wait->options, &wait->err);
}

/* On a thread of its own; returns when it waits. */
static void upgrade_start(const struct fixture *f, struct lks_wait *wait, size_t i)
{
    *wait = (struct lks_wait){.run = upgrade_main, .what = f->rw[i], .options = {.wait_ms = 60000}};
    lks_wait_begin(wait);
    LKS_EVENTUALLY(strstr(lkf_queue(&f->keys), ":upgrade"), SOON_MS);
    lks_nap(20);
}

static void each_order(void (*test)(struct fixture *f))
{
    for (int order = LK_RWLOCK_UNORDERED; order <= LK_RWLOCK_FAIR; order++) {
        struct fixture f;

        open_all(&f, (lk_rwlock_order)order);
        test(&f);
        close_all(&f);
    }
}

#define TEST_EACH(name)                                                                            \
    static void name##_with(struct fixture *f);                                                    \
    TEST(name)                                                                                     \
    {                                                                                              \
        each_order(name##_with);                                                                   \
    }                                                                                              \
    static void name##_with(struct fixture *f)

/* ---- alone ----------------------------------------------------------------------------------- */

TEST_EACH(a_lone_reader_becomes_a_writer_and_then_a_reader_again)
{
    assert_int_equal(lkr_take(f->read[0], 20000), LK_OK);
    assert_int_equal(lkr_take(f->write[0], 0),
                     LK_DEADLOCK); /* that is what the other verb is for */
    assert_int_equal(upgrade(f->rw[0], 0), LK_OK);
    assert_true(lk_held(f->read[0]) && lk_held(f->write[0]));
    assert_string_equal(lkr_field(server, f->keys.lock, "mode"), "write");
    assert_string_equal(lkr_field(server, f->keys.lock, lk_lock_token(f->read[0])), "1");
    assert_string_equal(lkr_field(server, f->keys.lock, lk_lock_token(f->write[0])), "1");
    assert_int_equal(lkr_take(f->read[1], 0), LK_BUSY);
    assert_true(lkr_peer_read(server, f->keys.lock, peer, "1000") > 0);
    assert_int_equal(upgrade(f->rw[0], 0), LK_OK); /* once more */
    assert_int_equal(lk_lock_hold_count(f->write[0]), 2);
    assert_int_equal(lk_lock_release(f->write[0], NULL), LK_OK);
    assert_int_equal(lk_lock_release(f->write[0], NULL), LK_OK);

    assert_string_equal(lkr_field(server, f->keys.lock, "mode"), "read");
    assert_in_range(LKS_INTEGER(server, "PTTL", f->keys.lock), 10000, 20000);
    assert_int_equal(lkr_take(f->read[1], 0), LK_OK);
    assert_int_equal(lk_lock_release(f->read[1], NULL), LK_OK);
    assert_int_equal(upgrade(f->rw[0], 0), LK_OK); /* and again, and the read ends first */
    assert_int_equal(lk_lock_release(f->read[0], NULL), LK_OK);
    assert_int_equal(lkr_take(f->read[0], 0), LK_OK);
    assert_int_equal(lk_lock_release(f->write[0], NULL), LK_OK);
    assert_int_equal(upgrade(f->rw[0], 0), LK_OK);
    assert_int_equal(lk_lock_release(f->write[0], NULL), LK_OK);
    assert_int_equal(lk_lock_release(f->read[0], NULL), LK_OK);
}

TEST_EACH(who_reads_nothing_has_nothing_to_upgrade)
{
    struct lk_error err = {0};

    assert_int_equal(lk_rwlock_upgrade(NULL, NULL, &err), LK_INVALID);
    assert_int_equal(lk_rwlock_upgrade(f->rw[0], NULL, &err), LK_INVALID);
    assert_non_null(strstr(err.text, f->keys.lock));
    assert_int_equal(lkr_take(f->read[0], 0), LK_OK);
    LKS_DO(server, "DEL", f->keys.lock, lkr_hold_key(f->keys.lock, lk_lock_token(f->read[0]), 1));
    assert_int_equal(lk_rwlock_upgrade(f->rw[0], NULL, &err), LK_LOST);
    assert_int_equal(upgrade(f->rw[0], 1000), LK_LOST);
    assert_int_equal(lk_lock_release(f->read[0], NULL), LK_NOT_OWNER);
}

TEST_EACH(a_short_write_does_not_cut_the_read_beneath)
{
    struct lk_lock_options hasty = {.lease_ms = 100};

    assert_int_equal(lkr_take(f->read[0], 30000), LK_OK);
    assert_int_equal(lk_rwlock_upgrade(f->rw[0], &hasty, NULL), LK_OK);
    assert_in_range(LKS_INTEGER(server, "PTTL", f->keys.lock), 29000, 30000);
    LKS_EVENTUALLY(!lk_held(f->write[0]), SOON_MS);
    assert_true(lk_held(f->read[0]));
    assert_int_equal(lk_lock_release(f->write[0], NULL), LK_OK);
    assert_int_equal(lkr_take(f->read[1], 0), LK_OK);
    assert_int_equal(lk_lock_release(f->read[1], NULL), LK_OK);
    assert_int_equal(lk_lock_release(f->read[0], NULL), LK_OK);
}

/* ---- among others ---------------------------------------------------------------------------- */

TEST_EACH(it_waits_for_the_other_readers_and_lets_no_new_one_in)
{
    struct lks_wait wait, reader;

    assert_int_equal(lkr_take(f->read[0], 0), LK_OK);
    assert_int_equal(lkr_take(f->read[1], 0), LK_OK);
    assert_int_equal(upgrade(f->rw[0], 0), LK_BUSY);
    upgrade_start(f, &wait, 0);
    assert_int_equal(lkr_take(f->read[2], 0), LK_BUSY);
    assert_int_equal(lkr_take(f->read[1], 0), LK_OK); /* it reads already */
    lks_wait_start(&reader, f->read[2], 60000);
    assert_int_equal(lk_lock_release(f->read[1], NULL), LK_OK);
    lks_nap(30);
    assert_false(lk_held(f->write[0]) || lk_held(f->read[2]));
    double now_ms = lks_now_ms();
    assert_int_equal(lk_lock_release(f->read[1], NULL), LK_OK);
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    assert_true(wait.ended_at_ms - now_ms < 100); /* told */
    assert_false(lk_held(f->read[2]));
    now_ms = lks_now_ms();
    assert_int_equal(lk_lock_release(f->write[0], NULL), LK_OK);
    assert_int_equal(lks_wait_end(&reader), LK_OK);
    assert_true(reader.ended_at_ms - now_ms < 100);

    assert_int_equal(lk_lock_release(f->read[2], NULL), LK_OK);
    assert_int_equal(lk_lock_release(f->read[0], NULL), LK_OK);
}

TEST_EACH(it_goes_ahead_of_writers_that_wait)
{
    struct lks_wait wait, writer;

    assert_int_equal(lkr_take(f->read[0], 0), LK_OK);
    assert_int_equal(lkr_take(f->read[1], 0), LK_OK);
    lks_wait_start(&writer, f->write[2], 60000);
    lks_nap(30);
    upgrade_start(f, &wait, 0);
    double now_ms = lks_now_ms();
    assert_int_equal(lk_lock_release(f->read[1], NULL), LK_OK);
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    assert_true(wait.ended_at_ms - now_ms < SOON_MS);
    assert_false(lk_held(f->write[2]));
    assert_int_equal(lk_lock_release(f->write[0], NULL), LK_OK);
    assert_int_equal(lk_lock_release(f->read[0], NULL), LK_OK);
    assert_int_equal(lks_wait_end(&writer), LK_OK);
    assert_int_equal(lk_lock_release(f->write[2], NULL), LK_OK);
}

TEST_EACH(of_two_one_is_told_of_the_deadlock_and_the_other_writes_when_it_has_left)
{
    struct lk_error err = {0};
    struct lk_lock_options patient = {.wait_ms = 60000};
    struct lks_wait wait;

    assert_int_equal(lkr_take(f->read[0], 0), LK_OK);
    assert_int_equal(lkr_take(f->read[1], 0), LK_OK);
    upgrade_start(f, &wait, 0);
    double now_ms = lks_now_ms();
    assert_int_equal(lk_rwlock_upgrade(f->rw[1], &patient, &err), LK_DEADLOCK);
    assert_true(lks_now_ms() - now_ms < SOON_MS);
    assert_non_null(strstr(err.text, f->keys.lock));
    assert_int_equal(upgrade(f->rw[1], 0), LK_DEADLOCK);
    assert_int_equal(lkf_length(&f->keys), 1);
    assert_true(lk_held(f->read[1]));
    now_ms = lks_now_ms();
    assert_int_equal(lk_lock_release(f->read[1], NULL), LK_OK);

    assert_int_equal(lks_wait_end(&wait), LK_OK);
    assert_true(wait.ended_at_ms - now_ms < SOON_MS);
    assert_int_equal(lk_lock_release(f->write[0], NULL), LK_OK);
    assert_int_equal(lk_lock_release(f->read[0], NULL), LK_OK);
}

TEST_EACH(one_that_gives_up_lets_readers_in_at_once)
{
    struct lks_wait wait, reader;

    assert_int_equal(lkr_take(f->read[0], 0), LK_OK);
    assert_int_equal(lkr_take(f->read[1], 0), LK_OK);
    upgrade_start(f, &wait, 0);
    lks_wait_start(&reader, f->read[2], 60000);
    lks_nap(30);
    double now_ms = lks_now_ms();
    lk_lock_cancel(f->write[0]);
    assert_int_equal(lks_wait_end(&wait), LK_CANCELLED);
    assert_int_equal(lks_wait_end(&reader), LK_OK);
    assert_true(reader.ended_at_ms - now_ms < WINDOW_MS / 2.0);

    assert_true(lk_held(f->read[0]));
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(lk_lock_release(f->read[i], NULL), LK_OK);
}

TEST_EACH(a_dead_one_holds_up_readers_for_one_window)
{
    static const char dead[] = "8743c9c0-0795-4907-87fd-6c719a6b4586:57:1:write:upgrade";

    assert_int_equal(lkr_take(f->read[0], 0), LK_OK);
    lkf_add_dead(&f->keys, dead, WINDOW_MS);
    assert_int_equal(upgrade(f->rw[0], 0), LK_DEADLOCK);
    assert_int_equal(lkr_take(f->read[1], 0), LK_BUSY);
    double now_ms = lks_now_ms();
    assert_int_equal(lks_acquire(f->read[1], 30000, 0), LK_OK);
    assert_true(lks_now_ms() - now_ms < WINDOW_MS + 200);
    assert_int_equal(lk_lock_release(f->read[1], NULL), LK_OK);
    assert_int_equal(upgrade(f->rw[0], 0), LK_OK);
    assert_int_equal(lk_lock_release(f->write[0], NULL), LK_OK);
    assert_int_equal(lk_lock_release(f->read[0], NULL), LK_OK);
}

TEST_EACH(it_waits_no_longer_than_the_other_readers_live)
{
    assert_int_equal(lkr_take(f->read[0], 0), LK_OK);
    assert_int_equal(lkr_peer_read(server, f->keys.lock, peer, "300"), LKR_HELD);
    double now_ms = lks_now_ms();
    assert_int_equal(upgrade(f->rw[0], 60000), LK_OK);
    assert_true(lks_now_ms() - now_ms > 290);
    assert_true(lks_now_ms() - now_ms < 300 + SOON_MS);
    assert_string_equal(lkr_field(server, f->keys.lock, peer), "(nil)"); /* it is none any more */
    assert_int_equal(lk_lock_release(f->write[0], NULL), LK_OK);
    assert_int_equal(lk_lock_release(f->read[0], NULL), LK_OK);
}

TEST_EACH(a_read_that_ends_during_the_wait_is_told)
{
    assert_int_equal(lkr_take(f->read[0], 200), LK_OK);
    assert_int_equal(lkr_take(f->read[1], 0), LK_OK);
    assert_int_equal(upgrade(f->rw[0], 60000), LK_LOST);
    assert_int_equal(lkf_length(&f->keys), 0);
    assert_int_equal(lk_lock_release(f->read[1], NULL), LK_OK);
    (void)lk_lock_release(f->read[0], NULL);
}
