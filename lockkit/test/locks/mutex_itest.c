/*
 * The mutex on a real server: what lies on the wire, who gets the lock, what a release does.
 */
#include "test/support/lk_support.h"

LKS_SERVER(lks_server_any());
LKS_PATIENT();

struct fixture {
    lk_client *client;
    lk_lock *mine, *other; /* two handles on one key */
    const char *key;
};

SET_UP(struct fixture, f)
{
    f->key = lks_new_key(server, "lock");
    f->client = lks_client(server);
    f->mine = lks_mutex(f->client, f->key);
    f->other = lks_mutex(f->client, f->key);
}

TEAR_DOWN(struct fixture, f)
{
    lk_lock_free(f->mine);
    lk_lock_free(f->other);
    lk_client_close(f->client);
    LKS_DO(server, "DEL", f->key);
}

static lk_status acquire_lease(lk_lock *lock, int64_t lease_ms)
{
    return lk_lock_acquire(lock, &(struct lk_lock_options){.lease_ms = lease_ms}, NULL);
}

TEST(a_held_lock_is_a_string_of_32_hex_digits_with_a_ttl, struct fixture *f)
{
    assert_int_equal(acquire_lease(f->mine, 20000), LK_OK);

    assert_string_equal(LKS_TEXT(server, "TYPE", f->key), "string");
    const char *token = LKS_TEXT(server, "GET", f->key);
    assert_int_equal(strlen(token), 32);
    assert_int_equal(strspn(token, "0123456789abcdef"), 32);
    assert_in_range(LKS_INTEGER(server, "PTTL", f->key), 10000, 20000);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
    assert_int_equal(LKS_INTEGER(server, "EXISTS", f->key), 0);
}

TEST(a_key_as_redis_py_writes_it_is_respected, struct fixture *f)
{
    struct lk_error err = {0};

    LKS_DO(server, "SET", f->key, "b2f1c9e0d7a411ee9d2f0242ac120002", "NX", "PX", "60000");
    assert_int_equal(lk_lock_acquire(f->mine, NULL, &err), LK_BUSY);

    assert_int_equal(err.code, LK_BUSY);
    assert_non_null(strstr(err.text, f->key));
    assert_string_equal(LKS_TEXT(server, "GET", f->key), "b2f1c9e0d7a411ee9d2f0242ac120002");
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK); /* nothing of ours */
    assert_int_equal(LKS_INTEGER(server, "EXISTS", f->key), 1);
}

TEST(a_peer_with_the_same_layout_respects_ours, struct fixture *f)
{
    assert_int_equal(acquire_lease(f->mine, 5000), LK_OK);
    assert_string_equal(LKS_TEXT(server, "SET", f->key, "theirs", "NX", "PX", "100"), "(nil)");

    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
    assert_string_equal(LKS_TEXT(server, "SET", f->key, "theirs", "NX", "PX", "100"), "OK");
}

TEST(who_comes_second_is_told_busy, struct fixture *f)
{
    assert_int_equal(acquire_lease(f->mine, 5000), LK_OK);
    assert_int_equal(acquire_lease(f->other, 5000), LK_BUSY);
    assert_true(lk_held(f->mine));
    assert_false(lk_held(f->other));
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);

    assert_int_equal(acquire_lease(f->other, 5000), LK_OK);
    assert_int_equal(lk_lock_release(f->other, NULL), LK_OK);
}

TEST(different_names_do_not_meet, struct fixture *f)
{
    lk_lock *elsewhere = lks_mutex(f->client, lks_key(server, "elsewhere"));

    assert_int_equal(acquire_lease(f->mine, 5000), LK_OK);
    assert_int_equal(acquire_lease(elsewhere, 5000), LK_OK);

    assert_int_equal(lk_lock_release(elsewhere, NULL), LK_OK);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
    lk_lock_free(elsewhere);
}

TEST(a_lease_ends_and_another_takes_it, struct fixture *f)
{
    double begin = lks_now_ms();

    assert_int_equal(acquire_lease(f->mine, 1000), LK_OK);
    LKS_EVENTUALLY(acquire_lease(f->other, 5000) == LK_OK, 10000);

    assert_true(lks_now_ms() - begin >= 999);
    assert_false(lk_held(f->mine));
    assert_int_equal(lk_lock_release(f->other, NULL), LK_OK);
}

TEST(releasing_a_lost_lock_leaves_the_new_holder_alone, struct fixture *f)
{
    struct lk_error err = {0};

    assert_int_equal(acquire_lease(f->mine, 5000), LK_OK);
    LKS_DO(server, "DEL", f->key);
    assert_int_equal(acquire_lease(f->other, 60000), LK_OK);
    const char *token = LKS_TEXT(server, "GET", f->key);
    assert_int_equal(lk_lock_release(f->mine, &err), LK_NOT_OWNER);

    assert_int_equal(err.code, LK_NOT_OWNER);
    assert_string_equal(LKS_TEXT(server, "GET", f->key), token);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK); /* settled: nothing to release */
    assert_int_equal(lk_lock_release(f->other, NULL), LK_OK);
}

