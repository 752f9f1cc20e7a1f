/*
 * The two sides of one read/write lock together, re-entry, and renewal: whose lease is whose.
 * Numbers in brackets are cases of the Redisson checklist.
 */
#include <stdatomic.h>

#include "test/support/lk_rw.h"

enum { SOON_MS = 10000, LEASE_MS = 3000 };

LKS_SERVER(lks_server_start(NULL));
LKS_PATIENT();

static const char peer[] = "8743c9c0-0795-4907-87fd-6c719a6b4586:57";

LKR_PAIR();

static long long hash_ms(const struct lkr_pair *p)
{
    return LKS_INTEGER(server, "PTTL", p->key);
}

static void take_renewed(lk_lock *lock, atomic_int *losses)
{
    struct lk_lock_options options = {
        .lease_ms = LEASE_MS, .is_renewed = true, .on_lost = lks_count_loss, .on_lost_arg = losses};

    assert_int_equal(lk_lock_acquire(lock, &options, NULL), LK_OK);
}

/* ---- a read beside the own write ------------------------------------------------------------- */

TEST(both_sides_have_one_owner, struct lkr_pair *p)
{
    char owner[80];

    assert_int_equal(lkr_take(p->write, 30000), LK_OK);
    assert_int_equal(lkr_take(p->read, 30000), LK_OK);
    (void)snprintf(owner, sizeof owner, "%s:write", lk_lock_token(p->read));

    assert_string_equal(lk_lock_token(p->write), owner);
    assert_int_equal(LKS_INTEGER(server, "HLEN", p->key), 3);
    assert_string_equal(lkr_field(server, p->key, "mode"), "write");
    assert_string_equal(lkr_field(server, p->key, lk_lock_token(p->read)), "1");
    assert_int_equal(lkr_take(p->other_read, 1000), LK_BUSY);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
    assert_int_equal(lkr_take(p->other_read, 1000), LK_BUSY);
    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
    assert_int_equal(lkr_keys(server, p->key), 0);
}

/* [39] */
TEST(who_gives_up_writing_but_reads_on_lets_readers_in, struct lkr_pair *p)
{
    lk_rwlock *third = lkr_new(p->clients[1], p->key);
    struct lks_monitor *monitor = lks_monitor_open(server);
    struct lks_wait reader, writer;

    assert_int_equal(lkr_take(p->write, 30000), LK_OK);
    assert_int_equal(lkr_take(p->read, 10000), LK_OK);
    lkr_wait_start(&writer, server, lk_rwlock_write(third), p->key); /* first in the row */
    lkr_wait_start(&reader, server, p->other_read, p->key);
    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
    assert_int_equal(lks_wait_end(&reader), LK_OK);

    assert_int_equal(lkr_messages(monitor, server, p->key, "1"), 1);
    assert_string_equal(lkr_field(server, p->key, "mode"), "read");
    assert_true(lk_held(p->read));
    assert_int_equal(lk_lock_release(p->other_read, NULL), LK_OK);
    assert_in_range(hash_ms(p), 5000, 10000);                /* the read hold's own */
    assert_int_equal(lkr_take(p->write, 1000), LK_DEADLOCK); /* there is no way back */
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
    assert_int_equal(lks_wait_end(&writer), LK_OK);
    assert_int_equal(lk_lock_release(lk_rwlock_write(third), NULL), LK_OK);
    lks_monitor_close(monitor);
    lk_rwlock_free(third);
}

/* [39] Redisson tells nobody: the timer does. */
TEST(a_peers_change_to_reading_is_found_by_the_timer, struct lkr_pair *p)
{
    lk_client *client = lks_client_with(server, (struct lk_client_options){.poll_ms = 100});
    lk_rwlock *rw = lkr_new(client, p->key);
    struct lks_wait wait;

    assert_int_equal(lkr_peer_write(server, p->key, peer, "30000"), LKR_HELD);
    assert_int_equal(lkr_peer_read(server, p->key, peer, "30000"), LKR_HELD);
    lkr_wait_start(&wait, server, lk_rwlock_read(rw), p->key);
    double released_at_ms = lks_now_ms();
    assert_int_equal(lkr_peer_write_unlock(server, p->key, peer), 1);

    assert_int_equal(lks_wait_end(&wait), LK_OK);
    assert_true(wait.ended_at_ms - released_at_ms < 15000); /* the leases would be 30 s */
    assert_int_equal(lk_lock_release(lk_rwlock_read(rw), NULL), LK_OK);
    assert_int_equal(lkr_peer_read_unlock(server, p->key, peer), 1);
    lk_rwlock_free(rw);
    lk_client_close(client);
}

