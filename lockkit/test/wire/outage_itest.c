/*
 * A server that goes away, comes back, hangs up, or is busy: what callers are told, and when.
 */
#include "test/support/lk_busy.h"

static struct lks_server *server; /* TCP and unix socket */

/* One round of lock and unlock. */
static lk_status use(lk_client *client, const char *key, struct lk_error *err)
{
    lk_lock *lock = lks_mutex(client, key);
    lk_status status = lk_lock_acquire(lock, &(struct lk_lock_options){.lease_ms = 1000}, err);

    if (status == LK_OK) status = lk_lock_release(lock, err);
    lk_lock_free(lock);
    return status;
}

static void kill_and_restart(lk_client *client)
{
    struct lk_error err = {0};

    assert_int_equal(use(client, "restart", NULL), LK_OK);
    lks_server_kill(server);
    double begin = lks_now_ms();
    for (int i = 0; i < 20; i++)
        assert_int_equal(use(client, "restart", &err), LK_UNREACHABLE);
    assert_true(lks_now_ms() - begin < 5000); /* not all waited for their command_ms: 20 s */
    assert_non_null(strstr(err.text, "127.0.0.1:"));
    lks_server_restart(server);
    LKS_EVENTUALLY(use(client, "restart", NULL) == LK_OK, 5000);
}

TEST(a_server_that_is_down_is_unreachable_at_once_and_then_back)
{
    lk_client *client = lks_client_with(
        server, (struct lk_client_options){.url = server->tcp_url, .backoff_ms = 50});

    kill_and_restart(client);
    kill_and_restart(client);
    lk_client_close(client);
}