TEST(what_somebody_else_holds_by_now_is_not_renewed, struct fixture *f)
{
    assert_int_equal(acquire_lease(f->mine, 5000), LK_OK);
    LKS_DO(server, "SET", f->key, "somebody", "PX", "60000");
    assert_int_equal(lk_lock_renew(f->mine, 90000, NULL), LK_LOST);
    assert_string_equal(LKS_TEXT(server, "GET", f->key), "somebody");
    assert_in_range(LKS_INTEGER(server, "PTTL", f->key), 50000, 60000);
}

TEST(what_has_ended_is_not_brought_back_by_a_renewal, struct fixture *f)
{
    assert_int_equal(acquire_lease(f->mine, 5000), LK_OK);
    LKS_DO(server, "DEL", f->key);
    assert_int_equal(lk_lock_renew(f->mine, 9000, NULL), LK_LOST);
    assert_int_equal(LKS_INTEGER(server, "EXISTS", f->key), 0);
}

TEST(a_renewal_lengthens_and_never_shortens, struct fixture *f)
{
    assert_int_equal(acquire_lease(f->mine, 20000), LK_OK);
    assert_int_equal(lk_lock_renew(f->mine, 1000, NULL), LK_OK);
    assert_in_range(LKS_INTEGER(server, "PTTL", f->key), 15000, 20000);
    assert_in_range(lk_lock_remaining_ms(f->mine), 15000, 20000);
    assert_int_equal(lk_lock_renew(f->mine, 60000, NULL), LK_OK);
    assert_in_range(LKS_INTEGER(server, "PTTL", f->key), 50000, 60000);
}

TEST(release_is_idempotent_and_takes_null, struct fixture *f)
{
    assert_int_equal(lk_lock_release(NULL, NULL), LK_OK);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
    assert_int_equal(acquire_lease(f->mine, 5000), LK_OK);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
    assert_int_equal(acquire_lease(f->other, 5000), LK_OK);

    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK); /* the other's hold is not ours */
    assert_int_equal(LKS_INTEGER(server, "EXISTS", f->key), 1);
    assert_int_equal(lk_lock_release(f->other, NULL), LK_OK);
    lk_lock_free(NULL);
}

TEST(what_remains_is_an_upper_bound_that_holds, struct fixture *f)
{
    assert_int_equal(lk_lock_remaining_ms(f->mine), 0);
    assert_int_equal(acquire_lease(f->mine, 10000), LK_OK);
    for (int i = 0; i < 20; i++) {
        long long server_ms = LKS_INTEGER(server, "PTTL", f->key); /* before ours */
        int64_t local_ms = lk_lock_remaining_ms(f->mine);

        assert_true(local_ms <= 10000 - 100 - 2); /* 1 % and 2 ms of drift */
        assert_true(local_ms <= server_ms);
        lks_nap(1);
    }
    assert_true(lk_held(f->mine));
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
    assert_false(lk_held(f->mine));
}

TEST(the_local_end_comes_before_the_servers, struct fixture *f)
{
    long long server_ms = 0;

    assert_int_equal(acquire_lease(f->mine, 1000), LK_OK);
    while (server_ms != -2) {
        server_ms = LKS_INTEGER(server, "PTTL", f->key);
        if (server_ms == -2) assert_false(lk_held(f->mine)); /* gone there: gone here, long since */
        lks_nap(1);
    }

    assert_int_equal(lk_lock_remaining_ms(f->mine), 0);
    (void)lk_lock_release(f->mine, NULL);
}

TEST(a_key_is_any_bytes_from_1_to_512, struct fixture *f)
{
    struct lk_error err = {0};
    char key[514];

    memset(key, 'k', sizeof key);
    key[513] = '\0';
    assert_null(lk_mutex_new(f->client, key, &err));
    assert_int_equal(err.code, LK_INVALID);
    assert_null(lk_mutex_new(f->client, "", &err));
    assert_null(lk_mutex_new(f->client, NULL, NULL));
    key[512] = '\0';
    memcpy(key, server->prefix, strlen(server->prefix));
    memcpy(key + 100, " \r\n%s{}*\"'\xff\x01", 12);
    lk_lock *lock = lks_mutex(f->client, key);
    assert_int_equal(acquire_lease(lock, 5000), LK_OK);
    assert_int_equal(LKS_INTEGER(server, "EXISTS", key), 1);
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);

    assert_int_equal(LKS_INTEGER(server, "EXISTS", key), 0);
    lk_lock_free(lock);
}

TEST(a_holder_is_not_let_in_twice, struct fixture *f)
{
    assert_int_equal(acquire_lease(f->mine, 5000), LK_OK);
    assert_int_equal(acquire_lease(f->mine, 5000), LK_INVALID); /* not reentrant */

    assert_true(lk_held(f->mine));
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
}

TEST(a_freed_handle_leaves_its_hold_to_the_lease, struct fixture *f)
{
    lk_lock *lock = lks_mutex(f->client, f->key);

    assert_int_equal(
        lk_lock_acquire(lock, &(struct lk_lock_options){.lease_ms = 3000, .is_renewed = true},
                        NULL),
        LK_OK);
    lk_lock_free(lock);

    assert_int_equal(acquire_lease(f->mine, 5000), LK_BUSY);
    LKS_DO(server, "PEXPIRE", f->key, "1500"); /* a renewal would come before and prolong it */
    LKS_EVENTUALLY(acquire_lease(f->mine, 5000) == LK_OK, 10000);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
}
