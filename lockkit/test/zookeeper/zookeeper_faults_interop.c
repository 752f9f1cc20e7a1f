/*
 * Locks in ZooKeeper, and what may happen to session, server, node, holder and answer between any two of their steps.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lk_zookeeper.h"

enum { SESSION_MS = 2000, SOON_MS = 1000, LONG_MS = 20000 };

LKZ_SERVER();
LKS_NEW(lk_permits, permits, lk_permits_new);
LKS_NEW(lk_latch, latch, lk_latch_new);

static lk_client *new_client(void)
{
    return lkz_client(server, NULL);
}

/* ---- sessions --------------------------------------------------------------------------------------- */

TEST(a_hold_whose_session_is_ended_is_told_lost_once_and_the_handle_goes_on)
{
    lk_client *client = new_client();
    lk_lock *lock = lks_mutex(client, "killed");
    atomic_int losses = 0;

    assert_int_equal(lkz_acquire_renewed(lock, 0, &losses), LK_OK);
    uint64_t fence = lk_lock_fence(lock);
    lkz_end_session(server, client);
    LKS_EVENTUALLY(losses == 1, SOON_MS);
    assert_false(lk_held(lock));
    assert_int_equal(lk_lock_release(lock, NULL), LK_NOT_OWNER);
    assert_int_equal(lkz_acquire_renewed(lock, SOON_MS, &losses), LK_OK);
    assert_true(lk_lock_fence(lock) > fence);
    assert_int_equal(lkz_count(server, "/t/killed"), 1);
    lks_nap(SESSION_MS);
    assert_true(lk_held(lock) && losses == 1);
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    lk_client_close(client);
}

TEST(a_hold_whose_node_is_deleted_is_told_lost)
{
    lk_client *client = new_client();
    lk_lock *lock = lks_mutex(client, "deleted");
    const char *const *names = NULL;
    atomic_int losses = 0;

    assert_int_equal(lkz_acquire_renewed(lock, 0, &losses), LK_OK);
    assert_int_equal(lkz_children(server, "/t/deleted", &names), 1);
    const char *path = lks_format("/t/deleted/%s", names[0]);
    assert_int_equal(zoo_set(server->raw, path, "__REVOKE__", 10, -1),
                     ZOK); /* no more than a word */
    lks_nap(100);
    assert_true(lk_held(lock));
    lkz_delete(server, path);
    LKS_EVENTUALLY(losses == 1, SOON_MS);
    assert_int_equal(lk_lock_release(lock, NULL), LK_NOT_OWNER);
    lk_lock_free(lock);
    lk_client_close(client);
}

TEST(a_waiter_whose_session_is_ended_queues_again)
{
    lk_client *client = new_client(), *other = new_client();
    lk_lock *lock = lks_mutex(other, "requeued");
    struct lks_wait wait = {0};

    assert_int_equal(lks_acquire(lock, 0, LONG_MS), LK_OK);
    lks_wait_start(&wait, lks_mutex(client, "requeued"), LONG_MS);
    LKS_EVENTUALLY(lkz_count(server, "/t/requeued") == 2, SOON_MS);
    lkz_end_session(server, client);
    LKS_EVENTUALLY(lkz_count(server, "/t/requeued") == 2, LONG_MS);
    assert_false(wait.has_ended);
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    assert_int_equal(lk_lock_close(wait.lock, NULL), LK_OK);
    lk_client_close(other);
    lk_client_close(client);
}

TEST(the_server_comes_back_and_the_hold_goes_on)
{
    lk_client *client = lkz_client(server, "/t?session_ms=4000");
    lk_lock *lock = lks_mutex(client, "restart");
    struct lks_wait wait = {0};
    atomic_int losses = 0;

    assert_int_equal(lkz_acquire_renewed(lock, 0, &losses), LK_OK);
    uint64_t fence = lk_lock_fence(lock);
    lkz_server_kill(server, 0);
    lkz_server_begin(server, 0);
    lkz_server_await(server, 0);
    lks_nap(SESSION_MS);
    assert_true(lk_held(lock) && losses == 0);
    assert_int_equal(lk_lock_fence(lock), fence);
    lks_wait_start(&wait, lks_mutex(client, "restart"), LONG_MS);
    LKS_EVENTUALLY(lkz_count(server, "/t/restart") == 2, SOON_MS);
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    assert_int_equal(lk_lock_close(wait.lock, NULL), LK_OK);
    lk_client_close(client);
}

