/*
 * Permits in PostgreSQL: the API of those in Redis, on rows.
 */
#include <signal.h>
#include <stdatomic.h>

#include "lockkit/postgres.h"

#include "lk_postgres.h"

enum { SOON_MS = 1000, DEAD_MS = 700, THREADS = 8, TURNS = 60, PLACES = 3 };

LKP_SERVER();

static lk_client *new_client(void)
{
    return lkp_client_with(server,
                           (struct lk_client_options){.poll_ms = 20000, .command_ms = 2000});
}

static lk_permits *permits_of(lk_client *client, const char *key, int64_t count)
{
    struct lk_error err = {0};
    lk_permits *permits = lk_permits_new(client, key, &err);

    if (!permits) fail_msg("%s", err.text);
    if (count > 0) assert_int_equal(lk_permits_set(permits, count, NULL), LK_OK);
    return permits;
}

static lk_status take(lk_permits *permits, struct lk_permit *out, size_t count, int64_t wait_ms,
                      int64_t lease_ms)
{
    struct lk_permit_options options = {.wait_ms = wait_ms, .lease_ms = lease_ms};

    return lk_permits_acquire(permits, &options, out, count, NULL);
}

static void assert_usage(lk_permits *permits, int64_t available, int64_t acquired)
{
    struct lk_permits_usage usage = {0};

    assert_int_equal(lk_permits_usage(permits, &usage, NULL), LK_OK);
    assert_int_equal(usage.available, available);
    assert_int_equal(usage.acquired, acquired);
}

/* ---- the verbs ------------------------------------------------------------------------------------- */

