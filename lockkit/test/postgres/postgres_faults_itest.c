/*
 * What may happen to server, connection and row between any two verbs of a lock in PostgreSQL, and to any of their
 * answers.
 */
#include <signal.h>
#include <stdatomic.h>

#include "lockkit/postgres.h"

#include "lk_postgres.h"

enum { SOON_MS = 1000, LONGER_MS = 3000 };

LKP_SERVER();

static const char *left_of(const char *key)
{
    return lkp_ask(server,
                   "SELECT count(*) FROM lockkit.lock WHERE name = '%s' AND expires > now()", key);
}

/* ---- what may happen ------------------------------------------------------------------------------- */

TEST(a_hold_outlives_a_crash_of_the_server_and_a_wait_goes_on)
{
    lk_client *client = lkp_client(server);
    lk_client *other = lkp_client(server);
    atomic_int losses = 0;
    lk_lock *lock = lkp_fenced(client, "crash");
    lk_lock *waiter = lkp_fenced(other, "crash");
    struct lks_wait wait;
    struct lk_lock_options options = {
        .lease_ms = 20000, .is_renewed = true, .on_lost = lks_count_loss, .on_lost_arg = &losses};

    assert_int_equal(lk_lock_acquire(lock, &options, NULL), LK_OK);
    lks_wait_start(&wait, waiter, 60000);
    lks_nap(300);
    lkp_server_restart(server);
    assert_true(lk_held(lock));
    LKS_EVENTUALLY(lk_lock_renew(lock, 0, NULL) == LK_OK, 5000);
    assert_int_equal(atomic_load(&losses), 0);
    assert_false(atomic_load(&wait.has_ended));
    lks_nap(SOON_MS); /* it listens again */
    double released_ms = lks_now_ms();
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    print_message("# after the crash: had %.0f ms after the release\n",
                  wait.ended_at_ms - released_ms);
    assert_int_equal(lk_lock_close(waiter, NULL), LK_OK);
    lk_client_close(other);
    lk_client_close(client);
}

/* A server that comes back from nothing has no table; whoever waits makes it anew. */
TEST(a_wait_goes_on_when_the_table_has_gone)
{
    lk_client *client = lkp_client(server);
    lk_lock *holder = lkp_fenced(client, "gone");
    lk_lock *waiter = lkp_fenced(client, "gone");
    struct lks_wait wait;

    assert_int_equal(lks_acquire(holder, 0, LONGER_MS), LK_OK);
    lks_wait_start(&wait, waiter, LONGER_MS);
    lks_nap(100);
    (void)lkp_ask(server, "DROP SCHEMA lockkit CASCADE");
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    assert_int_equal(lk_lock_release(holder, NULL), LK_NOT_OWNER);
    lk_lock_free(holder);
    assert_int_equal(lk_lock_close(waiter, NULL), LK_OK);
    lk_client_close(client);
}

/* That a statement's table is missing says nothing of the next one on that connection. */
TEST(a_table_that_lacks_says_nothing_of_what_is_not_answered)
{
    lk_client *client =
        lkp_client_with(server, (struct lk_client_options){.pool_size = 1, .command_ms = 300});
    lk_lock *lock = lkp_fenced(client, "lacks");
    const struct lk_postgres_work nowhere = {.sql = "SELECT 1 FROM public.nowhere"};

    for (int i = 0; i < 2; i++) {
        assert_int_equal(lks_acquire(lock, 0, 60000), LK_OK);
        if (i == 1) assert_int_equal(lk_postgres_ask(client, &nowhere, 0, NULL, NULL), LK_SERVER);
        lkp_server_signal(server, SIGSTOP);
        lk_status status = lk_lock_release(lock, NULL);
        lkp_server_signal(server, SIGCONT);
        assert_int_equal(status, LK_UNKNOWN);
        lks_nap(500);
    }
    lk_lock_free(lock);
    lk_client_close(client);
}

TEST(a_server_that_is_away_is_waited_for_as_long_as_asked)
{
    lk_client *client = lkp_client(server);
    lk_lock *lock = lkp_fenced(client, "away");
    struct lk_error err = {0};
    struct lk_lock_options options = {.wait_ms = 700};

    lkp_server_kill(server);
    double begin = lks_now_ms();
    lk_status status = lk_lock_acquire(lock, &options, &err);
    double took_ms = lks_now_ms() - begin;
    lkp_server_restart(server);
    print_message("# %s after %.0f ms: %s\n", lk_status_name(status), took_ms, err.text);
    assert_int_equal(status, LK_UNREACHABLE);
    assert_true(took_ms >= 700 && took_ms < 700 + 2 * SOON_MS);
    assert_int_equal(lks_acquire(lock, 5000, 0), LK_OK);
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    lk_client_close(client);
}