TEST(a_server_that_comes_back_empty_is_a_beginning)
{
    lk_client *client = new_client();
    lk_lock *lock = lks_mutex(client, "empty");
    atomic_int losses = 0;

    assert_int_equal(lkz_acquire_renewed(lock, 0, &losses), LK_OK);
    lkz_server_wipe(server);
    lkz_server_begin(server, 0);
    lkz_server_await(server, 0);
    LKS_EVENTUALLY(losses == 1, 2 * SESSION_MS);
    assert_int_equal(lk_lock_release(lock, NULL), LK_NOT_OWNER);
    assert_int_equal(lks_acquire(lock, LONG_MS, 0), LK_OK);
    assert_int_equal(lkz_count(server, "/t/empty"), 1);
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    lk_client_close(client);
}

/* ---- answers that do not come ------------------------------------------------------------------------ */

static struct lkz_link proxy;

static lk_client *new_proxied(void)
{
    proxy = (struct lkz_link){0};
    lkz_link_start(&proxy, server);
    return lkz_link_client(&proxy);
}

static void close_proxied(lk_client *client)
{
    lk_client_close(client);
    lkz_link_stop(&proxy);
}

TEST(a_create_whose_answer_is_lost_is_found_again_and_is_one)
{
    lk_client *client = new_proxied();
    lk_lock *lock = lks_mutex(client, "lost");

    lkz_create(server, "/t/lost");
    atomic_store(&proxy.fault, LKZ_EAT_CREATE);
    assert_int_equal(lks_acquire(lock, LONG_MS, 0), LK_OK);
    assert_int_equal(proxy.eaten, 1);
    assert_int_equal(lkz_count(server, "/t/lost"), 1);
    const char *const *names = NULL;
    (void)lkz_children(server, "/t/lost", &names);
    struct Stat stat = lkz_stat(server, lks_format("/t/lost/%s", names[0]));
    assert_int_equal(stat.czxid, lk_lock_fence(lock));
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    assert_int_equal(lkz_count(server, "/t/lost"), 0);
    lk_lock_free(lock);
    close_proxied(client);
}

TEST(a_create_whose_answer_is_lost_and_that_nobody_waits_for_any_more_is_undone)
{
    lk_client *client = new_proxied();
    lk_lock *lock = lks_mutex(client, "given-up");

    lkz_create(server, "/t/given-up");
    atomic_store(&proxy.fault, LKZ_EAT_CREATE);
    lk_status status = lks_acquire(lock, 0, 0);
    assert_true(status == LK_UNREACHABLE || status == LK_OK); /* by chance it is back by then */
    (void)lk_lock_release(lock, NULL);
    assert_int_equal(proxy.eaten, 1);
    LKS_EVENTUALLY(lkz_count(server, "/t/given-up") == 0, SOON_MS);
    lk_lock_free(lock);
    close_proxied(client);
}

TEST(a_create_whose_answer_is_lost_with_its_session_is_not_taken_over)
{
    lk_client *client = new_proxied();
    lk_lock *lock = lks_mutex(client, "dying");
    struct lks_wait wait = {0};
    const char *const *names = NULL;

    lkz_create(server, "/t/dying");
    atomic_store(&proxy.fault, LKZ_EAT_CREATE);
    lks_wait_start(&wait, lock, LONG_MS);
    LKS_EVENTUALLY(proxy.eaten == 1, SOON_MS);
    atomic_store(&proxy.fault, LKZ_CUT);
    (void)lkz_children(server, "/t/dying", &names);
    struct Stat before = lkz_stat(server, lks_format("/t/dying/%s", names[0]));
    LKS_EVENTUALLY(lkz_count(server, "/t/dying") == 0, LONG_MS);
    atomic_store(&proxy.fault, LKZ_NONE);
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    assert_true(lk_lock_fence(lock) > (uint64_t)before.czxid);
    assert_int_equal(lkz_count(server, "/t/dying"), 1);
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    close_proxied(client);
}

static lk_status take(lk_permits *all, int64_t wait_ms, struct lk_permit *out)
{
    const struct lk_permit_options options = {.wait_ms = wait_ms};

    return lk_permits_acquire(all, &options, out, 1, NULL);
}

/* The answer to the first create, of the place in the queue, or to the second, of the lease. */
static lk_status lose_create(lk_permits *all, int spared, int64_t wait_ms, struct lk_permit *one)
{
    atomic_store(&proxy.spared, spared);
    atomic_store(&proxy.fault, LKZ_EAT_CREATE);
    return take(all, wait_ms, one);
}

