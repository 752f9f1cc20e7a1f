/*
 * The read/write lock on a real server: what lies on the wire, who is let in, and how it goes
 * together with a Redisson client on the same keys. Numbers in brackets are cases of the Redisson
 * checklist.
 */
#include "test/support/lk_rw.h"

enum { SOON_MS = 10000 };

LKS_SERVER(lks_server_start(NULL));
LKS_PATIENT();

static const char peer[] = "8743c9c0-0795-4907-87fd-6c719a6b4586:57";
static const char second_peer[] = "8743c9c0-0795-4907-87fd-6c719a6b4586:58";

LKR_PAIR();

/* As if its lease had ended. */
static void let_hold_end(const struct lkr_pair *p, const char *owner)
{
    LKS_DO(server, "DEL", lkr_hold_key(p->key, owner, 1));
}

/* ---- on the wire ----------------------------------------------------------------------------- */

TEST(a_reader_is_a_mode_a_field_and_a_hold_key, struct lkr_pair *p)
{
    assert_int_equal(lkr_take(p->read, 30000), LK_OK);
    const char *owner = lk_lock_token(p->read);

    assert_string_equal(LKS_TEXT(server, "TYPE", p->key), "hash");
    assert_int_equal(LKS_INTEGER(server, "HLEN", p->key), 2);
    assert_string_equal(lkr_field(server, p->key, "mode"), "read");
    assert_string_equal(lkr_field(server, p->key, owner), "1");
    assert_in_range(LKS_INTEGER(server, "PTTL", p->key), 20001, 30000);
    assert_string_equal(LKS_TEXT(server, "GET", lkr_hold_key(p->key, owner, 1)), "1");
    assert_in_range(lkr_hold_ms(server, p->key, owner, 1), 20001, 30000);
    assert_int_equal(strcspn(owner, ":"), 36);
    assert_int_equal(strspn(owner + 37, "0123456789"), strlen(owner + 37));
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
    assert_int_equal(lkr_keys(server, p->key), 0);
}

TEST(a_writer_is_a_mode_and_a_field, struct lkr_pair *p)
{
    assert_int_equal(lkr_take(p->write, 30000), LK_OK);
    const char *field = lk_lock_token(p->write);

    assert_int_equal(LKS_INTEGER(server, "HLEN", p->key), 2);
    assert_string_equal(lkr_field(server, p->key, "mode"), "write");
    assert_string_equal(lkr_field(server, p->key, field), "1");
    assert_string_equal(field + strlen(field) - 6, ":write");
    assert_in_range(LKS_INTEGER(server, "PTTL", p->key), 20001, 30000);
    assert_int_equal(lkr_keys(server, p->key), 1);
    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
    assert_int_equal(lkr_keys(server, p->key), 0);
}

TEST(names_keep_the_hash_tag_they_bring, struct lkr_pair *p)
{
    const char *key = lks_key(server, "app:{t1}:rw");
    lk_rwlock *rw = lkr_new(p->clients[0], key);
    struct lks_monitor *monitor = lks_monitor_open(server);

    assert_int_equal(lkr_take(lk_rwlock_read(rw), 30000), LK_OK);
    const char *owner = lk_lock_token(lk_rwlock_read(rw));
    assert_null(strstr(lkr_hold_key(key, owner, 1), "{lkt"));
    assert_in_range(lkr_hold_ms(server, key, owner, 1), 20001, 30000);
    assert_int_equal(lk_lock_release(lk_rwlock_read(rw), NULL), LK_OK);

    assert_int_equal(lkr_messages(monitor, server, key, "0"), 1);
    lks_monitor_close(monitor);
    lk_rwlock_free(rw);
}

TEST(every_hold_has_an_owner_of_its_own, struct lkr_pair *p)
{
    char first[80];

    assert_int_equal(lkr_take(p->read, 30000), LK_OK);
    (void)snprintf(first, sizeof first, "%s", lk_lock_token(p->read));
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
    assert_int_equal(lkr_take(p->read, 30000), LK_OK);

    assert_string_not_equal(lk_lock_token(p->read), first);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
}