TEST(connections_the_server_closed_are_replaced_unseen)
{
    lk_client *client = lks_client(server);

    for (int i = 0; i < 10; i++) {
        assert_int_equal(use(client, "replaced", NULL), LK_OK);
        LKS_DO(server, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    }
    assert_int_equal(use(client, "replaced", NULL), LK_OK);
    lk_client_close(client);
}

static void try_a_question_too_large(const char *url)
{
    enum { LEN = 8000000 }; /* more than the socket's buffers hold */
    lk_client *client =
        lks_client_with(server, (struct lk_client_options){.url = url, .command_ms = 1500});
    char *large = calloc(1, LEN);
    struct lk_bytes set[] = {LK_BYTES("SET"), LK_BYTES("too-large"), {large, LEN}};
    struct lk_error err = {0};
    lk_reply *reply = NULL;

    assert_non_null(large);
    lks_server_pause(server);
    lk_status status = lk_client_call(client, &(struct lk_command){set, 3}, 1, 0, &reply, &err);
    lks_server_resume(server);

    assert_int_equal(status, LK_UNKNOWN); /* the server may yet read it all, for all we know */
    assert_null(reply);
    assert_int_equal(err.code, LK_UNKNOWN);
    LKS_EVENTUALLY(use(client, "after-part", NULL) == LK_OK, 5000);
    lk_client_close(client);
    free(large);
}

TEST(a_question_that_went_out_in_part_is_unknown)
{
    try_a_question_too_large(server->url);
    try_a_question_too_large(server->tcp_url);
}

TEST(closing_does_not_wait_for_a_server_that_is_down)
{
    lk_client *client = lks_client(server);

    lks_server_kill(server);
    assert_int_equal(use(client, "down", NULL), LK_UNREACHABLE);
    lks_nap(50); /* it is trying to reconnect */
    double begin = lks_now_ms();
    lk_client_close(client);
    double took_ms = lks_now_ms() - begin;
    lks_server_restart(server);

    assert_true(took_ms < 5000);
}

/* ---- it answers, but not now ------------------------------------------------------------------------- */

TEST(a_wait_that_was_refused_to_its_end_says_by_what)
{
    lk_client *client = lks_client(server);
    lk_lock *lock = lks_mutex(client, "refused");
    struct lk_error err = {0};
    pthread_t whose = lks_busy_begin(server);

    lk_status status = lk_lock_wait(lock, 300, &err);
    lk_status at_once = lk_lock_try(lock, NULL);
    lks_busy_end(server, whose);

    assert_int_equal(status, LK_UNREACHABLE);
    assert_int_equal(at_once, LK_UNREACHABLE);
    assert_non_null(strstr(err.text, "BUSY Redis is busy"));
    lk_lock_free(lock);
    lk_client_close(client);
}

/* SELECT is refused as well. */
TEST(a_new_connection_waits_for_a_busy_server_too)
{
    lk_client *client = lks_client_with(
        server, (struct lk_client_options){.url = lks_format("%s/1", server->tcp_url),
                                           .may_be_down = true,
                                           .backoff_ms = 50});
    lk_lock *lock = lks_mutex(client, "selected");
    struct lks_wait wait;

    LKS_DO(server, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    pthread_t whose = lks_busy_begin(server);
    lks_wait_start(&wait, lock, 60000);
    lks_nap(200);
    lks_busy_end(server, whose);

    assert_int_equal(lks_wait_end(&wait), LK_OK);
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    lk_client_close(client);
}

/* Nobody repeats it, and its lease is far longer. */
TEST(a_release_that_was_refused_is_made_up_for)
{
    lk_client *client = lks_client(server);
    lk_lock *lock = lks_mutex(client, "owed");
    struct lk_error err = {0};

    assert_int_equal(lks_acquire(lock, 0, 600000), LK_OK);
    assert_false(lk_client_has_pending_undo(client));
    pthread_t whose = lks_busy_begin(server);
    lk_status status = lk_lock_release(lock, &err);
    bool is_owed = lk_client_has_pending_undo(client);
    lks_nap(500); /* it is refused again meanwhile */
    bool is_still_owed = lk_client_has_pending_undo(client);
    lks_busy_end(server, whose);
    double over_ms = lks_now_ms();

    assert_int_equal(status, LK_UNREACHABLE);
    assert_non_null(strstr(err.text, "BUSY Redis is busy"));
    assert_true(is_owed && is_still_owed);
    LKS_EVENTUALLY(!lk_client_has_pending_undo(client), 10000);
    print_message("# made up for after %.0f ms\n", lks_now_ms() - over_ms);
    assert_int_equal(LKS_INTEGER(server, "EXISTS", "owed"), 0);
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK); /* who repeats it all the same */
    assert_int_equal(use(client, "owed", NULL), LK_OK);
    lk_lock_free(lock);
    lk_client_close(client);
}

TEST(so_is_a_release_of_permits)
{
    lk_client *client = lks_client(server);
    lk_permits *permits = lk_permits_new(client, "owed-permits", NULL);
    struct lk_permit taken[2];

    assert_int_equal(lk_permits_try_set(permits, 2, NULL), LK_OK);
    assert_int_equal(lk_permits_acquire(permits, &(struct lk_permit_options){.lease_ms = 600000},
                                        taken, 2, NULL),
                     LK_OK);
    pthread_t whose = lks_busy_begin(server);
    lk_status status = lk_permits_release(permits, taken, 2, NULL);
    bool is_owed = lk_client_has_pending_undo(client);
    lks_busy_end(server, whose);

    assert_int_equal(status, LK_UNREACHABLE);
    assert_true(is_owed);
    LKS_EVENTUALLY(!lk_client_has_pending_undo(client), 10000);
    assert_string_equal(LKS_TEXT(server, "GET", "owed-permits"), "2");
    lk_permits_free(permits);
    lk_client_close(client);
}

/* Also after one that failed in between. */
AFTER_EACH()
{
    if (server->pid == 0) lks_server_restart(server);
    lks_server_resume(server);
}

BEFORE_ALL()
{
    server = lks_server_start(&(struct lks_server_options){.is_tcp = true});
}

AFTER_ALL()
{
    lks_server_stop(server);
}