static void await_nothing(void)
{
    LKS_EVENTUALLY(lkz_count(server, "/t/lost-create/locks") <= 0, SOON_MS);
    LKS_EVENTUALLY(lkz_count(server, "/t/lost-create/leases") <= 0, SOON_MS);
}

static void give_back(lk_permits *all, const struct lk_permit *one)
{
    assert_int_equal(lk_permits_release(all, one, 1, NULL), LK_OK);
    lks_nap(100); /* it is connected again */
}

TEST(a_permit_whose_create_is_not_answered_is_taken_once_or_given_up)
{
    lk_client *client = new_proxied();
    lk_permits *all = permits(client, "lost-create");
    struct lk_permit one;

    assert_int_equal(lk_permits_try_set(all, 1, NULL), LK_OK);
    assert_int_equal(take(all, 0, &one), LK_OK); /* there are the parents */
    give_back(all, &one);
    for (int spared = 0; spared < 2; spared++) {
        assert_int_equal(lose_create(all, spared, LONG_MS, &one), LK_OK);
        assert_int_equal(lkz_count(server, "/t/lost-create/leases"), 1);
        give_back(all, &one);
        if (lose_create(all, spared, 0, &one) == LK_OK) give_back(all, &one);
        await_nothing();
    }
    assert_int_equal(proxy.eaten, 4);
    lk_permits_free(all);
    close_proxied(client);
}

TEST(a_count_down_that_is_not_answered_counts_once)
{
    lk_client *client = new_proxied(), *other = new_client();
    lk_latch *ours = latch(client, "once"), *theirs = latch(other, "once");
    int64_t count = -1;

    assert_int_equal(lk_latch_try_set(ours, 3, NULL), LK_OK);
    for (int left = 2; left >= 0; left--) {
        atomic_store(&proxy.fault, LKZ_EAT_CHANGE);
        assert_int_equal(lk_latch_count_down(ours, NULL), LK_OK);
        assert_int_equal(proxy.eaten, 3 - left);
        assert_int_equal(lk_latch_count(theirs, &count, NULL), LK_OK);
        assert_int_equal(count, left);
    }
    lk_latch_free(theirs);
    lk_latch_free(ours);
    close_proxied(client);
    lk_client_close(other);
}

TEST(a_short_cut_is_no_loss)
{
    lk_client *client = new_proxied();
    lk_lock *lock = lks_mutex(client, "short-cut");
    atomic_int losses = 0;

    assert_int_equal(lkz_acquire_renewed(lock, 0, &losses), LK_OK);
    uint64_t fence = lk_lock_fence(lock);
    atomic_store(&proxy.fault, LKZ_CUT);
    lks_nap(SESSION_MS / 3);
    atomic_store(&proxy.fault, LKZ_NONE);
    lks_nap(SESSION_MS);
    assert_true(lk_held(lock) && losses == 0);
    assert_int_equal(lk_lock_fence(lock), fence);
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    close_proxied(client);
}

TEST(one_that_hears_nothing_is_told_lost_before_the_next_one_has_it)
{
    lk_client *client = new_proxied(), *other = new_client();
    lk_lock *lock = lks_mutex(client, "hole");
    struct lks_wait wait = {0};
    atomic_int losses = 0;

    assert_int_equal(lkz_acquire_renewed(lock, 0, &losses), LK_OK);
    lks_wait_start(&wait, lks_mutex(other, "hole"), LONG_MS);
    atomic_store(&proxy.fault, LKZ_HOLE);
    LKS_EVENTUALLY(losses == 1, SESSION_MS);
    assert_false(wait.has_ended || lk_held(lock));
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    atomic_store(&proxy.fault, LKZ_CUT);
    atomic_store(&proxy.fault, LKZ_NONE);
    assert_int_equal(lk_lock_close(wait.lock, NULL), LK_OK);
    lk_lock_free(lock);
    close_proxied(client);
    lk_client_close(other);
}

