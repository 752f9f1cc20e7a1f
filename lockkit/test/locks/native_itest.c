/*
 * Compare-and-delete and compare-and-set as commands, where the server has them (Valkey 9, Redis
 * 8.4), else as scripts: whatever redis-server is found first is asked, so these tests hold for both
 * kinds. `make interop` runs them on Valkey.
 */
#include "test/support/lk_support.h"

LKS_SERVER(lks_server_start(NULL));

static bool has_native(void)
{
    lk_reply *answer = LKS_ASK(server, "COMMAND", "INFO", "DELIFEQ", "DELEX");
    bool has_it =
        lk_reply_count(lk_reply_at(answer, 0)) > 0 || lk_reply_count(lk_reply_at(answer, 1)) > 0;

    lk_reply_free(answer);
    return has_it;
}

static void take(lk_lock *lock, int64_t lease_ms)
{
    assert_int_equal(lk_lock_acquire(lock, &(struct lk_lock_options){.lease_ms = lease_ms}, NULL),
                     LK_OK);
}

/* Five times; all words that the server heard meanwhile. */
static const char *take_renew_release(struct lks_monitor *monitor, lk_lock *lock)
{
    for (int i = 0; i < 5; i++) {
        take(lock, 5000);
        assert_int_equal(lk_lock_renew(lock, 6000, NULL), LK_OK);
        assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    }
    return lks_monitor_text(monitor, server);
}

TEST(a_connection_asks_once_what_its_server_can)
{
    lk_client *client = lks_client_with(server, (struct lk_client_options){.pool_size = 1});
    lk_lock *lock = lks_mutex(client, lks_key(server, "once"));
    struct lks_monitor *monitor = lks_monitor_open(server);
    const char *text = take_renew_release(monitor, lock);

    assert_int_equal(lks_count(text, "\"COMMAND\" \"INFO\""), 1);
    lks_monitor_close(monitor);
    lk_lock_free(lock);
    lk_client_close(client);
}

TEST(the_command_is_used_where_there_is_one_and_the_script_elsewhere)
{
    lk_client *client = lks_client_with(server, (struct lk_client_options){.pool_size = 1});
    lk_lock *lock = lks_mutex(client, lks_key(server, "which"));
    bool is_native = has_native();
    struct lks_monitor *monitor = lks_monitor_open(server);
    const char *text = take_renew_release(monitor, lock);
    size_t deletes = lks_count(text, "\"DELIFEQ\" \"") + lks_count(text, "\"DELEX\" \"");
    size_t asked = lks_count(text, "\"DELIFEQ\" \"DELEX\"");

    assert_int_equal(deletes - asked, is_native ? 5 : 0);
    /* The first one asked, behind the script, which may not have been known. */
    assert_int_equal(lks_count(text, "\"IFEQ\"") >= 4, is_native);
    assert_int_equal(lks_count(text, "\"EVALSHA\"") > 2, !is_native);
    lks_monitor_close(monitor);
    lk_lock_free(lock);
    lk_client_close(client);
}

TEST(who_may_not_use_the_command_runs_the_script)
{
    lk_client *client = lks_client_with(server, (struct lk_client_options){.pool_size = 1});
    lk_lock *lock = lks_mutex(client, lks_key(server, "forbidden"));

    LKS_DO(server, "ACL", "SETUSER", "default", "-delifeq"); /* an error where there is none */
    LKS_DO(server, "ACL", "SETUSER", "default", "-delex");
    for (int i = 0; i < 5; i++) {
        take(lock, 5000);
        assert_int_equal(lk_lock_renew(lock, 6000, NULL), LK_OK);
        assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
        assert_int_equal(LKS_INTEGER(server, "EXISTS", lks_key(server, "forbidden")), 0);
    }
    LKS_DO(server, "ACL", "SETUSER", "default", "+@all");
    lk_lock_free(lock);
    lk_client_close(client);
}

TEST(what_somebody_else_holds_by_now_is_neither_deleted_nor_renewed)
{
    lk_client *client = lks_client_with(server, (struct lk_client_options){.pool_size = 1});
    const char *key = lks_key(server, "foreign");
    lk_lock *lock = lks_mutex(client, key);

    for (int i = 0; i < 2; i++) { /* the second time natively */
        take(lock, 5000);
        LKS_DO(server, "SET", key, "somebody", "PX", "60000");
        assert_int_equal(lk_lock_renew(lock, 9000, NULL), LK_LOST);
        assert_string_equal(LKS_TEXT(server, "GET", key), "somebody");
        assert_true(LKS_INTEGER(server, "PTTL", key) > 50000);
        assert_int_equal(lk_lock_release(lock, NULL), LK_NOT_OWNER);
        assert_string_equal(LKS_TEXT(server, "GET", key), "somebody");
        LKS_DO(server, "DEL", key);
    }
    lk_lock_free(lock);
    lk_client_close(client);
}

TEST(what_has_ended_is_not_brought_back)
{
    lk_client *client = lks_client_with(server, (struct lk_client_options){.pool_size = 1});
    const char *key = lks_key(server, "ended");
    lk_lock *lock = lks_mutex(client, key);

    for (int i = 0; i < 2; i++) {
        take(lock, 5000);
        LKS_DO(server, "DEL", key);
        assert_int_equal(lk_lock_renew(lock, 9000, NULL), LK_LOST);
        assert_int_equal(LKS_INTEGER(server, "EXISTS", key), 0);
        (void)lk_lock_release(lock, NULL);
    }
    lk_lock_free(lock);
    lk_client_close(client);
}

TEST(a_renewal_lengthens_and_never_shortens)
{
    lk_client *client = lks_client_with(server, (struct lk_client_options){.pool_size = 1});
    const char *key = lks_key(server, "length");
    lk_lock *lock = lks_mutex(client, key);

    for (int i = 0; i < 2; i++) {
        take(lock, 20000);
        assert_int_equal(lk_lock_renew(lock, 1000, NULL), LK_OK);
        assert_true(LKS_INTEGER(server, "PTTL", key) > 15000);
        assert_true(lk_lock_remaining_ms(lock) > 15000);
        assert_int_equal(lk_lock_renew(lock, 60000, NULL), LK_OK);
        assert_true(LKS_INTEGER(server, "PTTL", key) > 50000);
        assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    }
    lk_lock_free(lock);
    lk_client_close(client);
}