/* ---- who is let in --------------------------------------------------------------------------- */

TEST(readers_share_and_keep_writers_out, struct lkr_pair *p)
{
    assert_int_equal(lkr_take(p->read, 30000), LK_OK);
    assert_int_equal(lkr_take(p->other_write, 30000), LK_BUSY);
    assert_int_equal(lkr_take(p->other_read, 30000), LK_OK);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
    assert_int_equal(lkr_take(p->write, 30000), LK_BUSY);
    assert_int_equal(lk_lock_release(p->other_read, NULL), LK_OK);

    assert_int_equal(lkr_take(p->write, 30000), LK_OK);
    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
}

TEST(a_writer_keeps_everybody_out, struct lkr_pair *p)
{
    assert_int_equal(lkr_take(p->write, 30000), LK_OK);
    assert_int_equal(lkr_take(p->other_read, 30000), LK_BUSY);
    assert_int_equal(lkr_take(p->other_write, 30000), LK_BUSY);
    assert_int_equal(lkr_peer_read(server, p->key, peer, "1000") > 0, 1);
    assert_int_equal(lkr_peer_write(server, p->key, peer, "1000") > 0, 1);
    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);

    assert_int_equal(lkr_take(p->other_read, 30000), LK_OK);
    assert_int_equal(lk_lock_release(p->other_read, NULL), LK_OK);
}

/* [41] The same owner would wait for itself. */
TEST(a_reader_who_wants_to_write_is_told_of_the_deadlock, struct lkr_pair *p)
{
    struct lk_error err = {0};
    struct lk_lock_options patient = {.wait_ms = 60000};
    struct lks_monitor *monitor = lks_monitor_open(server);

    assert_int_equal(lkr_take(p->read, 30000), LK_OK);
    double begin = lks_now_ms();
    size_t calls = lks_count(lks_monitor_text(monitor, server), "\"EVAL");
    assert_int_equal(lkr_take(p->write, 30000), LK_DEADLOCK);
    assert_int_equal(lk_lock_acquire(p->write, &patient, &err), LK_DEADLOCK);

    assert_true(lks_now_ms() - begin < SOON_MS);
    assert_int_equal(lks_count(lks_monitor_text(monitor, server), "\"EVAL"), calls); /* unasked */
    assert_int_equal(err.code, LK_DEADLOCK);
    assert_non_null(strstr(err.text, p->key));
    assert_true(lk_held(p->read));
    assert_false(lk_held(p->write));
    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK); /* nothing of it */
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
    assert_int_equal(lkr_take(p->write, 30000), LK_OK);
    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
    lks_monitor_close(monitor);
}

TEST(a_reader_may_read_again_and_gives_it_back_as_often, struct lkr_pair *p)
{
    char owner[80];

    for (unsigned i = 1; i <= 3; i++) {
        assert_int_equal(lkr_take(p->read, (int64_t)10000 * i), LK_OK);
        assert_int_equal(lk_lock_hold_count(p->read), i);
    }
    (void)snprintf(owner, sizeof owner, "%s", lk_lock_token(p->read));
    assert_string_equal(lkr_field(server, p->key, owner), "3");
    for (unsigned k = 1; k <= 3; k++)
        assert_in_range(lkr_hold_ms(server, p->key, owner, k), 20001, 30000);
    for (unsigned i = 3; i > 1; i--) {
        assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
        assert_int_equal(lkr_keys(server, p->key), 1 + (i - 1)); /* the hash, a key per hold */
        assert_true(LKS_INTEGER(server, "PTTL", p->key) >= lk_lock_remaining_ms(p->read));
        assert_true(lkr_hold_ms(server, p->key, owner, 1) >= lk_lock_remaining_ms(p->read));
    }
    assert_int_equal(lkr_take(p->other_write, 1000), LK_BUSY);

    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
    assert_int_equal(lkr_keys(server, p->key), 0);
}

