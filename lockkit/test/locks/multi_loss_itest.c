/*
 * How a multi lock ends that is not released in peace: members that are lost, faults in every call,
 * holders that die or are freed. Numbers are those of the checklist in redisson.md.
 * link: -Wl,--wrap=lki_redis_exchange -Wl,--wrap=lki_redis_send
 */
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/lk_fault.h"
#include "test/support/lk_multi.h"

enum { CALLS_MAX = 16, LEASE_MS = 3000 };

/* ---- lost members ------------------------------------------------------------------------------------ */

/* Somebody else's: a hash for b and c, as Redisson would write it. */
static void let_a_peer_take(struct lkm_trio *f, size_t i)
{
    LKS_DO(lkm_server_of(i), "DEL", f->keys[i]);
    if (i == 0) {
        LKS_DO(lkm_server_of(0), "SET", f->keys[i], "a peer", "PX", "60000");
    } else {
        LKS_DO(lkm_server_of(i), "HSET", f->keys[i], "8743c9c0-0795-4907-87fd-6c719a6b4586:57",
               "1");
        LKS_DO(lkm_server_of(i), "PEXPIRE", f->keys[i], "60000");
    }
}

/* The moment a is taken a peer takes it away; b is released when its waiter has met it. */
static void rob_a_and_free_b(struct lkm_trio *f, const struct lk_event *event)
{
    if (event->type != LK_EVENT_ACQUIRE) return;
    if (strcmp(event->key, f->keys[0]) == 0 && event->status == LK_OK) let_a_peer_take(f, 0);
    if (strcmp(event->key, f->keys[1]) == 0 && event->status == LK_BUSY) {
        LKS_DO(lkm_server_of(1), "DEL", f->keys[1]);
    }
}

/* 56 */
TEST(a_member_lost_before_the_end_is_noticed_and_left_alone, struct lkm_trio *f)
{
    struct lk_error err = {0};

    LKS_DO(lkm_server_of(1), "HSET", f->keys[1], "somebody", "1");
    f->on_step = rob_a_and_free_b;
    lk_status status = lkm_acquire_for(f, 5000, &err);
    f->on_step = NULL;

    assert_int_equal(status, LK_LOST);
    assert_non_null(strstr(err.text, f->keys[0]));
    assert_in_range(LKS_INTEGER(lkm_server_of(0), "PTTL", f->keys[0]), 50000, 60000);
    assert_string_equal(LKS_TEXT(lkm_server_of(0), "GET", f->keys[0]), "a peer");
    assert_false(lkm_exists(f, 1) || lkm_exists(f, 2));
    assert_false(lk_held(f->multi));
}

/* 57 */
TEST(a_release_frees_the_others_and_names_the_lost, struct lkm_trio *f)
{
    struct lk_error err = {0};

    lkm_acquire(f);
    let_a_peer_take(f, 1);
    assert_int_equal(lk_lock_release(f->multi, &err), LK_NOT_OWNER);

    assert_int_equal(err.code, LK_NOT_OWNER);
    assert_non_null(strstr(err.text, f->keys[1]));
    assert_null(strstr(err.text, f->keys[0]));
    lkm_assert_report(f, LK_OK, LK_NOT_OWNER, LK_OK);
    assert_false(lkm_exists(f, 0) || lkm_exists(f, 2));
    assert_in_range(LKS_INTEGER(lkm_server_of(1), "PTTL", f->keys[1]), 50000, 60000);
    assert_int_equal(lk_lock_release(f->multi, NULL), LK_OK);
    LKS_DO(lkm_server_of(1), "DEL", f->keys[1]);
    lkm_acquire(f);
    LKS_DO(lkm_server_of(0), "DEL", f->keys[0], f->keys[2]);
    assert_int_equal(lk_lock_release(f->multi, &err), LK_NOT_OWNER);
    assert_non_null(strstr(err.text, f->keys[0]));
    assert_non_null(strstr(err.text, f->keys[2]));
    assert_false(lkm_exists(f, 1));
}

static bool is_readable(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    return poll(&poll_fd, 1, 0) == 1;
}

