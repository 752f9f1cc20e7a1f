/*
 * PostgreSQL's own locks through lockkit: who shares them, who waits for them, and how they end.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "lockkit/postgres.h"

#include "lk_postgres.h"
#include "postgres/postgres.h"

enum { SOON_MS = 1000, WAITS = 300, THREADS = 8 };

LKP_SERVER();

static lk_lock *lock_of(lk_client *client, const char *key)
{
    struct lk_error err = {0};
    lk_lock *lock = lk_advisory_new(client, key, &err);

    if (!lock) fail_msg("%s", err.text);
    return lock;
}

static const char *locks_left(void)
{
    return lkp_ask(server, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'");
}

static const char golden[] = "-4186301075354283077"; /* of "sale-1" */

TEST(the_number_of_a_name_is_what_it_always_was)
{
    lk_client *client = lkp_client(server);
    lk_lock *lock = lock_of(client, "sale-1");

    assert_int_equal(lks_acquire(lock, 0, 0), LK_OK);
    assert_string_equal(lkp_ask(server,
                                "SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks"
                                " WHERE locktype = 'advisory' AND granted"),
                        golden);
    assert_string_equal(lkp_ask(server,
                                "SELECT a.application_name FROM pg_locks l JOIN"
                                " pg_stat_activity a USING (pid) WHERE locktype = 'advisory'"),
                        lk_lock_token(lock));
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    assert_string_equal(locks_left(), "0");
    lk_client_close(client);
}

/* Another handle of the same client, and a program without lockkit; not the holder a second time. */
TEST(it_excludes_everybody_and_gives_back)
{
    lk_client *client = lkp_client(server);
    lk_lock *lock = lock_of(client, "sale-1");
    lk_lock *rival = lock_of(client, "sale-1");

    assert_int_equal(lks_acquire(lock, 0, 2000), LK_OK);
    assert_int_equal(lks_acquire(lock, 0, 0), LK_INVALID);
    assert_int_equal(lks_acquire(rival, 0, 0), LK_BUSY);
    assert_int_equal(lk_lock_renew(lock, 60000, NULL), LK_OK);
    assert_true(lk_lock_remaining_ms(lock) > 50000);
    assert_string_equal(lkp_ask(server, "SELECT pg_try_advisory_lock(%s)", golden), "f");
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK); /* nothing left */
    assert_string_equal(lkp_ask(server, "SELECT pg_try_advisory_lock(%s)", golden), "t");
    double begin = lks_now_ms();
    assert_int_equal(lks_acquire(rival, 300, 0), LK_BUSY);
    assert_true(lks_now_ms() - begin >= 300 && lks_now_ms() - begin < 300 + SOON_MS);
    assert_string_equal(lkp_ask(server, "SELECT pg_advisory_unlock(%s)", golden), "t");
    assert_int_equal(lks_acquire(rival, 0, 0), LK_OK);
    assert_int_equal(lk_lock_force_release(lock, NULL), LK_INVALID);
    assert_int_equal(lk_lock_close(rival, NULL), LK_OK);
    lk_lock_free(lock);
    lk_client_close(client);
}

/* By lockkit, or by somebody who knows the number: the queue is the server's. */
TEST(a_waiter_is_served_soon_after_the_release_and_ends_its_wait_when_told)
{
    lk_client *client = lkp_client(server);
    lk_lock *lock = lock_of(client, "sale-1");
    lk_lock *waiter = lock_of(client, "sale-1");
    struct lks_wait wait;

    for (int i = 0; i < 4; i++) {
        bool is_ours = i % 2 == 0;

        if (is_ours) assert_int_equal(lks_acquire(lock, 0, 0), LK_OK);
        if (!is_ours) (void)lkp_ask(server, "SELECT pg_advisory_lock(%s)", golden);
        lks_wait_start(&wait, waiter, 30000);
        lks_nap(i < 2 ? 100 : 700);
        double released_ms = lks_now_ms();
        if (is_ours) assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
        if (!is_ours) (void)lkp_ask(server, "SELECT pg_advisory_unlock(%s)", golden);
        assert_int_equal(lks_wait_end(&wait), LK_OK);
        print_message("# had %.1f ms after the release began\n", wait.ended_at_ms - released_ms);
        assert_true(wait.ended_at_ms - released_ms < 300);
        assert_int_equal(lk_lock_release(waiter, NULL), LK_OK);
    }
    assert_int_equal(lks_acquire(lock, 0, 0), LK_OK);
    lks_wait_start(&wait, waiter, 60000);
    lks_nap(100);
    double cancelled_ms = lks_now_ms();
    lk_lock_cancel(waiter);
    assert_int_equal(lks_wait_end(&wait), LK_CANCELLED);
    assert_true(wait.ended_at_ms - cancelled_ms < SOON_MS);
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    lk_lock_free(waiter);
    assert_string_equal(locks_left(), "0");
    lk_client_close(client);
}

