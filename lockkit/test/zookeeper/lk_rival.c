/*
 * See lk_rival.h.
 */
#include "lk_rival.h"

#include <stdatomic.h>

enum { SESSION_MS = RIVAL_SESSION_MS, SOON_MS = 2000, LONG_MS = 30000, PASSED_BY = 3 };

static const struct lkz_rival *who;
static struct lkz_server *server;
static lk_client *client;
static struct peer *peer;

struct peer *lkz_rival_start(void)
{
    return who->start(strstr(server->url, "://") + 3);
}

struct lkz_arena lkz_rival_arena(void)
{
    return (struct lkz_arena){server, client, peer};
}

BEFORE_ALL()
{
    server = lkz_server_start(1);
    lkz_create(server, "/t");
    client = lkz_client(server, lks_format("/t?session_ms=%d&dialect=%s", SESSION_MS, who->name));
    peer = lkz_rival_start();
}

AFTER_ALL()
{
    meeting_write(peer, who->name);
    peer_stop(peer);
    lk_client_close(client);
    lkz_server_stop(server);
}

static const char *path_of(const char *key)
{
    return lks_format("/t/%s", key);
}

static lk_lock *lock_of(const char *key)
{
    struct lk_error err = {0};
    lk_lock *lock = lk_mutex_new(client, key, &err);

    if (!lock) fail_msg("%s", err.text);
    return lock;
}

static void they(const char *result, const char *verb, const char *key, const char *options)
{
    (void)peer_must(peer, result, "1 %s mutex %s %s", verb, path_of(key), options);
}