TEST(one_lost_member_is_the_loss_of_all, struct lkm_trio *f)
{
    int fd = lk_lock_lost_fd(f->multi);
    struct lk_lock_options options = {
        .lease_ms = LEASE_MS, .is_renewed = true, .on_lost = lkm_count_loss, .on_lost_arg = f};

    for (size_t lost = 0; lost < LKM_MEMBERS; lost++) {
        atomic_store(&f->losses, 0);
        assert_int_equal(lk_lock_acquire(f->multi, &options, NULL), LK_OK);
        assert_true(lk_held(f->multi));
        assert_false(is_readable(fd));
        LKS_DO(lkm_server_of(lost), "DEL", f->keys[lost]);
        lkm_await_losses(f, 1);
        assert_true(is_readable(fd));
        assert_false(lk_held(f->multi));
        assert_int_equal(lk_lock_remaining_ms(f->multi), 0);
        assert_int_equal(lk_lock_renew(f->multi, 0, NULL), LK_LOST);
        assert_int_equal(lkm_acquire_for(f, 0, NULL), LK_INVALID); /* release first */
        assert_int_equal(lk_lock_release(f->multi, NULL), LK_NOT_OWNER);
        assert_false(lkm_exists_any(f));
        assert_int_equal(atomic_load(&f->losses), 1);
    }
}

TEST(its_end_is_told_also_without_renewal, struct lkm_trio *f)
{
    struct lk_lock_options options = {
        .lease_ms = 1000, .on_lost = lkm_count_loss, .on_lost_arg = f};
    double begin = lks_now_ms();

    assert_int_equal(lk_lock_acquire(f->multi, &options, NULL), LK_OK);
    lkm_await_losses(f, 1);

    assert_true(lks_now_ms() - begin > 900);
    LKS_EVENTUALLY(!lkm_exists_any(f), 5000); /* a little later, by the servers' clocks */
    assert_int_equal(lk_lock_release(f->multi, NULL), LK_NOT_OWNER);
    assert_int_equal(atomic_load(&f->losses), 1);
}

TEST(a_renewal_by_hand_prolongs_all_or_tells_the_loss, struct lkm_trio *f)
{
    struct lk_error err = {0};
    int fd = lk_lock_lost_fd(f->multi);

    lkm_acquire(f);
    assert_int_equal(lk_lock_renew(f->multi, 90000, NULL), LK_OK);
    assert_in_range(lk_lock_remaining_ms(f->multi), 80000, 90000);
    for (size_t i = 0; i < LKM_MEMBERS; i++)
        assert_in_range(LKS_INTEGER(lkm_server_of(i), "PTTL", f->keys[i]), 80000, 90000);
    let_a_peer_take(f, 2);
    assert_int_equal(lk_lock_renew(f->multi, 90000, &err), LK_LOST);

    assert_non_null(strstr(err.text, f->keys[2]));
    assert_false(lk_held(f->multi));
    assert_true(is_readable(fd));
    assert_in_range(LKS_INTEGER(lkm_server_of(0), "PTTL", f->keys[2]), 50000, 60000);
    assert_int_equal(lk_lock_release(f->multi, NULL), LK_NOT_OWNER);
}

/* ---- faults ------------------------------------------------------------------------------------------- */

static void others_get_them_all(struct lkm_trio *f)
{
    for (size_t i = 0; i < LKM_MEMBERS; i++) {
        struct lk_error err = {0};
        struct lk_lock_options options = {.wait_ms = 10000};

        if (lk_lock_acquire(f->others[i], &options, &err) != LK_OK) fail_msg("%s", err.text);
        assert_int_equal(lk_lock_release(f->others[i], NULL), LK_OK);
    }
}

static lk_status try_acquire(struct lkm_trio *f, struct lk_error *err)
{
    return lkm_acquire_for(f, 0, err);
}

static lk_status release(struct lkm_trio *f, struct lk_error *err)
{
    return lk_lock_release(f->multi, err);
}

static lk_status renew(struct lkm_trio *f, struct lk_error *err)
{
    return lk_lock_renew(f->multi, 60000, err);
}

static bool is_right(enum lks_fault_kind kind, lk_status status)
{
    static const lk_status answers[] = {LK_UNREACHABLE, LK_SERVER, LK_SERVER, LK_UNKNOWN,
                                        LK_UNKNOWN};

    return status == LK_OK || status == answers[kind];
}

/* Once, with the n-th call faulty; false when there was no n-th call. */
static bool try_with_fault(struct lkm_trio *f,
                           lk_status (*run)(struct lkm_trio *, struct lk_error *),
                           enum lks_fault_kind kind, int n)
{
    struct lk_error err = {0};