/* [40] */
TEST(a_short_read_does_not_cut_the_own_write, struct lkr_pair *p)
{
    assert_int_equal(lkr_take(p->write, 30000), LK_OK);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(lkr_take(p->read, 1000), LK_OK);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
    assert_true(hash_ms(p) > 20000);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);

    assert_true(hash_ms(p) > 20000);
    assert_true(lk_held(p->write));
    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
    assert_int_equal(lkr_keys(server, p->key), 0);
}

/* [40] */
TEST(a_reads_end_does_not_end_the_renewal_of_the_own_write, struct lkr_pair *p)
{
    atomic_int losses = 0;

    take_renewed(p->write, &losses);
    take_renewed(p->read, &losses);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
    assert_true(lks_is_renewed(server, p->key));

    assert_true(lk_held(p->write));
    assert_int_equal(atomic_load(&losses), 0);
    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
}

TEST(a_read_that_ended_unseen_leaves_nothing_behind_the_write, struct lkr_pair *p)
{
    assert_int_equal(lkr_take(p->write, 30000), LK_OK);
    assert_int_equal(lkr_take(p->read, 30000), LK_OK);
    LKS_DO(server, "DEL", lkr_hold_key(p->key, lk_lock_token(p->read), 1));
    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);

    assert_int_equal(lkr_keys(server, p->key), 0);
    assert_int_equal(lkr_take(p->other_write, 30000), LK_OK);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_lock_release(p->other_write, NULL), LK_OK);
}

TEST(what_a_writer_leaves_lasts_as_long_as_its_read, struct lkr_pair *p)
{
    static const int64_t leases_ms[][2] = {{10000, 30000}, {30000, 10000}};

    for (size_t i = 0; i < 2; i++) {
        int64_t read_ms = leases_ms[i][1];

        assert_int_equal(lkr_take(p->write, leases_ms[i][0]), LK_OK);
        assert_int_equal(lkr_take(p->read, read_ms), LK_OK);
        assert_in_range(hash_ms(p), 20000, 30000);
        assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
        assert_in_range(hash_ms(p), read_ms - 9000, read_ms);
        assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
        assert_int_equal(lkr_keys(server, p->key), 0);
    }
}

/* ---- re-entry -------------------------------------------------------------------------------- */

/* [42] */
TEST(writing_again_lasts_as_long_as_the_longer_lease, struct lkr_pair *p)
{
    assert_int_equal(lkr_take(p->write, 30000), LK_OK);
    assert_int_equal(lkr_take(p->read, 30000), LK_OK);
    assert_int_equal(lkr_take(p->write, 40000), LK_OK);
    assert_in_range(hash_ms(p), 31000, 40000);
    assert_int_equal(lkr_take(p->write, 1000), LK_OK);
    assert_in_range(hash_ms(p), 31000, 40000);
    assert_string_equal(lkr_field(server, p->key, lk_lock_token(p->write)), "3");
    for (unsigned left = 2; left > 0; left--) {
        assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
        assert_int_equal(lk_lock_hold_count(p->write), left);
        assert_true(hash_ms(p) >= lk_lock_remaining_ms(p->write));
        assert_int_equal(lkr_take(p->other_read, 1000), LK_BUSY);
    }

    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
    assert_int_equal(lkr_keys(server, p->key), 0);
}

TEST(reading_again_lasts_as_long_as_the_longer_lease, struct lkr_pair *p)
{
    static const int64_t leases_ms[][2] = {{10000, 30000}, {30000, 10000}};

    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(lkr_take(p->read, leases_ms[i][0]), LK_OK);
        assert_int_equal(lkr_take(p->read, leases_ms[i][1]), LK_OK);
        assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
        assert_true(lk_lock_remaining_ms(p->read) > 20000);
        assert_true(hash_ms(p) >= lk_lock_remaining_ms(p->read));
        assert_true(lkr_hold_ms(server, p->key, lk_lock_token(p->read), 1) >=
                    lk_lock_remaining_ms(p->read));
        assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
    }
}

