/*
 * What is done in a transaction by whoever holds a lock in PostgreSQL: by nobody else, and told as it was, also when
 * the answer to COMMIT is lost.
 */
#include "lockkit/postgres.h"

#include "lk_postgres.h"

static struct lkp_server *server;

BEFORE_ALL()
{
    server = lkp_server_start();
    (void)lkp_ask(server, "CREATE TABLE public.stock AS SELECT 0 AS n");
}

AFTER_ALL()
{
    lkp_server_stop(server);
}

TEST(a_guarded_statement_is_done_by_the_holder_alone)
{
    lk_client *client = lkp_client(server);
    lk_lock *lock = lkp_fenced(client, "guarded");
    lk_lock *rival = lkp_fenced(client, "guarded");
    const char *one[] = {"1"};
    const struct lk_postgres_work add = {
        .sql = "UPDATE public.stock SET n = n + $1::int RETURNING n", .params = one, .count = 1};
    struct lk_error err = {0};
    PGresult *result = NULL;

    assert_int_equal(lk_postgres_guarded(lock, &add, 0, NULL, &err), LK_INVALID);
    assert_int_equal(lks_acquire(lock, 0, 300), LK_OK);
    assert_int_equal(lk_postgres_guarded(lock, &add, 0, &result, &err), LK_OK);
    assert_string_equal(PQgetvalue(result, 0, 0), "1");
    PQclear(result);
    const struct lk_postgres_work wrong = {.sql = "SELECT nonsense"};
    assert_int_equal(lk_postgres_guarded(lock, &wrong, 0, NULL, &err), LK_SERVER);
    assert_non_null(strstr(err.text, "nonsense"));
    lks_nap(400);
    assert_int_equal(lks_acquire(rival, 0, 0), LK_OK);
    assert_int_equal(lk_postgres_guarded(lock, &add, 0, NULL, &err), LK_NOT_OWNER);
    assert_string_equal(lkp_ask(server, "SELECT n FROM public.stock"), "1");
    assert_int_equal(lk_lock_close(lock, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_lock_close(rival, NULL), LK_OK);
    lk_client_close(client);
}

TEST(a_session_is_the_callers_and_leaves_nothing)
{
    lk_client *client = lkp_client_with(server, (struct lk_client_options){.pool_size = 1});
    const struct lk_postgres_work make = {.sql = "CREATE TABLE public.made AS SELECT 1 AS n"};
    const struct lk_postgres_work begin = {.sql = "BEGIN"};
    const struct lk_postgres_work add = {.sql = "INSERT INTO public.made VALUES (2)"};
    const struct lk_postgres_work count = {.sql = "SELECT count(*) FROM public.made"};
    struct lk_error err = {0};
    PGresult *result = NULL;

    assert_int_equal(lk_postgres_ask(NULL, &make, 0, NULL, &err), LK_INVALID);
    assert_int_equal(lk_postgres_ask(client, &make, 0, NULL, &err), LK_OK);
    assert_int_equal(lk_postgres_ask(client, &make, 0, NULL, &err), LK_SERVER);
    lk_postgres_session *session = lk_postgres_session_open(client, 0, &err);
    assert_int_equal(lk_postgres_session_ask(session, &begin, 0, NULL, &err), LK_OK);
    assert_int_equal(lk_postgres_session_ask(session, &add, 0, NULL, &err), LK_OK);
    assert_int_equal(lk_postgres_ask(client, &count, 100, NULL, &err),
                     LK_EXHAUSTED); /* it is lent */
    assert_null(lk_postgres_session_open(client, 100, &err));
    lk_postgres_session_close(session);
    assert_int_equal(lk_postgres_ask(client, &count, 0, &result, &err), LK_OK);
    assert_string_equal(PQgetvalue(result, 0, 0), "1"); /* nobody has committed */
    PQclear(result);
    lk_postgres_session_close(NULL);
    lk_client_close(client);
}

/* As with a connection to Redis: what a caller changes on it serves nobody else. */
TEST(what_a_guarded_statement_leaves_in_its_session_is_gone)
{
    lk_client *client = lkp_client_with(server, (struct lk_client_options){.pool_size = 1});
    lk_lock *lock = lkp_fenced(client, "leaves");
    const struct lk_postgres_work leave = {
        .sql = "SELECT set_config('lock_timeout', '7s', false), pg_catalog.pg_advisory_lock(4711)"};
    const struct lk_postgres_work look = {.sql =
                                              "SELECT pg_catalog.current_setting('lock_timeout')"};
    PGresult *result = NULL;

    assert_int_equal(lks_acquire(lock, 0, 10000), LK_OK);
    assert_int_equal(lk_postgres_guarded(lock, &leave, 0, NULL, NULL), LK_OK);
    assert_string_equal(
        lkp_ask(server, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), "0");
    assert_int_equal(lk_postgres_guarded(lock, &look, 0, &result, NULL), LK_OK);
    assert_string_equal(PQgetvalue(result, 0, 0), "1s");
    PQclear(result);
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    lk_client_close(client);
}

/* Nobody gets the lock between the check and the commit, though the lease ends meanwhile. */
TEST(a_lease_that_ends_within_the_statement_lets_nobody_in_before_the_commit)
{
    lk_client *client = lkp_client_with(server, (struct lk_client_options){.command_ms = 5000});
    lk_lock *lock = lkp_fenced(client, "within");
    lk_lock *rival = lkp_fenced(client, "within");
    struct lks_wait wait;
    const struct lk_postgres_work slow = {.sql = "SELECT pg_catalog.pg_sleep(1.2)"};

    assert_int_equal(lks_acquire(lock, 0, 400), LK_OK);
    lks_wait_start(&wait, rival, 10000);
    double begin = lks_now_ms();
    assert_int_equal(lk_postgres_guarded(lock, &slow, 0, NULL, NULL), LK_OK);
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    print_message("# the next one had it after %.0f ms\n", wait.ended_at_ms - begin);
    assert_true(wait.ended_at_ms - begin > 1150);
    (void)lk_lock_close(lock, NULL);
    assert_int_equal(lk_lock_close(rival, NULL), LK_OK);
    lk_client_close(client);
}

/* ---- a COMMIT that is not answered ----------------------------------------------------------------- */

static lk_status add_one(struct lks_wait *wait)
{
    const struct lk_postgres_work work = {.sql = "UPDATE public.stock SET n = n + 1"};
    struct lk_error err = {0};
    lk_status status = lk_postgres_guarded(wait->lock, &work, 0, NULL, &err);

    print_message("# %s: %s\n", lk_status_name(status), err.text);
    return status;
}

static int stock(void)
{
    return (int)strtol(lkp_ask(server, "SELECT n FROM public.stock"), NULL, 10);
}

TEST(what_came_of_a_commit_is_told_though_its_answer_was_lost)
{
    const struct {
        struct lk_bytes word;
        bool is_passed;
        lk_status status;
    } rows[] = {
        {LK_BYTES("COMMIT\0"), true, LK_OK},
        {LK_BYTES("COMMIT\0"), false, LK_UNREACHABLE},
        {LK_BYTES("UPDATE public.stock"), true, LK_UNREACHABLE},
        {LK_BYTES("UPDATE public.stock"), false, LK_UNREACHABLE},
        {LK_BYTES("BEGIN"), true, LK_UNREACHABLE},
    };
    struct lks_vip *vip = lks_vip_open(NULL, 0, server->port);
    lk_client *client = lkp_client_by(vip);
    struct lks_wait wait = {.lock = lkp_fenced(client, "lossy")};
    int before = stock();

    assert_int_equal(lks_acquire(wait.lock, 0, 60000), LK_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lks_vip_cut_at(vip, rows[i].word, rows[i].is_passed);
        assert_int_equal(add_one(&wait), rows[i].status);
        before += rows[i].status == LK_OK;
        assert_int_equal(stock(), before);
    }
    assert_int_equal(lk_lock_close(wait.lock, NULL), LK_OK);
    lk_client_close(client);
    lks_vip_close(vip);
}

/* What waits for a standby is there, and seen by nobody, until somebody ends the wait; then a failover may undo it. */
TEST(a_commit_that_no_standby_confirms_is_unsynced)
{
    lk_client *client = lkp_client_with(server, (struct lk_client_options){.command_ms = 400});
    struct lks_wait wait = {.lock = lkp_fenced(client, "nobody"), .run = add_one};
    int before = stock();

    assert_int_equal(lks_acquire(wait.lock, 0, 60000), LK_OK);
    lkp_server_set(server, "synchronous_standby_names", "nobody");
    lks_nap(300); /* that the hold is looked at meanwhile is in nobody's way */
    assert_int_equal(add_one(&wait), LK_UNSYNCED);
    assert_int_equal(stock(), before + 1);
    lks_wait_begin(&wait);
    LKS_EVENTUALLY(strcmp(lkp_ask(server, "SELECT count(pg_cancel_backend(pid)) FROM"
                                          " pg_stat_activity WHERE query = 'COMMIT'"
                                          " AND wait_event = 'SyncRep'"),
                          "1") == 0,
                   1000);
    assert_int_equal(lks_wait_end(&wait), LK_UNSYNCED);
    assert_int_equal(stock(), before + 2);
    lkp_server_set(server, "synchronous_standby_names", "");
    assert_int_equal(lk_lock_close(wait.lock, NULL), LK_OK);
    lk_client_close(client);
}