/* ---- with Redisson --------------------------------------------------------------------------- */

/* [37] */
TEST(readers_of_both_kinds_count_each_others_holds, struct lkr_pair *p)
{
    lk_rwlock *third = lkr_new(p->clients[0], p->key);
    lk_lock *third_read = lk_rwlock_read(third);

    assert_int_equal(lkr_take(p->read, 20000), LK_OK);
    assert_int_equal(lkr_peer_read(server, p->key, peer, "60000"), LKR_HELD);
    assert_int_equal(lkr_take(p->other_read, 30000), LK_OK);
    assert_int_equal(lkr_peer_read(server, p->key, second_peer, "50000"), LKR_HELD);
    assert_int_equal(lkr_take(third_read, 40000), LK_OK);
    assert_int_equal(LKS_INTEGER(server, "HLEN", p->key), 6);
    assert_in_range(LKS_INTEGER(server, "PTTL", p->key), 50001, 60000);

    assert_int_equal(lkr_peer_read_unlock(server, p->key, peer), 0);
    assert_in_range(LKS_INTEGER(server, "PTTL", p->key), 40001, 50000); /* of what is left */
    assert_int_equal(lkr_peer_read_unlock(server, p->key, second_peer), 0);
    assert_in_range(LKS_INTEGER(server, "PTTL", p->key), 30001, 40000); /* of ours */
    assert_int_equal(lkr_peer_read(server, p->key, peer, "25000"), LKR_HELD);
    assert_int_equal(lk_lock_release(third_read, NULL), LK_OK);
    assert_in_range(LKS_INTEGER(server, "PTTL", p->key), 25001, 30000);
    assert_int_equal(lk_lock_release(p->other_read, NULL), LK_OK);
    assert_in_range(LKS_INTEGER(server, "PTTL", p->key), 20001, 25000); /* of the peer */
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
    assert_int_equal(LKS_INTEGER(server, "HLEN", p->key), 2);
    assert_int_equal(lkr_peer_read_unlock(server, p->key, peer), 1);
    assert_int_equal(lkr_keys(server, p->key), 0);
    lk_rwlock_free(third);
}

/* [38], the dead reader being the peer */
TEST(a_dead_peer_keeps_nobody_out_once_the_last_living_reader_has_left, struct lkr_pair *p)
{
    struct lks_monitor *monitor = lks_monitor_open(server);

    assert_int_equal(lkr_peer_read(server, p->key, peer, "1000"), LKR_HELD);
    assert_int_equal(lkr_take(p->read, 30000), LK_OK);
    let_hold_end(p, peer);
    assert_int_equal(lkr_take(p->other_write, 1000), LK_BUSY);
    assert_int_equal(lkr_messages(monitor, server, p->key, "0"), 0);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);

    assert_int_equal(LKS_INTEGER(server, "EXISTS", p->key), 0);
    assert_int_equal(lkr_messages(monitor, server, p->key, "0"), 1);
    assert_int_equal(lkr_peer_read_unlock(server, p->key, peer), -1);
    lks_monitor_close(monitor);
}