TEST(what_has_ended_is_not_taken_again, struct lkr_pair *p)
{
    assert_int_equal(lkr_take(p->read, 30000), LK_OK);
    LKS_DO(server, "DEL", lkr_hold_key(p->key, lk_lock_token(p->read), 1));
    assert_int_equal(lkr_take(p->read, 30000), LK_LOST);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_NOT_OWNER);
    assert_int_equal(lkr_take(p->write, 30000), LK_OK);
    LKS_DO(server, "DEL", p->key);
    assert_int_equal(lkr_take(p->write, 30000), LK_LOST);

    assert_int_equal(lkr_keys(server, p->key), 0);
    assert_int_equal(lk_lock_release(p->write, NULL), LK_NOT_OWNER);
}

/* ---- renewal --------------------------------------------------------------------------------- */

TEST(a_renewed_reader_keeps_its_hold_keys_and_the_hash, struct lkr_pair *p)
{
    atomic_int losses = 0;
    bool is_renewed = true;

    take_renewed(p->read, &losses);
    assert_int_equal(lkr_take(p->read, LEASE_MS), LK_OK);
    LKS_DO(server, "CONFIG", "SET", "maxmemory", "1"); /* it writes nothing new */
    for (unsigned k = 1; k <= 2 && is_renewed; k++)
        is_renewed = lks_is_renewed(server, lkr_hold_key(p->key, lk_lock_token(p->read), k));
    is_renewed = is_renewed && lks_is_renewed(server, p->key);
    LKS_DO(server, "CONFIG", "SET", "maxmemory", "0");

    assert_true(is_renewed);
    assert_true(lk_held(p->read));
    assert_int_equal(atomic_load(&losses), 0);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
    assert_int_equal(lkr_keys(server, p->key), 0);
}

TEST(a_reader_learns_that_its_hold_key_is_gone_though_others_keep_the_hash, struct lkr_pair *p)
{
    atomic_int losses = 0;

    assert_int_equal(lkr_take(p->other_read, 30000), LK_OK);
    take_renewed(p->read, &losses);
    LKS_DO(server, "DEL", lkr_hold_key(p->key, lk_lock_token(p->read), 1));
    LKS_EVENTUALLY(atomic_load(&losses) == 1, SOON_MS);

    assert_false(lk_held(p->read));
    assert_int_equal(lkr_hold_ms(server, p->key, lk_lock_token(p->read), 1),
                     -2); /* not made again */
    assert_int_equal(lk_lock_release(p->read, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_lock_release(p->other_read, NULL), LK_OK);
}

TEST(a_reader_that_is_not_renewed_ends_beside_one_that_is, struct lkr_pair *p)
{
    atomic_int losses = 0;

    take_renewed(p->other_read, &losses);
    assert_int_equal(lkr_take(p->read, LEASE_MS / 2), LK_OK);
    LKS_EVENTUALLY(!lk_held(p->read), SOON_MS);
    LKS_EVENTUALLY(lkr_hold_ms(server, p->key, lk_lock_token(p->read), 1) == -2, SOON_MS);

    assert_int_equal(lk_lock_release(p->read, NULL), LK_NOT_OWNER);
    assert_true(lk_held(p->other_read));
    assert_int_equal(lk_lock_release(p->other_read, NULL), LK_OK);
    assert_int_equal(atomic_load(&losses), 0);
}

TEST(renewing_by_hand_prolongs_either_side, struct lkr_pair *p)
{
    assert_int_equal(lkr_take(p->write, 5000), LK_OK);
    assert_int_equal(lk_lock_renew(p->write, 20000, NULL), LK_OK);
    assert_in_range(hash_ms(p), 10000, 20000);
    assert_int_equal(lkr_take(p->read, 5000), LK_OK);
    assert_int_equal(lk_lock_renew(p->read, 30000, NULL), LK_OK);
    assert_in_range(hash_ms(p), 20001, 30000);
    assert_in_range(lkr_hold_ms(server, p->key, lk_lock_token(p->read), 1), 20001, 30000);
    LKS_DO(server, "DEL", p->key);

    assert_int_equal(lk_lock_renew(p->read, 30000, NULL), LK_LOST);
    assert_int_equal(lk_lock_renew(p->write, 30000, NULL), LK_LOST);
    assert_int_equal(LKS_INTEGER(server, "EXISTS", p->key), 0);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_lock_release(p->write, NULL), LK_NOT_OWNER);
}