static atomic_int inside, overlaps, granted;

/* Timeouts of the server and grants meet. */
static lk_status wait_for_moments(struct lks_wait *wait)
{
    for (int i = 0; i < WAITS; i++) {
        if (lks_acquire(wait->lock, 1 + i % 3, 0) != LK_OK) continue;
        if (atomic_fetch_add(&inside, 1) != 0) atomic_fetch_add(&overlaps, 1);
        atomic_fetch_add(&granted, 1);
        if (i % 4 == 0) lks_nap(1);
        atomic_fetch_sub(&inside, 1);
        if (lk_lock_release(wait->lock, NULL) != LK_OK) return LK_NOT_OWNER;
    }
    return LK_OK;
}

/* The lease begins with the grant, not with the wait. */
TEST(a_wait_may_last_longer_than_the_lease)
{
    lk_client *client = lkp_client(server);
    lk_lock *lock = lock_of(client, "sale-1");
    lk_lock *waiter = lock_of(client, "sale-1");
    enum { LEASE_MS = 400 };
    struct lks_wait wait = {.lock = waiter, .options = {.wait_ms = 30000, .lease_ms = LEASE_MS}};

    assert_int_equal(lks_acquire(lock, 0, 0), LK_OK);
    lks_wait_begin(&wait);
    lks_nap(2L * LEASE_MS);
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    assert_in_range(lk_lock_remaining_ms(waiter), 1, LEASE_MS);
    assert_int_equal(lk_lock_close(waiter, NULL), LK_OK);
    lk_lock_free(lock);
    lk_client_close(client);
}

TEST(a_wait_that_ends_as_it_is_granted_leaves_nothing)
{
    lk_client *client = lkp_client(server);
    struct lks_wait crowd[THREADS];

    for (size_t i = 0; i < THREADS; i++) {
        crowd[i] = (struct lks_wait){.lock = lock_of(client, "race"), .run = wait_for_moments};
        lks_wait_begin(&crowd[i]);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(lks_wait_end(&crowd[i]), LK_OK);
        lk_lock_free(crowd[i].lock);
    }
    print_message("# %d of %d waits of 1 to 3 ms had it\n", atomic_load(&granted), WAITS * THREADS);
    assert_int_equal(atomic_load(&overlaps), 0);
    assert_true(atomic_load(&granted) > THREADS);
    assert_string_equal(locks_left(), "0");
    lk_client_close(client);
}

static void end_sessions(const char *whose)
{
    (void)lkp_ask(server,
                  "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE"
                  " application_name LIKE 'lockkit %%' AND pid %s"
                  " (SELECT pid FROM pg_locks WHERE locktype = 'advisory')",
                  whose);
}

static void is_told(lk_lock *lock, atomic_int *losses)
{
    double begin = lks_now_ms();

    LKS_EVENTUALLY(atomic_load(losses) == 1, SOON_MS);
    print_message("# told after %.0f ms\n", lks_now_ms() - begin);
    assert_false(lk_held(lock));
    LKS_EVENTUALLY(strcmp(locks_left(), "0") == 0, SOON_MS);
}

static void is_not_told(lk_lock *lock, atomic_int *losses)
{
    lks_nap(1500);
    assert_int_equal(atomic_load(losses), 0);
    assert_true(lk_held(lock));
    assert_string_equal(locks_left(), "1");
}

/* What ends a hold, or does not. */
TEST(a_hold_that_ends_is_told_soon)
{
    static const struct {
        const char *whose; /* sessions are ended; NULL: nothing but time passes */
        struct lk_lock_options options;
        int after_ms;
        bool is_held;
    } rows[] = {
        {"IN", {.is_renewed = true}, 50, false},
        {"IN", {.lease_ms = 60000}, 300, false},
        {NULL, {.lease_ms = 400}, 300, false},
        {NULL, {.lease_ms = 400, .is_renewed = true}, 0, true},
        {"NOT IN", {.lease_ms = 600, .is_renewed = true}, 300, true},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lk_client *client = lkp_client(server);
        lk_lock *lock = lock_of(client, "ends");
        atomic_int losses = 0;
        struct lk_lock_options options = rows[i].options;

        options.on_lost = lks_count_loss;
        options.on_lost_arg = &losses;
        assert_int_equal(lk_lock_acquire(lock, &options, NULL), LK_OK);
        lks_nap(rows[i].after_ms);
        if (rows[i].whose) end_sessions(rows[i].whose);
        (rows[i].is_held ? is_not_told : is_told)(lock, &losses);
        assert_int_equal(lk_lock_close(lock, NULL), rows[i].is_held ? LK_OK : LK_NOT_OWNER);
        assert_string_equal(locks_left(), "0");
        lk_client_close(client);
    }
}

