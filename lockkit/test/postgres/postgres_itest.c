/*
 * Locks in PostgreSQL, on a private server: the verbs, the waiting, the loss.
 */
#include <stdatomic.h>

#include "lockkit/postgres.h"

#include "lk_postgres.h"

enum { SOON_MS = 1000, LEASE_MS = 1500, LONGER_MS = 3000, THREADS = 6, TURNS = 25 };

LKP_SERVER();

static const struct {
    const char *name;
    lk_lock *(*make)(lk_client *client, const char *key, struct lk_error *err);
    bool is_reentrant;
} kinds[] = {
    {"mutex", lk_mutex_new, false},
    {"non-reentrant", lk_non_reentrant_new, false},
    {"reentrant", lk_reentrant_new, true},
    {"fenced", lk_fenced_new, true},
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

static lk_lock *lock_of(size_t kind, lk_client *client, const char *key)
{
    struct lk_error err = {0};
    lk_lock *lock = kinds[kind].make(client, key, &err);

    if (!lock) fail_msg("%s", err.text);
    return lock;
}

/* ---- the verbs ------------------------------------------------------------------------------------- */

TEST(nothing_is_inherited_by_programs_we_start)
{
    unsigned before = lks_inheritable();
    lk_client *client = lkp_client(server);
    lk_lock *lock = lock_of(0, client, "inherited"), *rival = lock_of(0, client, "inherited");

    assert_int_equal(lks_acquire(lock, 0, LEASE_MS), LK_OK);
    assert_int_equal(lks_acquire(rival, 100, 0), LK_BUSY);
    assert_int_equal(lks_inheritable(), before);
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    lk_lock_free(lock);
    lk_lock_free(rival);
    lk_client_close(client);
}

TEST(each_kind_excludes_counts_and_gives_back)
{
    lk_client *client = lkp_client(server);
    lk_client *other = lkp_client(server);

    for (size_t i = 0; i < KINDS; i++) {
        const char *key = lks_format("verbs \"\\{%zu", i);
        lk_lock *lock = lock_of(i, client, key);
        lk_lock *rival = lock_of(i, other, key);
        uint64_t fence = 0;

        assert_int_equal(lks_acquire(lock, 0, LEASE_MS), LK_OK);
        assert_true(lk_held(lock) && lk_lock_remaining_ms(lock) <= LEASE_MS);
        fence = lk_lock_fence(lock);
        assert_true(fence > 0);
        assert_int_equal(lks_acquire(rival, 0, 0), LK_BUSY);
        lk_status again = lks_acquire(lock, 0, LEASE_MS);
        assert_int_equal(again, kinds[i].is_reentrant ? LK_OK : LK_INVALID);
        assert_int_equal(lk_lock_hold_count(lock), again == LK_OK ? 2 : 1);
        assert_int_equal(lk_lock_renew(lock, LONGER_MS, NULL), LK_OK);
        assert_true(lk_lock_remaining_ms(lock) > LEASE_MS);
        if (again == LK_OK) assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
        assert_int_equal(lks_acquire(rival, 0, 0), LK_BUSY);
        assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
        assert_int_equal(lk_lock_release(lock, NULL), LK_OK); /* nothing left */
        assert_int_equal(lks_acquire(rival, 0, 0), LK_OK);
        assert_true(lk_lock_fence(rival) > fence);
        assert_int_equal(lk_lock_force_release(lock, NULL), LK_OK);
        assert_int_equal(lk_lock_force_release(lock, NULL), LK_NOT_OWNER);
        assert_int_equal(lk_lock_renew(rival, 0, NULL), LK_LOST);
        assert_int_equal(lk_lock_release(rival, NULL), LK_NOT_OWNER);
        lk_lock_free(rival);
        lk_lock_free(lock);
    }
    lk_client_close(other);
    lk_client_close(client);
}

/* A fence never comes again: not after a lease that ended, nor when the table is from yesterday. */
TEST(fences_rise_whatever_becomes_of_the_table)
{
    lk_client *client = lkp_client(server);
    lk_lock *lock = lock_of(3, client, "fences");
    uint64_t last = 0;

    for (int i = 0; i < 4; i++) {
        assert_int_equal(lks_acquire(lock, 0, 400), LK_OK);
        uint64_t fence = lk_lock_fence(lock);
        assert_true(fence > last);
        last = fence;
        if (i == 1)
            (void)lkp_ask(server, "UPDATE lockkit.lock SET fence = 1 WHERE name = 'fences'");
        if (i == 2) (void)lkp_ask(server, "DELETE FROM lockkit.lock WHERE name = 'fences'");
        lks_nap(450);
        (void)lk_lock_release(lock, NULL);
    }
    lk_lock_free(lock);
    lk_client_close(client);
}

TEST(what_postgresql_does_not_have_is_invalid_and_says_so)
{
    lk_client *client = lkp_client(server);
    struct lk_error err = {0};
    lk_reply *reply = NULL;
    const struct lk_bytes ping[] = {LK_BYTES("PING")};
    const struct lk_command command = {ping, 1};

    assert_null(lk_fair_new(client, "x", NULL, &err));
    assert_int_equal(err.code, LK_INVALID);
    assert_non_null(strstr(err.text, "PostgreSQL has no fair"));
    assert_null(lk_spin_new(client, "x", &err));
    assert_null(lk_rwlock_new(client, "x", &err));
    assert_null(lk_semaphore_new(client, "x", &err));
    assert_null(lk_latch_new(client, "x", &err));
    lk_lock *member = lock_of(0, client, "x");
    assert_null(lk_multi_new(&member, 1, NULL, &err));
    lk_lock_free(member);
    assert_null(lk_redlock_new(&client, 1, "x", NULL, &err));
    assert_int_equal(err.code, LK_INVALID);
    assert_null(lk_session_open(client, NULL, 0, &err));
    assert_int_equal(lk_client_call(client, &command, 1, 0, &reply, &err), LK_INVALID);
    assert_non_null(strstr(err.text, "PostgreSQL has no commands"));
    assert_int_equal(lk_client_primaries(client), 0);
    lk_client_close(client);
}

TEST(a_url_that_leads_nowhere_says_why)
{
    static const struct {
        const char *url, *word;
        lk_status status;
    } rows[] = {
        {"postgres://postgres@127.0.0.1:1/x?connect_timeout=2", "refused", LK_UNREACHABLE},
        {"postgres://[", "URL", LK_INVALID},
        {"postgres://postgres:hunter2@127.0.0.1:%d/nowhere", "does not exist", LK_SERVER},
        {"postgres://nobody:hunter2@127.0.0.1:%d/postgres", "does not exist", LK_SERVER},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char url[128];
        struct lk_error err = {0};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        (void)snprintf(url, sizeof url, rows[i].url, server->port);
#pragma GCC diagnostic pop
        lk_client *client = lk_client_open(&(struct lk_client_options){.url = url}, &err);
        print_message("# %s: %s\n", lk_status_name(err.code), err.text);
        assert_null(client);
        assert_int_equal(err.code, rows[i].status);
        assert_non_null(strstr(err.text, rows[i].word));
        assert_null(strstr(err.text, "hunter2"));
    }
}

/* ---- waiting --------------------------------------------------------------------------------------- */

TEST(a_waiter_is_woken_by_the_release)
{
    lk_client *client = lkp_client(server);
    lk_client *other = lkp_client_with(server, (struct lk_client_options){.poll_ms = 20000});

    for (size_t i = 0; i < KINDS; i++) {
        const char *key = lks_format("woken-%zu", i);
        lk_lock *lock = lock_of(i, client, key);
        lk_lock *waiter = lock_of(i, other, key);
        struct lks_wait wait;

        assert_int_equal(lks_acquire(lock, 0, 60000), LK_OK);
        lks_wait_start(&wait, waiter, 30000);
        lks_nap(200);
        double released_ms = lks_now_ms();
        assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
        assert_int_equal(lks_wait_end(&wait), LK_OK);
        print_message("# %s: had %.1f ms after the release began\n", kinds[i].name,
                      wait.ended_at_ms - released_ms);
        assert_true(wait.ended_at_ms - released_ms < SOON_MS);
        assert_int_equal(lk_lock_release(waiter, NULL), LK_OK);
        lk_lock_free(waiter);
        lk_lock_free(lock);
    }
    lk_client_close(other);
    lk_client_close(client);
}

TEST(nobody_is_told_where_nobody_waits)
{
    lk_client *client = lkp_client(server);
    lk_lock *lock = lock_of(0, client, "alone");

    assert_int_equal(lks_acquire(lock, 0, 0), LK_OK);
    assert_int_equal(lks_acquire(lock, 0, 0), LK_INVALID);
    assert_string_equal(lkp_ask(server, "SELECT awaited FROM lockkit.lock WHERE name = 'alone'"),
                        "-infinity");
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    lk_client_close(client);
}

/* The end of a lease is no release: the timer wakes. And a wait ends when asked to, by time or by word. */
TEST(a_wait_ends_with_the_lease_its_time_or_a_cancel)
{
    lk_client *client = lkp_client(server);
    lk_lock *dead = lock_of(0, client, "ends");
    lk_lock *waiter = lock_of(0, client, "ends");
    struct lks_wait wait;

    assert_int_equal(lks_acquire(dead, 0, 600), LK_OK);
    const char *end =
        lks_format("%s", lkp_ask(server, "SELECT expires FROM lockkit.lock WHERE name = 'ends'"));
    assert_int_equal(lks_acquire(waiter, 10000, 60000), LK_OK);
    assert_string_equal(
        lkp_ask(server, "SELECT taken >= '%s' FROM lockkit.lock WHERE name = 'ends'", end), "t");
    assert_int_equal(lk_lock_release(dead, NULL), LK_NOT_OWNER);
    double begin = lks_now_ms();
    assert_int_equal(lks_acquire(dead, 300, 0), LK_BUSY);
    assert_true(lks_now_ms() - begin >= 300 && lks_now_ms() - begin < 300 + SOON_MS);
    lks_wait_start(&wait, dead, 60000);
    lks_nap(100);
    lk_lock_cancel(dead);
    assert_int_equal(lks_wait_end(&wait), LK_CANCELLED);
    lk_lock_free(dead);
    assert_int_equal(lk_lock_close(waiter, NULL), LK_OK);
    lk_client_close(client);
}

static atomic_int inside, overlaps, turns;
static _Atomic uint64_t last_fence;

static lk_status take_turns(struct lks_wait *wait)
{
    for (int i = 0; i < TURNS; i++) {
        if (lks_acquire(wait->lock, 60000, 10000) != LK_OK) return LK_BUSY;
        if (atomic_fetch_add(&inside, 1) != 0) atomic_fetch_add(&overlaps, 1);
        uint64_t before = atomic_exchange(&last_fence, lk_lock_fence(wait->lock));
        if (before >= lk_lock_fence(wait->lock)) atomic_fetch_add(&overlaps, 1);
        atomic_fetch_add(&turns, 1);
        atomic_fetch_sub(&inside, 1);
        if (lk_lock_release(wait->lock, NULL) != LK_OK) return LK_NOT_OWNER;
    }
    return LK_OK;
}

TEST(a_crowd_takes_turns_and_nobody_starves_on_a_missed_word)
{
    lk_client *clients[2] = {lkp_client(server),
                             lkp_client_with(server, (struct lk_client_options){.pool_size = 2})};
    struct lks_wait crowd[THREADS];

    double begin = lks_now_ms();
    for (size_t i = 0; i < THREADS; i++) {
        crowd[i] =
            (struct lks_wait){.lock = lock_of(0, clients[i % 2], "crowd"), .run = take_turns};
        lks_wait_begin(&crowd[i]);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(lks_wait_end(&crowd[i]), LK_OK);
        lk_lock_free(crowd[i].lock);
    }
    print_message("# %d turns of %d in %.0f ms\n", atomic_load(&turns), THREADS,
                  lks_now_ms() - begin);
    assert_int_equal(atomic_load(&overlaps), 0);
    assert_int_equal(atomic_load(&turns), THREADS * TURNS);
    lk_client_close(clients[0]);
    lk_client_close(clients[1]);
}

/* ---- renewal and loss ------------------------------------------------------------------------------ */

TEST(a_renewed_hold_outlives_its_lease_and_a_stolen_one_is_told)
{
    lk_client *client = lkp_client(server);
    atomic_int losses = 0;
    lk_lock *locks[40];
    struct lk_lock_options options = {
        .lease_ms = 600, .is_renewed = true, .on_lost = lks_count_loss, .on_lost_arg = &losses};

    for (size_t i = 0; i < 40; i++) {
        locks[i] = lock_of(i % 4, client, lks_format("renewed-%zu'\"\\{},", i));
        assert_int_equal(lk_lock_acquire(locks[i], &options, NULL), LK_OK);
    }
    lks_nap(1500);
    for (size_t i = 0; i < 40; i++)
        assert_true(lk_held(locks[i]));
    assert_int_equal(atomic_load(&losses), 0);
    (void)lkp_ask(server,
                  "UPDATE lockkit.lock SET token = 'thief' WHERE name LIKE 'renewed-7''%%'");
    double begin = lks_now_ms();
    LKS_EVENTUALLY(atomic_load(&losses) == 1, 3000);
    print_message("# told %.0f ms after it was stolen, lease 600 ms\n", lks_now_ms() - begin);
    assert_false(lk_held(locks[7]));
    for (size_t i = 0; i < 40; i++)
        assert_int_equal(lk_lock_close(locks[i], NULL), i == 7 ? LK_NOT_OWNER : LK_OK);
    assert_int_equal(atomic_load(&losses), 1);
    lk_client_close(client);
}

TEST(a_role_that_prefers_to_serialize_makes_no_difference)
{
    (void)lkp_ask(server, "ALTER ROLE postgres SET default_transaction_isolation = 'serializable'");
    atomic_store(&turns, 0);
    a_crowd_takes_turns_and_nobody_starves_on_a_missed_word(NULL);
    (void)lkp_ask(server, "ALTER ROLE postgres RESET default_transaction_isolation");
}

/* As the real one does it (`make interop` has that): its times are UTC, whatever zone a session is in. */
TEST(a_row_of_shedlock_is_read_and_left_as_shedlock_would)
{
    (void)lkp_ask(server, "CREATE TABLE public.shedlock (name varchar(64) PRIMARY KEY, lock_until "
                          "timestamp NOT NULL, locked_at timestamp NOT NULL, locked_by "
                          "varchar(255) NOT NULL)");
    (void)lkp_ask(server, "ALTER ROLE postgres SET timezone = 'Asia/Kathmandu'");
    lk_client *client = lkp_client(server);
    lk_lock *lock = lk_shedlock_new(client, "job", NULL);

    assert_int_equal(lks_acquire(lock, 0, LEASE_MS), LK_OK);
    assert_string_equal(
        lkp_ask(server, "SELECT lock_until - timezone('utc', now()) BETWEEN '0.5 s' AND '1.5 s'"
                        " AND locked_at <= timezone('utc', now()) FROM public.shedlock"),
        "t");
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    (void)lkp_ask(server, "UPDATE public.shedlock SET locked_by = 'java',"
                          " lock_until = timezone('utc', now()) + interval '400 ms'");
    assert_int_equal(lks_acquire(lock, 0, 0), LK_BUSY);
    assert_int_equal(lks_acquire(lock, SOON_MS, 0), LK_OK);
    (void)lkp_ask(server, "UPDATE public.shedlock SET locked_by = 'java'");
    assert_int_equal(lk_lock_close(lock, NULL), LK_NOT_OWNER);
    assert_string_equal(
        lkp_ask(server, "SELECT lock_until > timezone('utc', now()) FROM public.shedlock"), "t");
    lk_client_close(client);
    (void)lkp_ask(server, "ALTER ROLE postgres RESET timezone");
}