TEST(the_verbs_are_those_of_redis)
{
    lk_client *client = new_client();
    lk_permits *permits = permits_of(client, "verbs \"\\{", 0);
    struct lk_permit list[3], one = {.ends_ns = 0};
    struct lk_error err = {0};

    assert_int_equal(take(permits, list, 1, 0, 0), LK_BUSY); /* none is set up */
    assert_int_equal(lk_permits_try_set(permits, 3, NULL), LK_OK);
    assert_int_equal(lk_permits_try_set(permits, 5, NULL), LK_BUSY);
    assert_usage(permits, 3, 0);
    assert_int_equal(take(permits, list, 2, 0, 60000), LK_OK);
    assert_usage(permits, 1, 2);
    assert_int_equal(take(permits, &one, 2, 0, 0), LK_BUSY); /* all or none */
    assert_usage(permits, 1, 2);
    assert_int_equal(take(permits, &one, 1, 0, LK_PERMIT_NO_LEASE), LK_OK);
    assert_int_equal(lk_permits_ask(permits, &one, NULL), LK_OK);
    assert_true(lk_permit_remaining_ms(&one) == INT64_MAX);
    assert_int_equal(lk_permits_renew(permits, &one, 5000, NULL), LK_OK);
    assert_int_equal(lk_permits_ask(permits, &one, NULL), LK_OK);
    assert_true(lk_permit_remaining_ms(&one) > 4000 && lk_permit_remaining_ms(&one) <= 5000);
    list[2] = one;
    assert_int_equal(lk_permits_release(permits, &one, 1, NULL), LK_OK);
    assert_int_equal(lk_permits_release(permits, &one, 1, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_permits_release(permits, list, 3, NULL), LK_NOT_OWNER); /* all or none */
    assert_usage(permits, 1, 2);
    assert_int_equal(lk_permits_renew(permits, &one, 0, NULL), LK_LOST);
    assert_int_equal(lk_permits_ask(permits, &one, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_permits_release(permits, list, 2, NULL), LK_OK);
    assert_usage(permits, 3, 0);
    assert_int_equal(lk_permits_delete(permits, NULL), LK_OK);
    assert_int_equal(lk_permits_delete(permits, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_permits_set(permits, 20000, &err), LK_INVALID);
    assert_non_null(strstr(err.text, "each has a row"));
    assert_int_equal(lk_permits_try_set(permits, 0, NULL), LK_INVALID);
    lk_permits_free(permits);
    lk_client_close(client);
}

/* What is more than it shall be goes as it comes back. */
TEST(the_number_can_be_changed_while_permits_are_out)
{
    static const struct {
        int64_t count, available, acquired;
        size_t give; /* so many come back then */
    } rows[] = {{5, 1, 4, 0}, {2, -2, 4, 2}, {2, 0, 2, 0},
                {6, 4, 2, 1}, {1, 0, 1, 1},  {3, 3, 0, 0}};
    lk_client *client = new_client();
    lk_permits *permits = permits_of(client, "number", 4);
    struct lk_permit list[4], one;
    size_t next = 0;

    assert_int_equal(take(permits, list, 4, 0, 0), LK_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(lk_permits_set(permits, rows[i].count, NULL), LK_OK);
        assert_int_equal(lk_permits_set(permits, rows[i].count, NULL), LK_OK);
        assert_usage(permits, rows[i].available, rows[i].acquired);
        lk_status status = take(permits, &one, 1, 0, 0);
        assert_int_equal(status, rows[i].available > 0 ? LK_OK : LK_BUSY);
        if (status == LK_OK) assert_int_equal(lk_permits_release(permits, &one, 1, NULL), LK_OK);
        for (size_t j = 0; j < rows[i].give; j++)
            assert_int_equal(lk_permits_release(permits, &list[next++], 1, NULL), LK_OK);
    }
    lk_permits_free(permits);
    lk_client_close(client);
}

/* ---- waiting --------------------------------------------------------------------------------------- */

static lk_status wait_for_some(struct lks_wait *wait)
{
    return take(wait->what, wait->list, (size_t)wait->count, 15000, 60000);
}

TEST(a_waiter_is_served_by_a_release_and_by_the_end_of_a_lease)
{
    lk_client *client = new_client();
    lk_permits *permits = permits_of(client, "waited", 2);
    lk_permits *others = permits_of(client, "waited", 0);
    struct lk_permit list[2];

    for (int64_t count = 1; count <= 2; count++) {
        for (int is_dead = 0; is_dead < 2; is_dead++) {
            struct lks_wait wait = {.what = others, .run = wait_for_some, .count = count};

            double taken_ms = lks_now_ms();
            assert_int_equal(take(permits, list, 2, 0, is_dead ? DEAD_MS : 60000), LK_OK);
            lks_wait_begin(&wait);
            lks_nap(300);
            assert_true(is_dead || !atomic_load(&wait.has_ended));
            double begin = lks_now_ms();
            if (!is_dead) assert_int_equal(lk_permits_release(permits, list, 2, NULL), LK_OK);
            assert_int_equal(lks_wait_end(&wait), LK_OK);
            print_message("# %d %s: had %.1f ms after that\n", (int)count,
                          is_dead ? "of a dead holder" : "released", wait.ended_at_ms - begin);
            assert_true(wait.ended_at_ms - begin < SOON_MS);
            assert_true(!is_dead || wait.ended_at_ms - taken_ms >= DEAD_MS - 1);
            assert_int_equal(lk_permits_release(others, wait.list, (size_t)count, NULL), LK_OK);
        }
    }
    assert_usage(permits, 2, 0);
    lk_permits_free(others);
    lk_permits_free(permits);
    lk_client_close(client);
}

static atomic_int inside, most, turns;

static lk_status take_turns(struct lks_wait *wait)
{
    lk_permits *permits = permits_of(wait->what, "crowd", 0);

    for (int i = 0; i < TURNS; i++) {
        size_t count = 1 + (size_t)i % 2;
        lk_status status = take(permits, wait->list, count, 30000, 10000);

        if (status != LK_OK) return status;
        int now = atomic_fetch_add(&inside, (int)count) + (int)count;
        for (int seen = atomic_load(&most);
             now > seen && !atomic_compare_exchange_weak(&most, &seen, now);) {}
        if (i % 8 == 0) lks_nap(1);
        atomic_fetch_sub(&inside, (int)count);
        atomic_fetch_add(&turns, 1);
        status = lk_permits_release(permits, wait->list, count, NULL);
        if (status != LK_OK) return status;
    }
    lk_permits_free(permits);
    return LK_OK;
}

TEST(there_are_never_more_inside_than_permits)
{
    lk_client *clients[2] = {new_client(), new_client()};
    lk_permits *permits = permits_of(clients[0], "crowd", PLACES);
    struct lks_wait crowd[THREADS];
    double begin = lks_now_ms();

    for (size_t i = 0; i < THREADS; i++) {
        crowd[i] = (struct lks_wait){.what = clients[i % 2], .run = take_turns};
        lks_wait_begin(&crowd[i]);
    }
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(lks_wait_end(&crowd[i]), LK_OK);
    print_message("# %d turns in %.0f ms, %d inside at most\n", atomic_load(&turns),
                  lks_now_ms() - begin, atomic_load(&most));
    assert_int_equal(atomic_load(&turns), THREADS * TURNS);
    assert_true(atomic_load(&most) <= PLACES);
    assert_usage(permits, PLACES, 0);
    lk_permits_free(permits);
    lk_client_close(clients[0]);
    lk_client_close(clients[1]);
}

/* ---- one as a lock --------------------------------------------------------------------------------- */

TEST(a_permit_is_a_lock_that_is_renewed_and_told_lost)
{
    lk_client *client = new_client();
    lk_permits *permits = permits_of(client, "lock", 2);
    const struct lk_postgres_work work = {.sql = "SELECT 1"};
    atomic_int losses = 0;
    struct lk_lock_options options = {
        .lease_ms = 600, .is_renewed = true, .on_lost = lks_count_loss, .on_lost_arg = &losses};
    lk_lock *locks[3];

    for (size_t i = 0; i < 3; i++) {
        locks[i] = lk_permit_lock_new(client, "lock", NULL);
        assert_int_equal(lk_lock_acquire(locks[i], &options, NULL), i < 2 ? LK_OK : LK_BUSY);
    }
    lks_nap(1300);
    assert_true(lk_held(locks[0]) && lk_held(locks[1]));
    assert_int_equal(lk_lock_renew(locks[0], 5000, NULL), LK_OK);
    assert_int_equal(lk_postgres_guarded(locks[0], &work, 0, NULL, NULL), LK_OK);
    assert_int_equal(lks_acquire(locks[2], 100, 0), LK_BUSY);
    (void)lkp_ask(server, "UPDATE lockkit.lock SET token = 'thief' WHERE token = '%s'",
                  lk_lock_token(locks[1]));
    LKS_EVENTUALLY(atomic_load(&losses) == 1, SOON_MS);
    assert_int_equal(lk_lock_close(locks[1], NULL), LK_NOT_OWNER);
    assert_int_equal(lk_lock_close(locks[0], NULL), LK_OK);
    assert_int_equal(lks_acquire(locks[2], 0, 0), LK_OK);
    assert_int_equal(lk_lock_close(locks[2], NULL), LK_OK);
    lk_permits_free(permits);
    lk_client_close(client);
}

/* A mutex and a semaphore of one name do not know of each other. */
TEST(a_lock_of_the_name_is_another_thing)
{
    lk_client *client = new_client();
    lk_permits *permits = permits_of(client, "name", 1);
    lk_lock *lock = lk_mutex_new(client, "name", NULL);
    struct lk_permit one;

    assert_int_equal(take(permits, &one, 1, 0, 0), LK_OK);
    assert_int_equal(lks_acquire(lock, 0, 0), LK_OK);
    assert_int_equal(lk_lock_force_release(lock, NULL), LK_OK);
    assert_usage(permits, 0, 1);
    (void)lk_lock_close(lock, NULL);
    lk_permits_free(permits);
    lk_client_close(client);
}

/* Its backend is stopped when the acquire comes, and goes on when it has been asked again: taken once. */
TEST(an_acquire_that_is_asked_again_takes_once)
{
    lk_client *client =
        lkp_client_with(server, (struct lk_client_options){.command_ms = 400, .pool_size = 2});
    lk_permits *permits = permits_of(client, "again", 3);
    struct lk_permit one;
    struct lk_error err = {0};

    const char *pid = lkp_ask(server, "SELECT pid FROM pg_stat_activity WHERE query LIKE '%%sums%%'"
                                      " AND application_name LIKE 'lockkit %%'");
    pid_t process = (pid_t)strtol(pid, NULL, 10);
    assert_int_equal(kill(process, SIGSTOP), 0);
    struct lk_permit_options options = {.wait_ms = 2000};
    lk_status status = lk_permits_acquire(permits, &options, &one, 1, &err);
    assert_int_equal(kill(process, SIGCONT), 0);
    print_message("# %s: %s\n", lk_status_name(status), err.text);
    lks_nap(300);
    if (status == LK_OK) assert_int_equal(lk_permits_release(permits, &one, 1, NULL), LK_OK);
    assert_usage(permits, 3, 0);
    lk_permits_free(permits);
    lk_client_close(client);
}

static lk_status wait_for_one(struct lks_wait *wait)
{
    return take(wait->what, wait->list, 1, wait->count, 60000);
}

static lk_status acquire_at_a_stalled_server(lk_permits *permits, int64_t wait_ms)
{
    struct lks_wait wait = {.what = permits, .run = wait_for_one, .count = wait_ms};

    lkp_server_signal(server, SIGSTOP);
    lks_wait_begin(&wait);
    lks_nap(900);
    lkp_server_signal(server, SIGCONT);
    lk_status status = lks_wait_end(&wait);
    lks_nap(200);
    if (status == LK_OK) {
        assert_usage(permits, 1, 1);
        assert_int_equal(lk_permits_release(permits, wait.list, 1, NULL), LK_OK);
    }
    return status;
}

/* What was asked before it stood still is undone when it goes on; a wait goes on with other permits. */
TEST(a_permit_that_nobody_was_given_is_not_out_for_its_lease)
{
    lk_client *client = lkp_client_with(server, (struct lk_client_options){.command_ms = 300});
    lk_permits *permits = permits_of(client, "stalled", 2);
    lk_lock *lock = lk_permit_lock_new(client, "stalled", NULL);

    assert_int_equal(acquire_at_a_stalled_server(permits, 0), LK_UNKNOWN);
    assert_usage(permits, 2, 0);
    assert_int_equal(acquire_at_a_stalled_server(permits, 5000), LK_OK);
    assert_usage(permits, 2, 0);
    lkp_server_signal(server, SIGSTOP);
    assert_int_equal(lks_acquire(lock, 0, 60000), LK_UNKNOWN);
    lkp_server_signal(server, SIGCONT);
    lks_nap(200);
    assert_usage(permits, 2, 0);
    lk_lock_free(lock);
    lk_permits_free(permits);
    lk_client_close(client);
}
