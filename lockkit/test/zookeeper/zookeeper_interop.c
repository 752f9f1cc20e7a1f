/*
 * Locks in ZooKeeper, on a private server: the verbs and the waiting, of every kind.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lk_zookeeper.h"

enum { SESSION_MS = 2000, SOON_MS = 1000, LONG_MS = 20000, WAITERS = 20, HERD = 50, ROUNDS = 100 };

LKZ_SERVER();

static lk_client *new_client(void)
{
    return lkz_client(server, NULL);
}

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

static lk_lock *lock_of(size_t kind, lk_client *client, const char *key)
{
    struct lk_error err = {0};
    lk_lock *lock = kinds[kind].make(client, key, &err);

    if (!lock) fail_msg("%s", err.text);
    return lock;
}

/* For its log it would ask who this host is, and a silent name server keeps it from starting for a minute. */
TEST(a_private_server_asks_no_name_server)
{
    assert_non_null(strstr(lkz_says(server, 0, "envi"), "host.name=<NA>"));
}

/* ---- the verbs -------------------------------------------------------------------------------------- */

TEST(each_kind_of_each_dialect_excludes_counts_and_gives_back)
{
    const char *const rests[] = {"/verbs?session_ms=2000", "/kazoo?dialect=kazoo&session_ms=2000"};

    for (size_t i = 0; i < 8; i++) {
        lk_client *client = lkz_client(server, rests[i / 4]);
        lk_client *other = lkz_client(server, rests[i / 4]);
        const char *key = lks_format("key/%zu", i);
        lk_lock *lock = lock_of(i % 4, client, key);
        lk_lock *rival = lock_of(i % 4, other, key);
        bool is_reentrant = kinds[i % 4].is_reentrant;

        assert_int_equal(lks_acquire(lock, 0, SOON_MS), LK_OK);
        assert_true(lk_held(lock) && lk_lock_remaining_ms(lock) <= SOON_MS);
        uint64_t fence = lk_lock_fence(lock);
        assert_true(fence > 0);
        assert_int_equal(lks_acquire(rival, 0, 0), LK_BUSY);
        assert_int_equal(lks_acquire(lock, 0, SOON_MS), is_reentrant ? LK_OK : LK_INVALID);
        assert_int_equal(lk_lock_hold_count(lock), is_reentrant ? 2 : 1);
        if (is_reentrant) assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
        assert_int_equal(lk_lock_renew(lock, LONG_MS, NULL), LK_OK);
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
        lk_client_close(other);
        lk_client_close(client);
    }
}

TEST(the_node_is_what_curator_would_make_and_the_fence_its_czxid)
{
    lk_client *client = new_client();
    lk_lock *lock = lks_mutex(client, "layout");
    const char *const *names = NULL;

    assert_int_equal(lks_acquire(lock, 0, LONG_MS), LK_OK);
    assert_int_equal(lkz_children(server, "/t/layout", &names), 1);
    assert_string_equal(names[0], lks_format("_c_%s-lock-0000000000", lk_lock_token(lock)));
    struct Stat stat = lkz_stat(server, lks_format("/t/layout/%s", names[0]));
    assert_true(stat.ephemeralOwner != 0);
    assert_int_equal(stat.czxid, lk_lock_fence(lock));
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    lk_client_close(client);
    LKS_EVENTUALLY(lkz_count(server, "/t/layout") == -1, 5000); /* a container */
}