    if (run != try_acquire) lkm_acquire(f);
    lks_fault_arm(kind, n);
    lk_status status = run(f, &err);
    bool is_hit = lks_fault_disarm();
    if (!(is_hit ? is_right(kind, status) : status == LK_OK) || err.code != status) {
        fail_msg("call %d %s: %s (\"%s\")", n, lks_fault_name(kind), lk_status_name(status),
                 err.text);
    }
    bool is_held = status == LK_OK ? run != release : run == renew;
    assert_int_equal(lk_held(f->multi), is_held);
    for (int i = 0; i < 3 && lk_lock_release(f->multi, NULL) != LK_OK; i++) {}
    /* What a lost reply has taken is given back at once, and not by its lease. */
    if (status == LK_UNKNOWN) LKS_EVENTUALLY(!lkm_exists_any(f), 10000);
    assert_false(lkm_exists_any(f));
    others_get_them_all(f);
    return is_hit;
}

TEST(it_survives_a_fault_at_every_call, struct lkm_trio *f)
{
    static lk_status (*const runs[])(struct lkm_trio *, struct lk_error *) = {try_acquire, release,
                                                                              renew};

    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        for (int kind = 0; kind < LKS_FAULT_KINDS; kind++) {
            int n = 1;

            while (n < CALLS_MAX && try_with_fault(f, runs[i], (enum lks_fault_kind)kind, n))
                n++;
            assert_in_range(n, LKM_MEMBERS + 1, CALLS_MAX - 1); /* a call for each, and an end */
        }
    }
}

TEST(what_a_release_could_not_confirm_does_not_stand_in_its_own_way, struct lkm_trio *f)
{
    for (int n = 1; n <= LKM_MEMBERS; n++) {
        lkm_acquire(f);
        lks_fault_arm(LKS_REFUSED, n);
        assert_int_equal(lk_lock_release(f->multi, NULL), LK_UNREACHABLE);
        assert_true(lks_fault_disarm());
        assert_false(lk_held(f->multi));
        assert_true(lkm_exists_any(f));
        lkm_acquire(f); /* without another release before */
        assert_int_equal(lk_lock_release(f->multi, NULL), LK_OK);
    }
}

TEST(a_holder_that_is_killed_loses_all_by_their_leases, struct lkm_trio *f)
{
    int ends[2];
    char byte = 0;

    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) { /* a process of its own, with clients of its own */
        lk_client *client =
            lk_client_open(&(struct lk_client_options){.url = lkm_server_of(0)->url}, NULL);
        lk_client *client_there =
            lk_client_open(&(struct lk_client_options){.url = lkm_server_of(1)->url}, NULL);
        lk_lock *members[] = {lk_mutex_new(client, f->keys[0], NULL),
                              lk_reentrant_new(client_there, f->keys[1], NULL)};
        lk_lock *multi = lk_multi_new(members, 2, NULL, NULL);
        struct lk_lock_options options = {.lease_ms = LEASE_MS, .is_renewed = true};

        if (lk_lock_acquire(multi, &options, NULL) != LK_OK) _exit(1);
        (void)!write(ends[1], &byte, 1);
        for (;;)
            (void)pause();
    }
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1); /* else it has failed */
    assert_true(lks_is_renewed(lkm_server_of(0), f->keys[0]));
    assert_int_equal(lkm_acquire_for(f, 0, NULL), LK_BUSY);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    for (size_t i = 0; i < 2; i++) {
        assert_true(LKS_INTEGER(lkm_server_of(i), "PTTL", f->keys[i]) <= LEASE_MS);
        LKS_DO(lkm_server_of(i), "PEXPIRE", f->keys[i], "1");
    }
    assert_int_equal(lkm_acquire_for(f, 20000, NULL), LK_OK);
    assert_int_equal(lk_lock_release(f->multi, NULL), LK_OK);
    (void)close(ends[0]);
}

TEST(freed_while_held_it_leaves_the_members_to_their_leases, struct lkm_trio *f)
{
    struct lk_lock_options options = {
        .lease_ms = LEASE_MS, .is_renewed = true, .on_lost = lkm_count_loss, .on_lost_arg = f};

    assert_int_equal(lk_lock_acquire(f->multi, &options, NULL), LK_OK);
    lk_lock_free(f->multi);
    f->multi = NULL;
    assert_true(lkm_exists(f, 0) && lkm_exists(f, 1) && lkm_exists(f, 2));
    assert_int_equal(lk_lock_renew(f->members[1], LEASE_MS, NULL), LK_OK); /* it is ours again */
    LKS_EVENTUALLY(!lkm_exists_any(f), 20000); /* nobody renews them, or they would stay */

    assert_int_equal(atomic_load(&f->losses), 0);
    for (size_t i = 0; i < LKM_MEMBERS; i++)
        assert_int_equal(lk_lock_release(f->members[i], NULL), LK_NOT_OWNER);
}

FIXTURE(lkm_set_up, lkm_tear_down);
GROUP(lkm_start_servers, lkm_stop_servers);