/* [38], the dead reader being ours */
TEST(a_reader_whose_lease_has_ended_is_none_though_others_keep_the_hash, struct lkr_pair *p)
{
    static const struct lk_script_source source = {.name = "one", .source = "return 1"};
    lk_script *script = lk_script_new(&source);
    struct lk_eval eval = {.script = script};
    lk_reply *reply = NULL;

    assert_int_equal(lkr_take(p->read, 30000), LK_OK);
    assert_int_equal(lkr_take(p->other_read, 30000), LK_OK);
    assert_int_equal(lk_guarded_eval(p->read, &eval, 0, &reply, NULL), LK_OK);
    lk_reply_free(reply);
    let_hold_end(p, lk_lock_token(p->read));

    assert_int_equal(lk_guarded_eval(p->read, &eval, 0, &reply, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_NOT_OWNER);
    assert_string_equal(lkr_field(server, p->key, lk_lock_token(p->read)), "(nil)");
    assert_string_equal(lkr_field(server, p->key, lk_lock_token(p->other_read)), "1");
    assert_in_range(LKS_INTEGER(server, "PTTL", p->key), 20001, 30000);
    assert_int_equal(lk_guarded_eval(p->other_read, &eval, 0, &reply, NULL), LK_OK);
    lk_reply_free(reply);
    LKS_DO(server, "DEL", p->key); /* its hold key stays */
    assert_int_equal(lk_guarded_eval(p->other_read, &eval, 0, &reply, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_lock_release(p->other_read, NULL), LK_NOT_OWNER);
    lk_script_free(script);
}

TEST(a_release_sweeps_the_fields_of_dead_readers, struct lkr_pair *p)
{
    assert_int_equal(lkr_peer_read(server, p->key, peer, "30000"), LKR_HELD);
    assert_int_equal(lkr_peer_read(server, p->key, second_peer, "30000"), LKR_HELD);
    assert_int_equal(lkr_peer_read(server, p->key, second_peer, "20000"), LKR_HELD);
    assert_int_equal(lkr_take(p->read, 30000), LK_OK);
    let_hold_end(p, peer);
    let_hold_end(p, second_peer); /* the first of two */
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);

    assert_string_equal(lkr_field(server, p->key, peer), "(nil)");
    assert_string_equal(lkr_field(server, p->key, second_peer), "2");
    assert_in_range(LKS_INTEGER(server, "PTTL", p->key), 10001, 20000);
    assert_int_equal(lkr_peer_read_unlock(server, p->key, second_peer), 1);
}

TEST(who_leaves_before_the_others_end_does_not_look_at_them, struct lkr_pair *p)
{
    enum { READERS = 100 };
    char other[64];

    for (int i = 0; i < READERS; i++) {
        (void)snprintf(other, sizeof other, "b3cc6b73-5d50-4a44-8b30-c5a4b5b1e6d1:%d", i);
        assert_int_equal(lkr_peer_read(server, p->key, other, "30000"), LKR_HELD);
    }
    assert_int_equal(lkr_take(p->read, 20000), LK_OK);
    LKS_DO(server, "CONFIG", "RESETSTAT");
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
    const char *calls = strstr(LKS_TEXT(server, "INFO", "commandstats"), "cmdstat_pttl:calls=");
    assert_non_null(calls);
    assert_in_range(strtol(strchr(calls, '=') + 1, NULL, 10), 1, 2);
    assert_in_range(LKS_INTEGER(server, "PTTL", p->key), 20001, 30000);
}

TEST(dead_readers_alone_do_not_keep_a_writer_out, struct lkr_pair *p)
{
    assert_int_equal(lkr_peer_read(server, p->key, peer, "30000"), LKR_HELD);
    assert_int_equal(lkr_peer_read(server, p->key, peer, "30000"), LKR_HELD); /* twice */
    assert_int_equal(lkr_take(p->write, 30000), LK_BUSY);
    let_hold_end(p, peer);
    assert_int_equal(lkr_take(p->write, 30000), LK_BUSY); /* its second hold */
    LKS_DO(server, "DEL", lkr_hold_key(p->key, peer, 2));

    assert_int_equal(lkr_take(p->write, 30000), LK_OK);
    assert_int_equal(LKS_INTEGER(server, "HLEN", p->key), 2);
    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
}

TEST(a_peers_write_lock_is_respected_until_its_last_unlock, struct lkr_pair *p)
{
    assert_int_equal(lkr_peer_write(server, p->key, peer, "30000"), LKR_HELD);
    assert_int_equal(lkr_peer_write(server, p->key, peer, "30000"), LKR_HELD);
    assert_int_equal(lkr_take(p->read, 1000), LK_BUSY);
    assert_int_equal(lkr_take(p->write, 1000), LK_BUSY);
    assert_int_equal(lkr_peer_write_unlock(server, p->key, peer), 0);
    assert_int_equal(lkr_take(p->read, 1000), LK_BUSY);
    assert_int_equal(lkr_peer_write_unlock(server, p->key, peer), 1);

    assert_int_equal(lkr_take(p->read, 1000), LK_OK);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
}

/* ---- the last millisecond ------------------------------------------------------------------------ */

/* Asked for without a pause, it is asked for while less than a millisecond of the lease is left, too: PTTL 0. */
TEST(who_comes_in_a_writers_last_millisecond_waits_for_its_end, struct lkr_pair *p)
{
    for (int i = 0; i < 10; i++) {
        assert_int_equal(lkr_take(p->other_write, 20), LK_OK);
        while (lkr_take(p->write, 5000) == LK_BUSY) {}
        assert_int_equal(LKS_INTEGER(server, "HLEN", p->key), 2); /* the mode and its own field */
        assert_int_equal(lk_lock_release(p->other_write, NULL), LK_NOT_OWNER);
        assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
    }
}

/* Redisson's readers prolong the lock by what PTTL said a moment before: it may outlast its last hold. */
TEST(a_lock_that_outlasts_its_last_reader_a_little_ends_with_it, struct lkr_pair *p)
{
    char longer_ms[24];

    assert_int_equal(lkr_take(p->read, 30000), LK_OK);
    assert_int_equal(lkr_take(p->other_read, 30), LK_OK);
    lks_nap(40);
    (void)snprintf(longer_ms, sizeof longer_ms, "%lld", LKS_INTEGER(server, "PTTL", p->key) + 50);
    LKS_DO(server, "PEXPIRE", p->key, longer_ms);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
    assert_int_equal(lkr_keys(server, p->key), 0);
}

/* ---- bad use --------------------------------------------------------------------------------- */

TEST(bad_use_gets_a_status, struct lkr_pair *p)
{
    struct lk_error err = {0};

    assert_null(lk_rwlock_new(NULL, p->key, &err));
    assert_int_equal(err.code, LK_INVALID);
    assert_null(lk_rwlock_new(p->clients[0], NULL, &err));
    assert_null(lk_rwlock_new(p->clients[0], "", NULL));
    assert_null(lk_rwlock_read(NULL));
    assert_null(lk_rwlock_write(NULL));
    assert_int_equal(lkr_take(lk_rwlock_read(NULL), 0), LK_INVALID);
    lk_rwlock_free(NULL);
    LKS_DO(server, "RPUSH", p->key, "not a lock");
    assert_int_equal(lk_lock_acquire(p->read, NULL, &err), LK_SERVER);
    assert_non_null(strstr(err.text, "WRONGTYPE"));
    assert_int_equal(lk_lock_acquire(p->write, NULL, &err), LK_SERVER);
    assert_int_equal(lk_lock_force_release(p->write, &err), LK_SERVER);
    assert_int_equal(lkr_keys(server, p->key), 1);
    LKS_DO(server, "DEL", p->key);
}

TEST(a_side_cannot_be_freed_on_its_own, struct lkr_pair *p)
{
    lk_lock_free(p->read);

    assert_int_equal(lkr_take(p->read, 30000), LK_OK);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
}

TEST(a_freed_lock_leaves_its_holds_to_their_leases, struct lkr_pair *p)
{
    lk_rwlock *rw = lkr_new(p->clients[0], p->key);

    assert_int_equal(
        lk_lock_acquire(lk_rwlock_read(rw),
                        &(struct lk_lock_options){.lease_ms = 3000, .is_renewed = true}, NULL),
        LK_OK);
    lk_rwlock_free(rw);

    assert_int_equal(lkr_take(p->write, 5000), LK_BUSY);
    LKS_EVENTUALLY(lkr_take(p->write, 5000) == LK_OK, SOON_MS); /* nobody renews it */
    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
    LKS_EVENTUALLY(lkr_keys(server, p->key) == 0, SOON_MS);
}