static void kill_all(void)
{
    lkp_server_signal(server, SIGKILL);
}

static void kill_its_process(void)
{
    const char *pid = lkp_ask(server, "SELECT pid FROM pg_locks WHERE locktype = 'advisory'");

    (void)kill((pid_t)strtol(pid, NULL, 10), SIGKILL);
}

static void stop_all(void)
{
    lkp_server_signal(server, SIGSTOP);
}

static double ms_until_told(struct lk_lock_options options, void (*deed)(void))
{
    lk_client *client = lkp_client(server);
    lk_lock *lock = lock_of(client, "gone");
    atomic_int losses = 0;

    options.on_lost = lks_count_loss;
    options.on_lost_arg = &losses;
    assert_int_equal(lk_lock_acquire(lock, &options, NULL), LK_OK);
    lks_nap(options.is_renewed ? 250 : 0); /* it has been looked at, or not yet */
    double begin = lks_now_ms();
    deed();
    LKS_EVENTUALLY(atomic_load(&losses) == 1, SOON_MS);
    double told_ms = lks_now_ms() - begin;
    assert_false(lk_held(lock));
    lkp_server_restart(server);
    assert_int_equal(lk_lock_close(lock, NULL), LK_NOT_OWNER);
    lk_client_close(client);
    return told_ms;
}

/* No server is left to ask, but what has ended is seen by its socket; of one that stands still nothing is. */
TEST(a_hold_whose_server_is_gone_is_told_at_once)
{
    static const struct {
        const char *what;
        void (*deed)(void);
        struct lk_lock_options options;
        double least_ms, most_ms;
    } rows[] = {
        {"all killed", kill_all, {.is_renewed = true}, 0, 200},
        {"all killed", kill_all, {.lease_ms = 30000}, 0, 200},
        {"one killed", kill_its_process, {.is_renewed = true}, 0, 200},
        {"one killed", kill_its_process, {.lease_ms = 30000}, 0, 200},
        {"stopped", stop_all, {.lease_ms = 900, .is_renewed = true}, 500, SOON_MS},
        {"stopped", stop_all, {.lease_ms = 900}, 500, SOON_MS}, /* its end, by the last renewal */
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double told_ms = ms_until_told(rows[i].options, rows[i].deed);

        print_message("# %s: told after %.1f ms\n", rows[i].what, told_ms);
        assert_true(told_ms >= rows[i].least_ms && told_ms <= rows[i].most_ms);
    }
}

/* So it is told of a cut network before the server frees the lock, which is 25 s later. */
TEST(tcp_asks_soon_whether_the_other_side_is_there)
{
    static const struct {
        int option, value;
    } rows[] = {{TCP_KEEPIDLE, 1}, {TCP_KEEPINTVL, 1}, {TCP_USER_TIMEOUT, 700}};
    lk_client *client = lkp_client_with(server, (struct lk_client_options){.command_ms = 700});
    struct postgres_conn *conn = NULL;

    assert_int_equal(postgres_borrow(client, lki_context_deadline(client, 0), &conn, NULL), LK_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int value = 0;
        socklen_t size = sizeof value;

        (void)getsockopt(PQsocket(conn->pg), IPPROTO_TCP, rows[i].option, &value, &size);
        assert_int_equal(value, rows[i].value);
    }
    postgres_return(client, conn);
    lk_client_close(client);
}

/* Its backend is stopped while it is asked: nobody knows, so the session is ended first. */
TEST(an_acquire_that_was_not_answered_leaves_no_session)
{
    lk_client *client = lkp_client_with(server, (struct lk_client_options){.command_ms = 300});
    lk_lock *lock = lock_of(client, "stopped");
    struct lk_error err = {0};

    assert_int_equal(lks_acquire(lock, 0, 0), LK_OK);
    const char *pid = lkp_ask(server, "SELECT pid FROM pg_locks WHERE locktype = 'advisory'");
    pid_t process = (pid_t)strtol(pid, NULL, 10);
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    assert_int_equal(kill(process, SIGSTOP), 0);
    lk_status status = lk_lock_acquire(lock, NULL, &err);
    print_message("# %s: %s\n", lk_status_name(status), err.text);
    assert_int_equal(kill(process, SIGCONT), 0);
    assert_int_equal(status, LK_UNKNOWN);
    LKS_EVENTUALLY(strcmp(locks_left(), "0") == 0, SOON_MS);
    assert_int_equal(lks_acquire(lock, 2000, 0), LK_OK);
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    lk_client_close(client);
}