TEST(a_release_that_does_not_come_through_is_repeated_until_it_does)
{
    lk_client *client = new_proxied(), *other = new_client();
    lk_lock *lock = lks_mutex(client, "owed");
    struct lks_wait wait = {0};

    assert_int_equal(lks_acquire(lock, 0, 0), LK_OK);
    lks_wait_start(&wait, lks_mutex(other, "owed"), LONG_MS);
    atomic_store(&proxy.fault, LKZ_CUT);
    assert_int_equal(lk_lock_release(lock, NULL), LK_UNKNOWN);
    assert_false(lk_held(lock));
    atomic_store(&proxy.fault, LKZ_NONE);
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    assert_int_equal(lk_lock_close(wait.lock, NULL), LK_OK);
    lk_lock_free(lock);
    close_proxied(client);
    lk_client_close(other);
}

/* ---- processes -------------------------------------------------------------------------------------- */

/* One that holds a lock, and tells of it; then of what it sees after it was stopped. */
static void hold(int to)
{
    atomic_int losses = 0;
    lk_client *client = new_client();
    lk_lock *lock = lks_mutex(client, "process");
    char word = lkz_acquire_renewed(lock, 0, &losses) == LK_OK ? 'h' : '?';
    double last = lks_now_ms();

    (void)!write(to, &word, 1);
    while (lks_now_ms() - last < SESSION_MS) { /* until it was stopped */
        last = lks_now_ms();
        lks_nap(1);
    }
    word = lk_held(lock) ? '!' : 'f';
    (void)!write(to, &word, 1);
    LKS_EVENTUALLY(losses == 1, SOON_MS);
    word =
        lk_lock_release(lock, NULL) != LK_OK ? 'n' : '!'; /* or UNKNOWN: nobody has told it yet */
    (void)!write(to, &word, 1);
    _exit(0);
}

static pid_t start_holder(int *out_from)
{
    int fds[2];
    char word = 0;

    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) hold(fds[1]);
    (void)close(fds[1]);
    assert_int_equal(read(fds[0], &word, 1), 1);
    assert_int_equal(word, 'h');
    *out_from = fds[0];
    return pid;
}

TEST(a_holder_that_dies_is_followed_when_its_session_has_ended_and_not_before)
{
    int from = -1;
    pid_t pid = start_holder(&from);
    lk_client *client = new_client();
    lk_lock *lock = lks_mutex(client, "process");
    double began = lks_now_ms();

    (void)kill(pid, SIGKILL);
    assert_int_equal(lks_acquire(lock, LONG_MS, 0), LK_OK);
    double took = lks_now_ms() - began;
    assert_true(took > 0.6 * SESSION_MS && took < SESSION_MS + 200 + 500);
    (void)waitpid(pid, NULL, 0);
    (void)close(from);
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    lk_client_close(client);
}

TEST(a_holder_that_slept_past_its_session_knows_at_once_and_touches_nothing)
{
    int from = -1;
    pid_t pid = start_holder(&from);
    lk_client *client = new_client();
    lk_lock *lock = lks_mutex(client, "process");
    char words[4] = "";

    (void)kill(pid, SIGSTOP);
    assert_int_equal(lks_acquire(lock, LONG_MS, LONG_MS), LK_OK);
    lks_nap(SESSION_MS);
    (void)kill(pid, SIGCONT);
    assert_int_equal(read(from, &words[0], 1) + read(from, &words[1], 1), 2);
    assert_string_equal(words, "fn");
    assert_true(lk_held(lock));
    assert_int_equal(lkz_count(server, "/t/process"), 1);
    (void)waitpid(pid, NULL, 0);
    (void)close(from);
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    lk_client_close(client);
}

/* ---- an ensemble ------------------------------------------------------------------------------------ */

TEST(a_leader_that_dies_takes_no_hold_along)
{
    struct lkz_server *ensemble = lkz_server_start(LKZ_MEMBERS_MAX);
    lk_client *client = lkz_client(ensemble, "/t?session_ms=4000");
    lk_lock *lock = lks_mutex(client, "leader");
    atomic_int losses = 0;

    assert_int_equal(lkz_acquire_renewed(lock, 0, &losses), LK_OK);
    uint64_t fence = lk_lock_fence(lock);
    lkz_server_kill(ensemble, lkz_server_leader(ensemble));
    lks_nap(SESSION_MS);
    assert_true(lk_held(lock) && losses == 0);
    assert_int_equal(lk_lock_fence(lock), fence);
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    assert_int_equal(lks_acquire(lock, LONG_MS, 0), LK_OK);
    assert_true(lk_lock_fence(lock) >> 32 > fence >> 32); /* of a later leader */
    assert_int_equal(lk_lock_close(lock, NULL), LK_OK);
    lk_client_close(client);
    lkz_server_stop(ensemble);
}