/* The row is locked by somebody's transaction when the acquire comes, and let go when nobody waits for the answer. */
TEST(an_acquire_that_was_not_answered_leaves_no_orphan)
{
    lk_client *client = lkp_client_with(server, (struct lk_client_options){.command_ms = 300});
    lk_lock *lock = lkp_fenced(client, "orphan");
    struct lk_error err = {0};
    PGconn *raw = PQconnectdb(server->url);

    assert_int_equal(lks_acquire(lock, 0, 0), LK_OK);
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    PQclear(PQexec(raw, "BEGIN"));
    PQclear(PQexec(raw, "SELECT 1 FROM lockkit.lock WHERE name = 'orphan' FOR UPDATE"));
    lk_status status = lk_lock_acquire(lock, NULL, &err);
    print_message("# %s: %s\n", lk_status_name(status), err.text);
    assert_int_equal(status, LK_UNKNOWN);
    PQclear(PQexec(raw, "COMMIT"));
    PQfinish(raw);
    lks_nap(500);
    assert_string_equal(left_of("orphan"), "0");
    assert_int_equal(lks_acquire(lock, 0, 0), LK_OK);
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    lk_client_close(client);
}

/* All its sessions are ended from outside, in a hold and in a wait. */
TEST(sessions_that_are_ended_cost_nobody_his_lock)
{
    lk_client *client = lkp_client(server);
    lk_lock *lock = lkp_fenced(client, "sessions");
    lk_lock *waiter = lkp_fenced(client, "sessions");
    struct lks_wait wait;
    struct lk_lock_options options = {.lease_ms = 3000, .is_renewed = true};

    assert_int_equal(lk_lock_acquire(lock, &options, NULL), LK_OK);
    lks_wait_start(&wait, waiter, 60000);
    lks_nap(300);
    for (int i = 0; i < 5; i++) {
        (void)lkp_ask(server, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "
                              "application_name LIKE 'lockkit %%'");
        lks_nap(400);
    }
    assert_true(lk_held(lock));
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    assert_int_equal(lk_lock_close(waiter, NULL), LK_OK);
    lk_client_close(client);
}

/* Each statement in another session, without our settings; nobody hears, so waiters go by their timer. */
TEST(a_pooler_between_changes_nothing_but_how_soon_a_waiter_has_it)
{
    struct lkp_server *pooler = lkp_pooler_start(server, "postgres");
    lk_client *clients[2] = {
        lkp_client_with(server, (struct lk_client_options){.url = pooler->url, .poll_ms = 100}),
        lkp_client_with(server, (struct lk_client_options){.url = pooler->url, .poll_ms = 100})};
    lk_lock *lock = lkp_fenced(clients[0], "pooled");
    lk_lock *waiter = lkp_fenced(clients[1], "pooled");
    struct lk_lock_options options = {.lease_ms = 900, .is_renewed = true};
    const struct lk_postgres_work work = {.sql = "SELECT 1"};
    struct lks_wait wait;

    assert_int_equal(lk_lock_acquire(lock, &options, NULL), LK_OK);
    lks_wait_start(&wait, waiter, 30000);
    lks_nap(2000);
    assert_true(lk_held(lock) && !atomic_load(&wait.has_ended));
    assert_int_equal(lk_postgres_guarded(lock, &work, 0, NULL, NULL), LK_OK);
    double released_ms = lks_now_ms();
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    print_message("# had %.0f ms after the release, by a timer of 100 ms\n",
                  wait.ended_at_ms - released_ms);
    assert_int_equal(lk_lock_close(waiter, NULL), LK_OK);
    lk_client_close(clients[0]);
    lk_client_close(clients[1]);
    lkp_server_stop(pooler);
}

static lk_status verb_of(lk_lock *lock, char verb)
{
    if (verb == 'a') return lks_acquire(lock, 0, 60000);
    return verb == 'r' ? lk_lock_renew(lock, 60000, NULL) : lk_lock_release(lock, NULL);
}

/* Whether it was done or not: it is done when it is asked for again, and never twice. */
TEST(a_verb_whose_answer_is_lost_can_be_repeated)
{
    const struct {
        char verb;
        struct lk_bytes word;
        const char *left;
    } rows[] = {
        {'a', LK_BYTES("WITH won"), "1"},
        {'r', LK_BYTES("greatest(expires"), "1"},
        {'e', LK_BYTES("'-infinity'"), "0"},
    };
    struct lks_vip *vip = lks_vip_open(NULL, 0, server->port);
    lk_client *client = lkp_client_by(vip);
    lk_lock *lock = lkp_fenced(client, "lossy");

    for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
        size_t row = i / 2;

        if (rows[row].verb == 'e' && i % 2 == 1) assert_int_equal(verb_of(lock, 'a'), LK_OK);
        lks_vip_cut_at(vip, rows[row].word, i % 2 == 0);
        assert_int_equal(verb_of(lock, rows[row].verb), LK_UNKNOWN);
        if (rows[row].verb == 'a') assert_string_equal(left_of("lossy"), "0"); /* undone */
        assert_int_equal(verb_of(lock, rows[row].verb), LK_OK);
        assert_string_equal(left_of("lossy"), rows[row].left);
        if (i == 0) assert_int_equal(verb_of(lock, 'e'), LK_OK);
    }
    lk_lock_free(lock);
    lk_client_close(client);
    lks_vip_close(vip);
}