TEST(what_is_no_lock_of_zookeeper_is_refused_and_why)
{
    static const struct {
        const char *url, *key, *words;
    } rows[] = {
        {"zookeeper://", "k", "hosts"},
        {"zookeeper://me@127.0.0.1", "k", "hosts"},
        {"zookeeper://127.0.0.1/a//b", "k", "path"},
        {"zookeeper://127.0.0.1/a?dialect=go", "k", "dialect"},
        {"zookeeper://127.0.0.1/a?session_ms=0", "k", "session_ms"},
        {NULL, "..", "path"},
        {NULL, "a//b", "path"},
        {NULL, "a/", "path"},
    };
    lk_client *client = new_client();

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lk_error err = {0};

        if (rows[i].url) {
            assert_null(lk_client_open(&(struct lk_client_options){.url = rows[i].url}, &err));
        } else {
            assert_null(lk_mutex_new(client, rows[i].key, &err));
        }
        assert_int_equal(err.code, LK_INVALID);
        if (!strstr(err.text, rows[i].words)) fail_msg("%zu: %s", i, err.text);
    }
    lk_client_close(client);
}

TEST(a_hold_that_is_not_renewed_ends_with_its_lease_and_the_lock_is_free)
{
    lk_client *client = new_client();
    lk_lock *lock = lks_mutex(client, "lease");
    lk_lock *next = lks_mutex(client, "lease");

    assert_int_equal(lks_acquire(lock, 0, 300), LK_OK);
    assert_int_equal(lks_acquire(next, 3000, 0), LK_OK);
    assert_false(lk_held(lock));
    assert_int_equal(lk_lock_release(lock, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_lock_close(next, NULL), LK_OK);
    lk_lock_free(lock);
    lk_client_close(client);
}

TEST(inspection_tells_holder_waiters_and_the_next_lock)
{
    struct lk_inspection found;
    lk_client *client = lkz_client(server, "/look");
    lk_lock *lock = lks_mutex(client, "b");
    struct lks_wait wait = {0};

    assert_int_equal(lks_acquire(lock, 0, LONG_MS), LK_OK);
    lks_wait_start(&wait, lks_mutex(client, "b"), LONG_MS);
    LKS_EVENTUALLY(lkz_count(server, "/look/b") == 2, SOON_MS);
    assert_int_equal(lk_inspect(client, "a", &found, NULL), LK_OK);
    assert_int_equal(found.layout, LK_LAYOUT_NONE);
    assert_int_equal(lk_inspect(client, "b", &found, NULL), LK_OK);
    assert_int_equal(found.layout, LK_LAYOUT_FAIR);
    assert_int_equal(found.holder_count + found.waiter_count, 2);
    assert_int_equal(found.fence, lk_lock_fence(lock));
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    assert_int_equal(lk_lock_close(wait.lock, NULL), LK_OK);
    lk_client_close(client);
}

/* ---- the queue -------------------------------------------------------------------------------------- */

TEST(waiters_that_give_up_leave_nothing)
{
    lk_client *client = new_client();
    lk_lock *lock = lks_mutex(client, "giving-up");
    struct lks_wait waits[HERD] = {0};

    assert_int_equal(lks_acquire(lock, 0, LONG_MS), LK_OK);
    lk_lock *rival = lks_mutex(client, "giving-up");
    assert_int_equal(lks_acquire(rival, 0, 0), LK_BUSY);
    assert_int_equal(lkz_count(server, "/t/giving-up"), 1);
    for (size_t i = 0; i < HERD; i++)
        lks_wait_start(&waits[i], lks_mutex(client, "giving-up"), 300);
    for (size_t i = 0; i < HERD; i++) {
        assert_int_equal(lks_wait_end(&waits[i]), LK_BUSY);
        assert_true(waits[i].ended_at_ms - waits[i].began_at_ms < 800);
        lk_lock_free(waits[i].lock);
    }
    assert_int_equal(lkz_count(server, "/t/giving-up"), 1);
    lk_lock_free(rival);
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    lk_client_close(client);
}

/* One behind the other. */
static void queue_up(struct lks_wait *wait, lk_lock *lock, const char *path, int place)
{
    lks_wait_start(wait, lock, LONG_MS);
    LKS_EVENTUALLY(lkz_count(server, path) == place, SOON_MS);
}

static bool has_any_ended(const struct lks_wait *waits, size_t from)
{
    bool is_so = false;

    for (size_t i = from; i < WAITERS; i++)
        is_so |= waits[i].has_ended;
    return is_so;
}

TEST(waiters_are_granted_in_the_order_of_their_nodes_each_watching_the_one_before)
{
    lk_client *clients[] = {new_client(), new_client()};
    struct lks_wait waits[WAITERS] = {0};

    for (size_t i = 0; i < WAITERS; i++)
        queue_up(&waits[i], lks_mutex(clients[i % 2], "order"), "/t/order", (int)i + 1);
    /* "path\n\t0xsession\n" for each; the holder watches its own, too */
    LKS_EVENTUALLY(lks_count(lkz_says(server, 0, "wchp"), "/t/order/") == WAITERS - 1, SOON_MS);
    assert_int_equal(lks_count(lkz_says(server, 0, "wchp"), "0x"), WAITERS);
    for (size_t i = 0; i < WAITERS; i++) {
        assert_int_equal(lks_wait_end(&waits[i]), LK_OK);
        assert_false(has_any_ended(waits, i + 1));
        assert_int_equal(lk_lock_close(waits[i].lock, NULL), LK_OK);
    }
    lk_client_close(clients[1]);
    lk_client_close(clients[0]);
}

TEST(a_stranger_in_front_blocks_and_is_named_one_behind_does_not)
{
    lk_client *client = new_client();
    lk_lock *lock = lks_mutex(client, "stranger");
    struct lk_error err = {0};

    lkz_create(server, "/t/stranger");
    lkz_create(server, "/t/stranger/zz");
    assert_int_equal(lks_acquire(lock, 0, 0), LK_OK);
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    lkz_create(server, "/t/stranger/0");
    assert_int_equal(lk_lock_try(lock, &err), LK_BUSY);
    assert_non_null(strstr(err.text, "no lock's: 0"));
    lkz_delete(server, "/t/stranger/0");
    assert_int_equal(lks_acquire(lock, 0, 0), LK_OK);
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    lkz_delete(server, "/t/stranger/zz");
    lk_client_close(client);
}

static void hold_for_a_moment(lk_lock *lock, uint64_t *fence)
{
    assert_int_equal(lks_acquire(lock, SOON_MS, 0), LK_OK);
    assert_true(lk_lock_fence(lock) > *fence);
    *fence = lk_lock_fence(lock);
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
}

TEST(containers_that_vanish_between_two_holds_are_made_again)
{
    lk_client *client = new_client();
    lk_lock *lock = lks_mutex(client, "reaped");
    uint64_t fence = 0;

    for (int i = 0; i < ROUNDS; i++) {
        hold_for_a_moment(lock, &fence);
        lks_nap(i % 10 == 0 ? 100 : 0);
    }
    LKS_EVENTUALLY(lkz_count(server, "/t/reaped") == -1, 5000);
    hold_for_a_moment(lock, &fence);
    lk_lock_free(lock);
    lk_client_close(client);
}

/* ---- readers and writers ---------------------------------------------------------------------------- */

LKS_NEW(lk_rwlock, rwlock, lk_rwlock_new);

/* W R R W R */
static void queue_readers_and_writers(const char *rest, const char *path)
{
    lk_client *client = lkz_client(server, rest);
    lk_rwlock *rw[5] = {0};
    struct lks_wait waits[5] = {0};

    for (int at = 0; at < 5; at++) {
        rw[at] = rwlock(client, "queue");
        queue_up(&waits[at], at % 3 == 0 ? lk_rwlock_write(rw[at]) : lk_rwlock_read(rw[at]), path,
                 at + 1);
    }
    assert_int_equal(lks_wait_end(&waits[0]), LK_OK);
    assert_false(waits[1].has_ended || waits[2].has_ended || waits[3].has_ended);
    assert_int_equal(lk_lock_release(waits[0].lock, NULL), LK_OK);
    assert_int_equal(lks_wait_end(&waits[1]), LK_OK);
    assert_int_equal(lks_wait_end(&waits[2]), LK_OK);
    assert_false(waits[3].has_ended || waits[4].has_ended);
    assert_int_equal(lk_lock_release(waits[1].lock, NULL), LK_OK);
    assert_int_equal(lk_lock_release(waits[2].lock, NULL), LK_OK);
    assert_int_equal(lks_wait_end(&waits[3]), LK_OK);
    assert_false(waits[4].has_ended);
    assert_int_equal(lk_lock_release(waits[3].lock, NULL), LK_OK);
    assert_int_equal(lks_wait_end(&waits[4]), LK_OK);
    for (int at = 0; at < 5; at++)
        lk_rwlock_free(rw[at]);
    LKS_EVENTUALLY(lkz_count(server, path) <= 0, SOON_MS);
    lk_client_close(client);
}

TEST(readers_hold_together_and_writers_alone_in_the_order_of_coming)
{
    queue_readers_and_writers("/rw?session_ms=2000", "/rw/queue");
    queue_readers_and_writers("/kazoo-rw?dialect=kazoo&session_ms=2000", "/kazoo-rw/queue");
}

TEST(who_writes_reads_on_while_a_writer_waits_and_who_reads_never_gets_to_write)
{
    lk_client *client = new_client();
    lk_rwlock *rw = rwlock(client, "downgrade"), *next = rwlock(client, "downgrade");
    struct lks_wait wait = {0};

    assert_int_equal(lks_acquire(lk_rwlock_write(rw), 0, 0), LK_OK);
    uint64_t fence = lk_lock_fence(lk_rwlock_write(rw));
    queue_up(&wait, lk_rwlock_write(next), "/t/downgrade", 2);
    assert_int_equal(lks_acquire(lk_rwlock_read(rw), 0, 0), LK_OK);
    assert_int_equal(lk_lock_fence(lk_rwlock_read(rw)), fence);
    assert_int_equal(lk_lock_release(lk_rwlock_write(rw), NULL), LK_OK);
    lks_nap(200);
    assert_false(wait.has_ended);
    assert_int_equal(lks_acquire(lk_rwlock_write(rw), 0, 0), LK_DEADLOCK);
    assert_int_equal(lk_rwlock_upgrade(rw, NULL, NULL), LK_INVALID);
    assert_true(lk_held(lk_rwlock_read(rw)));
    assert_int_equal(lk_lock_release(lk_rwlock_read(rw), NULL), LK_OK);
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    assert_true(lk_lock_fence(lk_rwlock_write(next)) > fence);
    lk_rwlock_free(next);
    lk_rwlock_free(rw);
    lk_client_close(client);
}

/* ---- permits ---------------------------------------------------------------------------------------- */

LKS_NEW(lk_permits, permits, lk_permits_new);
LKS_NEW(lk_lock, permit, lk_permit_lock_new);

static lk_status take(lk_permits *permits, int64_t wait_ms, struct lk_permit *out, size_t count)
{
    const struct lk_permit_options options = {.wait_ms = wait_ms};

    return lk_permits_acquire(permits, &options, out, count, NULL);
}

static lk_status ask_for_lease(lk_permits *permits, struct lk_permit *out, struct lk_error *err)
{
    const struct lk_permit_options options = {.lease_ms = LONG_MS};

    return lk_permits_acquire(permits, &options, out, 1, err);
}

TEST(permits_are_the_leases_of_a_semaphore_and_go_back_by_whoever_knows_them)
{
    lk_client *client = new_client(), *other = new_client();
    lk_permits *ours = permits(client, "permits"), *theirs = permits(other, "permits");
    struct lk_permit all[3], one;
    struct lk_permits_usage usage;
    struct lk_error err = {0};

    assert_int_equal(take(ours, 0, all, 1), LK_BUSY);
    assert_int_equal(lk_permits_try_set(ours, 3, NULL), LK_OK);
    assert_int_equal(lk_permits_try_set(theirs, 9, NULL), LK_BUSY);
    assert_int_equal(take(ours, 0, all, 3), LK_OK);
    assert_int_equal(take(theirs, 0, &one, 1), LK_BUSY);
    assert_int_equal(take(theirs, 100, &one, 1), LK_BUSY);
    assert_int_equal(lkz_count(server, "/t/permits/leases"), 3);
    assert_true(lkz_count(server, "/t/permits/locks") <= 0);
    assert_int_equal(lk_permits_ask(theirs, &all[0], NULL), LK_OK);
    assert_int_equal(lk_permits_renew(theirs, &all[0], 0, NULL), LK_OK);
    assert_int_equal(lk_permits_release(theirs, &all[0], 1, NULL), LK_OK);
    assert_int_equal(lk_permits_release(ours, all, 2, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_permits_renew(ours, &all[0], 0, NULL), LK_LOST);
    assert_int_equal(lk_permits_usage(ours, &usage, NULL), LK_OK);
    assert_true(usage.available == 1 && usage.acquired == 2);
    assert_int_equal(ask_for_lease(ours, &one, &err), LK_INVALID);
    assert_non_null(strstr(err.text, "session"));
    assert_int_equal(lk_permits_set(ours, 2, NULL), LK_OK);
    assert_int_equal(take(theirs, 0, &one, 1), LK_BUSY);
    assert_int_equal(lk_permits_delete(ours, NULL), LK_OK);
    assert_int_equal(lk_permits_delete(ours, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_permits_ask(ours, &all[1], NULL), LK_NOT_OWNER);
    lk_permits_free(theirs);
    lk_permits_free(ours);
    lk_client_close(other);
    lk_client_close(client);
}

TEST(who_waits_for_a_permit_is_woken_by_a_release_a_raise_and_the_end_of_a_session)
{
    lk_client *client = new_client(), *other = new_client();
    lk_permits *ours = permits(client, "woken");
    struct lk_permit one;
    struct lks_wait waits[3] = {0};

    assert_int_equal(lk_permits_try_set(ours, 1, NULL), LK_OK);
    assert_int_equal(take(ours, 0, &one, 1), LK_OK);
    for (int i = 0; i < 3; i++)
        queue_up(&waits[i], permit(other, "woken"), "/t/woken/locks", i + 1);
    double begin = lks_now_ms();
    assert_int_equal(lk_permits_set(ours, 2, NULL), LK_OK);
    assert_int_equal(lks_wait_end(&waits[0]), LK_OK);
    assert_int_equal(lk_permits_release(ours, &one, 1, NULL), LK_OK);
    assert_int_equal(lks_wait_end(&waits[1]), LK_OK);
    assert_true(lks_now_ms() - begin < 500); /* a waiter looks each second besides */
    assert_int_equal(lk_lock_close(waits[0].lock, NULL), LK_OK);
    assert_int_equal(lks_wait_end(&waits[2]), LK_OK);
    lk_client_close(other); /* with its session */
    assert_int_equal(take(ours, SOON_MS, &one, 1), LK_OK);
    lk_lock_free(waits[1].lock);
    lk_lock_free(waits[2].lock);
    lk_permits_free(ours);
    lk_client_close(client);
}

TEST(a_permit_as_a_lock_is_told_of_its_loss_and_leaves_nothing)
{
    lk_client *client = new_client();
    lk_permits *all = permits(client, "lost-permit");
    lk_lock *lock = permit(client, "lost-permit"), *next = permit(client, "lost-permit");
    atomic_int losses = 0;

    assert_int_equal(lk_permits_try_set(all, 1, NULL), LK_OK);
    assert_int_equal(lkz_acquire_renewed(lock, 0, &losses), LK_OK);
    assert_int_equal(lks_acquire(next, 0, 0), LK_BUSY);
    assert_int_equal(lks_acquire(next, 200, 0), LK_BUSY);
    assert_int_equal(lkz_count(server, "/t/lost-permit/leases"), 1);
    lkz_end_session(server, client);
    LKS_EVENTUALLY(losses == 1, SOON_MS);
    assert_int_equal(lk_lock_release(lock, NULL), LK_NOT_OWNER);
    assert_int_equal(lks_acquire(next, SOON_MS, 300), LK_OK); /* a lease that ends */
    assert_int_equal(lks_acquire(lock, 3000, 0), LK_OK);
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    assert_int_equal(lk_lock_close(next, NULL), LK_NOT_OWNER);
    LKS_EVENTUALLY(lkz_count(server, "/t/lost-permit/leases") <= 0, SOON_MS);
    lk_permits_free(all);
    lk_client_close(client);
}

/* ---- latches ---------------------------------------------------------------------------------------- */

LKS_NEW(lk_latch, latch, lk_latch_new);

static lk_status await_latch(struct lks_wait *wait)
{
    return lk_latch_await(wait->what, LONG_MS, NULL);
}

TEST(a_latch_is_a_node_that_counts_down_and_goes)
{
    lk_client *client = new_client(), *other = new_client();
    lk_latch *ours = latch(client, "latch"), *theirs = latch(other, "latch");
    struct lks_wait wait = {.run = await_latch, .what = theirs};
    int64_t count = -1;

    assert_int_equal(lk_latch_await(ours, 0, NULL), LK_OK);
    assert_int_equal(lk_latch_try_set(ours, 2, NULL), LK_OK);
    assert_int_equal(lk_latch_try_set(theirs, 5, NULL), LK_BUSY);
    assert_int_equal(lk_latch_await(ours, 0, NULL), LK_BUSY);
    lks_wait_begin(&wait);
    LKS_EVENTUALLY(strstr(lkz_says(server, 0, "wchp"), "/t/latch"), SOON_MS);
    assert_int_equal(lk_latch_count_down(ours, NULL), LK_OK);
    assert_int_equal(lk_latch_count(ours, &count, NULL), LK_OK);
    assert_int_equal(count, 1);
    lkz_end_session(server, other); /* the waiter's notice is not lost with it */
    LKS_EVENTUALLY(strstr(lkz_says(server, 0, "wchp"), "/t/latch"), SOON_MS);
    assert_false(wait.has_ended);
    double begin = lks_now_ms();
    assert_int_equal(lk_latch_count_down(ours, NULL), LK_OK);
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    assert_true(lks_now_ms() - begin < 500);
    assert_int_equal(lkz_count(server, "/t/latch"), -1);
    assert_int_equal(lk_latch_count_down(ours, NULL), LK_OK);
    assert_int_equal(lk_latch_delete(ours, NULL), LK_NOT_OWNER);
    lk_latch_free(theirs);
    lk_latch_free(ours);
    lk_client_close(other);
    lk_client_close(client);
}

static lk_status count_many(struct lks_wait *wait)
{
    lk_status status = LK_OK;

    for (int i = 0; i < 25 && status == LK_OK; i++)
        status = lk_latch_count_down(wait->what, NULL);
    return status;
}

TEST(many_count_at_once_and_each_counts)
{
    lk_client *client = new_client();
    lk_latch *latches[4];
    struct lks_wait waits[4] = {0};
    int64_t count = -1;

    for (size_t i = 0; i < 4; i++)
        latches[i] = latch(client, "many");
    assert_int_equal(lk_latch_try_set(latches[0], 101, NULL), LK_OK);
    for (size_t i = 0; i < 4; i++) {
        waits[i] = (struct lks_wait){.run = count_many, .what = latches[i]};
        lks_wait_begin(&waits[i]);
    }
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(lks_wait_end(&waits[i]), LK_OK);
    assert_int_equal(lk_latch_count(latches[0], &count, NULL), LK_OK);
    assert_int_equal(count, 1);
    assert_int_equal(lk_latch_delete(latches[0], NULL), LK_OK);
    for (size_t i = 0; i < 4; i++)
        lk_latch_free(latches[i]);
    lk_client_close(client);
}