/* Whoever dies, or is gone in whatever way, holds nothing. */
TEST(a_handle_that_is_freed_and_a_session_that_goes_back_hold_nothing)
{
    lk_client *client = lkp_client(server);
    lk_lock *lock = lock_of(client, "freed");

    assert_int_equal(lks_acquire(lock, 0, 300), LK_OK);
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    lks_nap(600); /* the lease ends nobody's session any more */
    assert_string_equal(lkp_ask(server,
                                "SELECT count(*) FROM pg_stat_activity WHERE "
                                "application_name = '%s'",
                                lk_lock_token(lock)),
                        "1");
    assert_int_equal(lks_acquire(lock, 0, 0), LK_OK);
    lk_lock_free(lock);
    LKS_EVENTUALLY(strcmp(locks_left(), "0") == 0, SOON_MS);
    lk_client_close(client);
}

TEST(through_a_pooler_there_are_no_sessions_but_transactions)
{
    struct lkp_server *pooler = lkp_pooler_start(server, "postgres");
    lk_client *client = lkp_client(pooler);
    lk_lock *lock = lock_of(client, "pooled");
    struct lk_error err = {0};
    const struct lk_postgres_work work = {.sql = "SELECT 1"};

    assert_int_equal(lk_lock_acquire(lock, LK_OPTIONS(lock, .wait_ms = 500), &err), LK_INVALID);
    print_message("# %s\n", err.text);
    assert_non_null(strstr(err.text, "a pooler is in between"));
    assert_string_equal(locks_left(), "0");
    assert_int_equal(lk_postgres_exclusive(lock, &work, 0, NULL, &err), LK_OK);
    assert_string_equal(locks_left(), "0");
    lk_lock_free(lock);
    lk_client_close(client);
    lkp_server_stop(pooler);
}

TEST(redis_has_none)
{
    struct lk_error err = {0};

    assert_null(lk_advisory_new(NULL, "x", &err));
    assert_int_equal(err.code, LK_INVALID);
    assert_int_equal(
        lk_postgres_exclusive(NULL, &(struct lk_postgres_work){.sql = ""}, 0, NULL, &err),
        LK_INVALID);
}

/* ---- the transaction's ----------------------------------------------------------------------------- */

static lk_status add_one_by_one(struct lks_wait *wait)
{
    const struct lk_postgres_work work = {
        .sql = "UPDATE public.sum SET n = (SELECT n FROM public.sum) + 1"};

    for (int i = 0; i < 40; i++) {
        lk_status status = lk_postgres_exclusive(wait->lock, &work, 10000, NULL, NULL);
        if (status != LK_OK) return status;
    }
    return LK_OK;
}

TEST(statements_under_one_name_are_done_one_after_the_other)
{
    lk_client *client = lkp_client(server);
    lk_lock *lock = lock_of(client, "sale-1");
    struct lks_wait crowd[THREADS];
    const struct lk_postgres_work work = {.sql = "SELECT 1"}, wrong = {.sql = "SELECT nonsense"};

    (void)lkp_ask(server, "CREATE TABLE public.sum AS SELECT 0 AS n");
    for (size_t i = 0; i < THREADS; i++) {
        crowd[i] = (struct lks_wait){.lock = lock_of(client, "sale-1"), .run = add_one_by_one};
        lks_wait_begin(&crowd[i]);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(lks_wait_end(&crowd[i]), LK_OK);
        lk_lock_free(crowd[i].lock);
    }
    assert_string_equal(lkp_ask(server, "SELECT n FROM public.sum"), "320");
    (void)lkp_ask(server, "SELECT pg_advisory_lock(%s)", golden);
    double begin = lks_now_ms();
    assert_int_equal(lk_postgres_exclusive(lock, &work, 400, NULL, NULL), LK_BUSY);
    assert_true(lks_now_ms() - begin < 400 + SOON_MS);
    (void)lkp_ask(server, "SELECT pg_advisory_unlock(%s)", golden);
    assert_int_equal(lk_postgres_exclusive(lock, &wrong, 0, NULL, NULL), LK_SERVER);
    assert_int_equal(lk_postgres_exclusive(lock, &work, 0, NULL, NULL), LK_OK);
    assert_int_equal(lks_acquire(lock, 0, 0), LK_OK);
    assert_int_equal(lk_postgres_exclusive(lock, &work, 0, NULL, NULL), LK_INVALID);
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    assert_string_equal(locks_left(), "0");
    lk_client_close(client);
}
