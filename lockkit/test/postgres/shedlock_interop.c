/*
 * The real ShedLock and ours in one table: a row of ours is a row of its.
 */
#include "lockkit/postgres.h"

#include "interop/checks/meeting.h"
#include "lk_postgres.h"

static struct lkp_server *server;
static lk_client *client;
static struct peer *shedlock;

BEFORE_ALL()
{
    server = lkp_server_start();
    /* Of ShedLock's own manual. */
    (void)lkp_ask(server, "CREATE TABLE public.shedlock(name VARCHAR(64) NOT NULL, lock_until "
                          "TIMESTAMP NOT NULL, locked_at TIMESTAMP NOT NULL,"
                          " locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name))");
    /* Time zones of role and machine are nothing to either. */
    (void)lkp_ask(server, "ALTER ROLE postgres SET timezone = 'Asia/Kathmandu'");
    client = lk_client_open(&(struct lk_client_options){.url = server->url, .poll_ms = 20}, NULL);
    assert_non_null(client);
    shedlock = meeting_java(
        "ShedLockPeer",
        lks_format("jdbc:postgresql://127.0.0.1:%d/postgres?user=postgres", server->port));
}

AFTER_ALL()
{
    meeting_write(shedlock, "shedlock");
    peer_stop(shedlock);
    lk_client_close(client);
    lkp_server_stop(server);
}

static lk_lock *lock_of(const char *key)
{
    lk_lock *lock = lk_shedlock_new(client, key, NULL);

    assert_non_null(lock);
    return lock;
}

static struct meeting meeting_at(const char *key)
{
    return (struct meeting){.peer = shedlock, .lock = lock_of(key), .kind = "shedlock", .key = key};
}

#define MEETING(name, ...)                                                                         \
    TEST(name)                                                                                     \
    {                                                                                              \
        struct meeting meeting = meeting_at(#name);                                                \
        __VA_ARGS__;                                                                               \
        assert_int_equal(lk_lock_close(meeting.lock, NULL), LK_OK);                                \
    }                                                                                              \
    _Static_assert(true, "")

MEETING(either_keeps_the_other_out, meeting_excludes(&meeting));
MEETING(either_hands_over, meeting_hands_over(&meeting));
MEETING(they_take_turns, meeting_contends(&meeting, 2000));

TEST(a_lease_that_ends_lets_the_other_in_and_is_lost)
{
    lk_lock *lock = lock_of("lease");

    (void)matrix_begin("shedlock", "lease expiry");
    assert_int_equal(lks_acquire(lock, 0, 400), LK_OK);
    assert_int_equal(lk_lock_fence(lock), 0);
    (void)peer_must(shedlock, "ok", "1 lock shedlock lease wait=3000 lease=400");
    assert_int_equal(lk_lock_renew(lock, 0, NULL), LK_LOST);
    assert_int_equal(lk_lock_release(lock, NULL), LK_NOT_OWNER);
    assert_int_equal(lks_acquire(lock, 3000, 400), LK_OK);
    (void)peer_must(shedlock, "ok", "1 unlock shedlock lease"); /* nothing: it is ours by now */
    assert_int_equal(lk_lock_renew(lock, 400, NULL), LK_OK);
    (void)peer_must(shedlock, "ok", "1 lock shedlock lease wait=3000 lease=400");
    assert_int_equal(lk_lock_release(lock, NULL), LK_NOT_OWNER);
    assert_int_equal(lks_acquire(lock, 3000, 30000), LK_OK);
    (void)peer_must(shedlock, "lost", "1 renew shedlock lease lease=30000");
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    matrix_pass();
}

TEST(what_is_prolonged_by_hand_keeps_the_other_out)
{
    lk_lock *lock = lock_of("longer");

    (void)matrix_begin("shedlock", "lease prolonged by hand");
    assert_int_equal(lks_acquire(lock, 0, 400), LK_OK);
    assert_int_equal(lk_lock_renew(lock, 30000, NULL), LK_OK);
    (void)peer_must(shedlock, "busy", "1 lock shedlock longer wait=600 lease=400");
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    (void)peer_must(shedlock, "ok", "1 lock shedlock longer wait=0 lease=400");
    (void)peer_must(shedlock, "ok", "1 renew shedlock longer lease=30000");
    assert_int_equal(lks_acquire(lock, 600, 400), LK_BUSY);
    (void)peer_must(shedlock, "ok", "1 unlock shedlock longer");
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    matrix_pass();
}

TEST(a_guarded_statement_is_refused_once_it_has_the_lock)
{
    const struct lk_postgres_work work = {.sql = "CREATE TABLE public.guarded ()"};
    lk_lock *lock = lock_of("guarded");

    assert_int_equal(lks_acquire(lock, 0, 300), LK_OK);
    (void)peer_must(shedlock, "ok", "1 lock shedlock guarded wait=3000 lease=30000");
    assert_int_equal(lk_postgres_guarded(lock, &work, 0, NULL, NULL), LK_NOT_OWNER);
    (void)peer_must(shedlock, "ok", "1 unlock shedlock guarded");
    assert_int_equal(lk_lock_close(lock, NULL), LK_NOT_OWNER);
    lock = lock_of("guarded");
    assert_int_equal(lks_acquire(lock, 0, 3000), LK_OK);
    assert_int_equal(lk_postgres_guarded(lock, &work, 0, NULL, NULL), LK_OK);
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
}

TEST(what_it_does_not_have_is_invalid)
{
    struct lk_error err = {0};
    lk_lock *lock = lock_of("renewed");

    assert_int_equal(lk_lock_acquire(lock, &(struct lk_lock_options){.is_renewed = true}, &err),
                     LK_INVALID);
    assert_non_null(strstr(err.text, "by hand"));
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    assert_null(lk_shedlock_new(NULL, "x", &err));
}