#define MEETING(name, check)                                                                       \
    TEST(name)                                                                                     \
    {                                                                                              \
        struct meeting meeting = {                                                                 \
            .peer = peer, .lock = lock_of(#name), .kind = "mutex", .key = "/t/" #name};            \
        check;                                                                                     \
        assert_int_equal(lk_lock_close(meeting.lock, NULL), LK_OK);                                \
    }                                                                                              \
    _Static_assert(true, "")

MEETING(either_keeps_the_other_out, meeting_excludes(&meeting));
MEETING(either_hands_over, meeting_hands_over(&meeting));
MEETING(they_take_turns, meeting_contends(&meeting, 2000));

/* How many stand in the queue, it or we. */
static void await_places(const char *key, int count)
{
    LKS_EVENTUALLY(lkz_count(server, path_of(key)) == count, SOON_MS);
}

TEST(a_mixed_queue_is_served_in_its_order)
{
    lk_lock *first = lock_of("order"), *third = lock_of("order");
    struct lks_wait wait;
    unsigned theirs[2];

    (void)matrix_begin("mutex", "order of a mixed queue");
    assert_int_equal(lks_acquire(first, 0, LONG_MS), LK_OK);
    for (unsigned i = 0; i < 2; i++) {
        theirs[i] = peer_send(peer, "%u lock mutex /t/order wait=20000", i + 1);
        await_places("order", i == 0 ? 2 : 4);
        if (i == 0) lks_wait_start(&wait, third, 20000);
        if (i == 0) await_places("order", 3);
    }
    assert_int_equal(lk_lock_close(first, NULL), LK_OK);
    (void)peer_await(peer, theirs[0], "ok", SOON_MS);
    lks_nap(100);
    assert_false(atomic_load(&wait.has_ended));
    (void)peer_must(peer, "ok", "1 unlock mutex /t/order");
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    assert_false(peer_has_answered(peer, theirs[1]));
    assert_int_equal(lk_lock_close(third, NULL), LK_OK);
    (void)peer_await(peer, theirs[1], "ok", SOON_MS);
    (void)peer_must(peer, "ok", "2 unlock mutex /t/order");
    matrix_pass();
}

/* A resource can compare them, whoever holds: each has the czxid of its node. */
TEST(tokens_rise_across_both)
{
    lk_lock *lock = lock_of("tokens");
    int64_t last = 0;

    (void)matrix_begin("mutex", "rising tokens");
    for (int i = 0; i < PASSED_BY; i++) {
        const char *const *names = NULL;

        assert_int_equal(lks_acquire(lock, 0, LONG_MS), LK_OK);
        assert_true((int64_t)lk_lock_fence(lock) > last);
        last = (int64_t)lk_lock_fence(lock);
        assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
        they("ok", "lock", "tokens", "wait=1000");
        assert_int_equal(lkz_children(server, "/t/tokens", &names), 1);
        int64_t czxid = lkz_stat(server, lks_format("/t/tokens/%s", names[0])).czxid;
        assert_true(czxid > last);
        last = czxid;
        they("ok", "unlock", "tokens", "");
    }
    lk_lock_free(lock);
    matrix_pass();
}

TEST(a_rival_that_dies_is_followed_and_gives_way)
{
    lk_lock *lock = lock_of("dies");
    struct peer *dying = lkz_rival_start();

    (void)matrix_begin("mutex", "killed holder");
    (void)peer_must(dying, "ok", "1 lock mutex /t/dies wait=1000");
    double begin = lks_now_ms();
    peer_kill(dying);
    assert_int_equal(lks_acquire(lock, SESSION_MS + SOON_MS, LONG_MS), LK_OK);
    assert_true(lks_now_ms() - begin > SESSION_MS / 3.0);
    matrix_note("%.0f ms of a session of %d", lks_now_ms() - begin, SESSION_MS);
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    peer_stop(dying);
    matrix_pass();
}

TEST(when_our_session_is_ended_the_rival_has_it_and_we_are_told)
{
    atomic_int losses = 0;
    lk_lock *lock = lock_of("ended");
    struct lk_lock_options options = {
        .lease_ms = LONG_MS, .is_renewed = true, .on_lost = lks_count_loss, .on_lost_arg = &losses};

    (void)matrix_begin("mutex", "ended session");
    assert_int_equal(lk_lock_acquire(lock, &options, NULL), LK_OK);
    unsigned waiter = peer_send(peer, "1 lock mutex /t/ended wait=20000");
    await_places("ended", 2);
    lkz_end_session(server, client);
    (void)peer_await(peer, waiter, "ok", SOON_MS);
    LKS_EVENTUALLY(atomic_load(&losses) == 1, SOON_MS);
    assert_int_equal(lk_lock_release(lock, NULL), LK_NOT_OWNER);
    assert_int_equal(lks_acquire(lock, 0, 0), LK_BUSY);
    they("ok", "unlock", "ended", "");
    assert_int_equal(lks_acquire(lock, SOON_MS, 0), LK_OK);
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    matrix_pass();
}

/* A container is reaped; a persistent one is deleted by hand. */
static void lose_parent(const char *key)
{
    if (!who->sees_strangers) lkz_delete(server, path_of(key));
    LKS_EVENTUALLY(lkz_count(server, path_of(key)) == -1, 5000);
}

TEST(a_parent_that_vanishes_is_made_again_by_either)
{
    lk_lock *lock = lock_of("vanishes");

    (void)matrix_begin("mutex", "vanished parent");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(lks_acquire(lock, SOON_MS, LONG_MS), LK_OK);
        assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
        lose_parent("vanishes");
        they("ok", "lock", "vanishes", "wait=1000");
        they("ok", "unlock", "vanishes", "");
        lose_parent("vanishes");
    }
    lk_lock_free(lock);
    matrix_pass();
}

/* Both are kept out by this child, or neither is. */
static void both_meet(const char *key, const char *name, bool is_in_the_way)
{
    lk_lock *lock = lock_of(key);
    const char *child = lks_format("/t/%s/%s", key, name);

    lkz_create(server, child);
    assert_int_equal(lks_acquire(lock, 300, LONG_MS), is_in_the_way ? LK_BUSY : LK_OK);
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    they(is_in_the_way ? "busy" : "ok", "lock", key, "wait=300");
    if (!is_in_the_way) they("ok", "unlock", key, "");
    lkz_delete(server, child);
}

TEST(strangers_and_numbers_that_wrapped_stand_where_both_see_them)
{
    bool is_curator = who->sees_strangers;
    const char *uuid = is_curator ? "_c_11111111-2222-3333-4444-555555555555-lock-"
                                  : "11111111222233334444555555555555__lock__";

    (void)matrix_begin("mutex", "strangers, numbers beyond 2^31");
    lkz_create(server, "/t/strangers");
    both_meet("strangers", "0", is_curator);
    both_meet("strangers", "zz", false);
    both_meet("strangers", lks_format("%s2147483647", uuid), false);
    both_meet("strangers", lks_format("%s-2147483648", uuid), true);
    both_meet("strangers", lks_format("%s-000000001", uuid), is_curator);
    matrix_pass();
}

/* ---- readers and writers --------------------------------------------------------------------------------------- */

static lk_rwlock *rwlock_of(const char *key)
{
    struct lk_error err = {0};
    lk_rwlock *rwlock = lk_rwlock_new(client, key, &err);

    if (!rwlock) fail_msg("%s", err.text);
    return rwlock;
}

TEST(writers_hand_over_and_take_turns)
{
    lk_rwlock *rwlock = rwlock_of("writers");
    struct meeting meeting = {
        .peer = peer, .lock = lk_rwlock_write(rwlock), .kind = "write", .key = "/t/writers"};

    meeting_excludes(&meeting);
    meeting_hands_over(&meeting);
    meeting_contends(&meeting, 2000);
    lk_rwlock_free(rwlock);
}

TEST(readers_share_and_a_writer_is_alone)
{
    lk_rwlock *ours = rwlock_of("shared"), *other = rwlock_of("shared");

    (void)matrix_begin("write", "readers of both");
    assert_int_equal(lks_acquire(lk_rwlock_read(ours), 0, LONG_MS), LK_OK);
    (void)peer_must(peer, "ok", "1 lock read /t/shared wait=1000");
    (void)peer_must(peer, "busy", "2 lock write /t/shared wait=300");
    assert_int_equal(lks_acquire(lk_rwlock_write(other), 0, LONG_MS), LK_BUSY);
    assert_int_equal(lk_lock_release(lk_rwlock_read(ours), NULL), LK_OK);
    assert_int_equal(lks_acquire(lk_rwlock_write(other), 0, LONG_MS), LK_BUSY);
    (void)peer_must(peer, "ok", "1 unlock read /t/shared");
    assert_int_equal(lks_acquire(lk_rwlock_write(other), 0, LONG_MS), LK_OK);
    (void)peer_must(peer, "busy", "1 lock read /t/shared wait=300");
    assert_int_equal(lk_lock_release(lk_rwlock_write(other), NULL), LK_OK);
    (void)peer_must(peer, "ok", "2 lock write /t/shared wait=1000");
    assert_int_equal(lks_acquire(lk_rwlock_read(ours), 300, LONG_MS), LK_BUSY);
    (void)peer_must(peer, "ok", "2 unlock write /t/shared");
    lk_rwlock_free(other);
    lk_rwlock_free(ours);
    matrix_pass();
}

/* Its reader stands where the writer stood, before whoever came meanwhile. */
TEST(a_writer_of_ours_that_reads_on_keeps_a_waiting_writer_out)
{
    lk_rwlock *rwlock = rwlock_of("downgraded");

    (void)matrix_begin("write", "downgrade by lockkit");
    assert_int_equal(lks_acquire(lk_rwlock_write(rwlock), 0, LONG_MS), LK_OK);
    unsigned waiter = peer_send(peer, "1 lock write /t/downgraded wait=20000");
    await_places("downgraded", 2);
    assert_int_equal(lks_acquire(lk_rwlock_read(rwlock), 0, LONG_MS), LK_OK);
    assert_int_equal(lk_lock_release(lk_rwlock_write(rwlock), NULL), LK_OK);
    lks_nap(200);
    assert_false(peer_has_answered(peer, waiter));
    assert_int_equal(lk_lock_release(lk_rwlock_read(rwlock), NULL), LK_OK);
    (void)peer_await(peer, waiter, "ok", SOON_MS);
    (void)peer_must(peer, "ok", "1 unlock write /t/downgraded");
    lk_rwlock_free(rwlock);
    matrix_pass();
}

int lkz_rival_run(const struct lkz_rival *rival, int argc, char **argv)
{
    who = rival;
    return testing_run(argc, argv);
}
