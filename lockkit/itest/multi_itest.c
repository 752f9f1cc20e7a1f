/*
 * Multi locks of all or nothing on two real servers: taken whole or not at all, given back whole,
 * and lost when one member is. Numbers are those of the checklist in redisson.md.
 * link: -Wl,--wrap=lki_redis_exchange -Wl,--wrap=lki_redis_send -Wl,--wrap=lki_redis_receive
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lk_fault.h"
#include "lk_support.h"

enum { MEMBERS = 3, CALLS_MAX = 16 };

static struct lks_server *here, *there;

/* Three members, given as a, b, c. They are taken as a, c, b: that one lies there. */
struct fixture {
    lk_client *client, *client_there;
    lk_lock *members[MEMBERS];
    lk_lock *others[MEMBERS]; /* of somebody else */
    lk_lock *multi;
    const char *keys[MEMBERS];
    atomic_int losses;
    atomic_bool has_asked;
    lk_status report[MEMBERS];
    void (*on_acquire)(struct fixture *f, const struct lk_event *event);
};

static struct lks_server *server_of(size_t i)
{
    return i == 1 ? there : here;
}

static bool exists(struct fixture *f, size_t i)
{
    return LKS_INTEGER(server_of(i), "EXISTS", f->keys[i]) == 1;
}

static bool exists_any(struct fixture *f)
{
    return exists(f, 0) || exists(f, 1) || exists(f, 2);
}

static void see_event(const struct lk_event *event, void *arg)
{
    struct fixture *f = arg;

    if (event->type == LK_EVENT_ROUND_TRIP) atomic_store(&f->has_asked, true);
    if (event->type == LK_EVENT_ACQUIRE && f->on_acquire) f->on_acquire(f, event);
}

static lk_lock *member_of_kind(struct fixture *f, size_t i)
{
    lk_client *client = i == 1 ? f->client_there : f->client;

    if (i == 0) return lks_mutex(client, f->keys[i]);
    return i == 1 ? lk_reentrant_new(client, f->keys[i], NULL)
                  : lk_fenced_new(client, f->keys[i], NULL);
}

static int set_up(void **state)
{
    static const char *const names[] = {"a", "b", "c"};
    static unsigned serial;
    struct fixture *f = calloc(1, sizeof *f);
    struct lk_client_options options = {.backoff_ms = 5, .on_event = see_event, .on_event_arg = f};
    char name[32];

    assert_non_null(f);
    f->client = lks_client_with(here, options);
    f->client_there = lks_client_with(there, options);
    for (size_t i = 0; i < MEMBERS; i++) {
        (void)snprintf(name, sizeof name, "multi-%u-%s", serial, names[i]);
        f->keys[i] = lks_key(server_of(i), name);
        f->members[i] = member_of_kind(f, i);
        f->others[i] = member_of_kind(f, i);
        assert_non_null(f->members[i]);
        assert_non_null(f->others[i]);
    }
    serial++;
    f->multi = lk_multi_new(f->members, MEMBERS, NULL, NULL);
    assert_non_null(f->multi);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    (void)lks_fault_disarm();
    lk_lock_free(f->multi);
    for (size_t i = 0; i < MEMBERS; i++) {
        lk_lock_free(f->members[i]);
        lk_lock_free(f->others[i]);
    }
    lk_client_close(f->client);
    lk_client_close(f->client_there);
    free(f);
    return 0;
}

static lk_status acquire_for(struct fixture *f, int64_t wait_ms, struct lk_error *err)
{
    return lk_lock_acquire(f->multi,
                           &(struct lk_lock_options){.wait_ms = wait_ms, .lease_ms = 5000}, err);
}

static void acquire(struct fixture *f)
{
    struct lk_error err = {0};

    if (acquire_for(f, 0, &err) != LK_OK) fail_msg("%s", err.text);
}

static void let_other_hold(struct fixture *f, size_t i)
{
    assert_int_equal(lk_lock_acquire(f->others[i], NULL, NULL), LK_OK);
}

static void assert_report(struct fixture *f, lk_status a, lk_status b, lk_status c)
{
    assert_int_equal(lk_multi_report(f->multi, f->report), MEMBERS);
    assert_int_equal(f->report[0], a);
    assert_int_equal(f->report[1], b);
    assert_int_equal(f->report[2], c);
}

/* ---- all or nothing ------------------------------------------------------------------------------- */

static void it_takes_all_and_gives_all_back(void **state)
{
    struct fixture *f = *state;

    for (unsigned i = 0; i < 3; i++) {
        assert_false(lk_held(f->multi));
        acquire(f);
        assert_true(exists(f, 0) && exists(f, 1) && exists(f, 2));
        assert_true(lk_held(f->multi));
        assert_int_equal(lk_lock_hold_count(f->multi), 1);
        assert_in_range(lk_lock_remaining_ms(f->multi), 4000, 5000 - 50 - 2);
        assert_report(f, LK_OK, LK_OK, LK_OK);
        assert_int_equal(lk_lock_release(f->multi, NULL), LK_OK);
        assert_false(exists_any(f));
        assert_int_equal(lk_lock_release(f->multi, NULL), LK_OK); /* nothing left to release */
    }
}

static void one_that_is_held_keeps_it_out_and_the_others_free(void **state)
{
    struct fixture *f = *state;

    for (size_t busy = 0; busy < MEMBERS; busy++) {
        struct lk_error err = {0};

        let_other_hold(f, busy);
        assert_int_equal(acquire_for(f, 0, &err), LK_BUSY);
        assert_int_equal(err.code, LK_BUSY);
        assert_non_null(strstr(err.text, f->keys[busy]));
        assert_false(lk_held(f->multi));
        for (size_t i = 0; i < MEMBERS; i++)
            assert_int_equal(exists(f, i), i == busy);
        assert_int_equal(lk_multi_report(f->multi, f->report), MEMBERS);
        assert_int_equal(f->report[busy], LK_BUSY);
        assert_int_equal(lk_lock_release(f->others[busy], NULL), LK_OK);
        acquire(f);
        assert_int_equal(lk_lock_release(f->multi, NULL), LK_OK);
    }
}

struct wait {
    struct fixture *f;
    int64_t wait_ms;
    pthread_t thread;
    lk_status status; /* below: read after the join */
    double ended_at_ms;
};

static void *acquire_main(void *arg)
{
    struct wait *wait = arg;

    wait->status = acquire_for(wait->f, wait->wait_ms, NULL);
    wait->ended_at_ms = lks_now_ms();
    return NULL;
}

static void start_wait(struct wait *wait, struct fixture *f, int64_t wait_ms)
{
    *wait = (struct wait){.f = f, .wait_ms = wait_ms};
    assert_int_equal(pthread_create(&wait->thread, NULL, acquire_main, wait), 0);
}

static void finish_wait(struct wait *wait)
{
    assert_int_equal(pthread_join(wait->thread, NULL), 0);
}

/* 55, second half: b is held, so a and c are free within 50 ms, and stay free while it waits. */
static void who_waits_for_one_gives_the_others_back(void **state)
{
    struct fixture *f = *state;
    struct wait wait;

    let_other_hold(f, 1);
    start_wait(&wait, f, 60000);
    LKS_EVENTUALLY(exists(f, 0), 5000);
    double taken_at_ms = lks_now_ms();
    LKS_EVENTUALLY(!exists(f, 0), 5000);
    double kept_ms = lks_now_ms() - taken_at_ms;
    for (int i = 0; i < 50; i++) {
        assert_false(exists(f, 0) || exists(f, 2));
        lks_nap(1);
    }
    double released_at_ms = lks_now_ms();
    assert_int_equal(lk_lock_release(f->others[1], NULL), LK_OK);
    finish_wait(&wait);

    assert_int_equal(wait.status, LK_OK);
    if (kept_ms > 50) fail_msg("kept for %.1f ms", kept_ms);
    assert_true(wait.ended_at_ms - released_at_ms < 500);
    assert_true(exists(f, 0) && exists(f, 1) && exists(f, 2));
    assert_int_equal(lk_lock_release(f->multi, NULL), LK_OK);
}

static void it_waits_as_long_as_it_was_told(void **state)
{
    static const int64_t spans_ms[] = {1, 60, 300};
    struct fixture *f = *state;

    for (size_t i = 0; i < MEMBERS; i++) {
        double begin = lks_now_ms();

        let_other_hold(f, i);
        assert_int_equal(acquire_for(f, spans_ms[i], NULL), LK_BUSY);
        assert_true(lks_now_ms() - begin >= (double)spans_ms[i]);
        assert_true(lks_now_ms() - begin < (double)spans_ms[i] + 500);
        assert_int_equal(lk_lock_release(f->others[i], NULL), LK_OK);
        assert_false(exists_any(f));
    }
}

/* From its first answer to deep in its wait, in the pauses too. */
static void a_cancel_at_any_time_ends_the_wait(void **state)
{
    struct fixture *f = *state;
    struct wait wait;

    for (int i = 0; i < 60; i++) {
        size_t busy = (size_t)i % MEMBERS;

        let_other_hold(f, busy);
        atomic_store(&f->has_asked, false);
        start_wait(&wait, f, 60000);
        LKS_EVENTUALLY(atomic_load(&f->has_asked), 5000);
        if (i % 10) lks_nap(i % 10);
        double cancelled_at_ms = lks_now_ms();
        lk_lock_cancel(f->multi);
        finish_wait(&wait);
        assert_int_equal(wait.status, LK_CANCELLED);
        assert_true(wait.ended_at_ms - cancelled_at_ms < 500);
        assert_int_equal(lk_lock_release(f->others[busy], NULL), LK_OK);
        assert_false(exists_any(f));
    }
    acquire(f); /* an old cancel has no effect */
    assert_int_equal(lk_lock_release(f->multi, NULL), LK_OK);
    let_other_hold(f, 0); /* nor on the wait of a member for itself */
    assert_int_equal(lk_lock_acquire(f->members[0], &(struct lk_lock_options){.wait_ms = 30}, NULL),
                     LK_BUSY);
    assert_int_equal(lk_lock_release(f->others[0], NULL), LK_OK);
}

/* ---- lost members ------------------------------------------------------------------------------------ */

/* Somebody else's: a hash for b and c, as Redisson would write it. */
static void let_a_peer_take(struct fixture *f, size_t i)
{
    LKS_DO(server_of(i), "DEL", f->keys[i]);
    if (i == 0) {
        LKS_DO(here, "SET", f->keys[i], "a peer", "PX", "60000");
    } else {
        LKS_DO(server_of(i), "HSET", f->keys[i], "8743c9c0-0795-4907-87fd-6c719a6b4586:57", "1");
        LKS_DO(server_of(i), "PEXPIRE", f->keys[i], "60000");
    }
}

/* The moment a is taken a peer takes it away; b is released when its waiter has met it. */
static void rob_a_and_free_b(struct fixture *f, const struct lk_event *event)
{
    if (strcmp(event->key, f->keys[0]) == 0 && event->status == LK_OK) let_a_peer_take(f, 0);
    if (strcmp(event->key, f->keys[1]) == 0 && event->status == LK_BUSY) {
        LKS_DO(there, "DEL", f->keys[1]);
    }
}

/* 56 */
static void a_member_lost_before_the_end_is_noticed_and_left_alone(void **state)
{
    struct fixture *f = *state;
    struct lk_error err = {0};

    LKS_DO(there, "HSET", f->keys[1], "somebody", "1");
    f->on_acquire = rob_a_and_free_b;
    lk_status status = acquire_for(f, 5000, &err);
    f->on_acquire = NULL;

    assert_int_equal(status, LK_LOST);
    assert_non_null(strstr(err.text, f->keys[0]));
    assert_in_range(LKS_INTEGER(here, "PTTL", f->keys[0]), 59000, 60000);
    assert_string_equal(LKS_TEXT(here, "GET", f->keys[0]), "a peer");
    assert_false(exists(f, 1) || exists(f, 2));
    assert_false(lk_held(f->multi));
}

/* 57 */
static void a_release_frees_the_others_and_names_the_lost(void **state)
{
    struct fixture *f = *state;
    struct lk_error err = {0};

    acquire(f);
    let_a_peer_take(f, 1);
    assert_int_equal(lk_lock_release(f->multi, &err), LK_NOT_OWNER);

    assert_int_equal(err.code, LK_NOT_OWNER);
    assert_non_null(strstr(err.text, f->keys[1]));
    assert_null(strstr(err.text, f->keys[0]));
    assert_report(f, LK_OK, LK_NOT_OWNER, LK_OK);
    assert_false(exists(f, 0) || exists(f, 2));
    assert_in_range(LKS_INTEGER(there, "PTTL", f->keys[1]), 59000, 60000);
    assert_int_equal(lk_lock_release(f->multi, NULL), LK_OK);
    LKS_DO(there, "DEL", f->keys[1]);
    acquire(f);
    LKS_DO(here, "DEL", f->keys[0], f->keys[2]);
    assert_int_equal(lk_lock_release(f->multi, &err), LK_NOT_OWNER);
    assert_non_null(strstr(err.text, f->keys[0]));
    assert_non_null(strstr(err.text, f->keys[2]));
    assert_false(exists(f, 1));
}

static void count_loss(lk_lock *lock, void *arg)
{
    struct fixture *f = arg;

    assert_ptr_equal(lock, f->multi);
    atomic_fetch_add(&f->losses, 1);
}

static bool is_readable(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    return poll(&poll_fd, 1, 0) == 1;
}

static void one_lost_member_is_the_loss_of_all(void **state)
{
    struct fixture *f = *state;
    int fd = lk_lock_lost_fd(f->multi);
    struct lk_lock_options options = {
        .lease_ms = 300, .is_renewed = true, .on_lost = count_loss, .on_lost_arg = f};

    for (size_t lost = 0; lost < MEMBERS; lost++) {
        atomic_store(&f->losses, 0);
        assert_int_equal(lk_lock_acquire(f->multi, &options, NULL), LK_OK);
        for (int i = 0; i < 40; i++) { /* renewed for two leases */
            assert_true(lk_held(f->multi));
            lks_nap(15);
        }
        assert_false(is_readable(fd));
        LKS_DO(server_of(lost), "DEL", f->keys[lost]);
        LKS_EVENTUALLY(atomic_load(&f->losses) == 1, 2000);
        assert_true(is_readable(fd));
        assert_false(lk_held(f->multi));
        assert_int_equal(lk_lock_remaining_ms(f->multi), 0);
        assert_int_equal(lk_lock_renew(f->multi, 0, NULL), LK_LOST);
        assert_int_equal(acquire_for(f, 0, NULL), LK_INVALID); /* release first */
        assert_int_equal(lk_lock_release(f->multi, NULL), LK_NOT_OWNER);
        assert_false(exists_any(f));
        assert_int_equal(atomic_load(&f->losses), 1);
    }
}

static void its_end_is_told_also_without_renewal(void **state)
{
    struct fixture *f = *state;
    struct lk_lock_options options = {.lease_ms = 120, .on_lost = count_loss, .on_lost_arg = f};
    double begin = lks_now_ms();

    assert_int_equal(lk_lock_acquire(f->multi, &options, NULL), LK_OK);
    LKS_EVENTUALLY(atomic_load(&f->losses) == 1, 5000);

    assert_true(lks_now_ms() - begin > 110);
    LKS_EVENTUALLY(!exists_any(f), 1000); /* a little later, by the servers' clocks */
    assert_int_equal(lk_lock_release(f->multi, NULL), LK_NOT_OWNER);
    assert_int_equal(atomic_load(&f->losses), 1);
}

static void a_renewal_by_hand_prolongs_all_or_tells_the_loss(void **state)
{
    struct fixture *f = *state;
    struct lk_error err = {0};

    acquire(f);
    assert_int_equal(lk_lock_renew(f->multi, 9000, NULL), LK_OK);
    assert_in_range(lk_lock_remaining_ms(f->multi), 8000, 9000);
    for (size_t i = 0; i < MEMBERS; i++)
        assert_in_range(LKS_INTEGER(server_of(i), "PTTL", f->keys[i]), 8000, 9000);
    let_a_peer_take(f, 2);
    assert_int_equal(lk_lock_renew(f->multi, 90000, &err), LK_LOST);

    assert_non_null(strstr(err.text, f->keys[2]));
    assert_false(lk_held(f->multi));
    assert_in_range(LKS_INTEGER(here, "PTTL", f->keys[2]), 59000, 60000);
    assert_int_equal(lk_lock_release(f->multi, NULL), LK_NOT_OWNER);
}

/* ---- faults ------------------------------------------------------------------------------------------- */

static void others_get_them_all(struct fixture *f)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        struct lk_error err = {0};
        struct lk_lock_options options = {.wait_ms = 3000};

        if (lk_lock_acquire(f->others[i], &options, &err) != LK_OK) fail_msg("%s", err.text);
        assert_int_equal(lk_lock_release(f->others[i], NULL), LK_OK);
    }
}

static lk_status try_acquire(struct fixture *f, struct lk_error *err)
{
    return acquire_for(f, 0, err);
}

static lk_status release(struct fixture *f, struct lk_error *err)
{
    return lk_lock_release(f->multi, err);
}

static lk_status renew(struct fixture *f, struct lk_error *err)
{
    return lk_lock_renew(f->multi, 4000, err);
}

static bool is_right(enum lks_fault_kind kind, lk_status status)
{
    static const lk_status answers[] = {LK_UNREACHABLE, LK_SERVER, LK_UNKNOWN, LK_UNKNOWN};

    return status == LK_OK || status == answers[kind];
}

/* Once, with the n-th call faulty; false when there was no n-th call. */
static bool try_with_fault(struct fixture *f, lk_status (*run)(struct fixture *, struct lk_error *),
                           enum lks_fault_kind kind, int n)
{
    struct lk_error err = {0};

    if (run != try_acquire) acquire(f);
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
    assert_false(exists_any(f)); /* also what a lost reply has taken */
    others_get_them_all(f);
    return is_hit;
}

static void it_survives_a_fault_at_every_call(void **state)
{
    static lk_status (*const runs[])(struct fixture *, struct lk_error *) = {try_acquire, release,
                                                                             renew};
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        for (int kind = 0; kind < LKS_FAULT_KINDS; kind++) {
            int n = 1;

            while (n < CALLS_MAX && try_with_fault(f, runs[i], (enum lks_fault_kind)kind, n))
                n++;
            assert_in_range(n, MEMBERS + 1, CALLS_MAX - 1); /* a call for each, and an end */
        }
    }
}

static void a_holder_that_is_killed_loses_all_by_their_leases(void **state)
{
    struct fixture *f = *state;
    int ends[2];
    char byte = 0;

    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) { /* a process of its own, with clients of its own */
        lk_client *client = lk_client_open(&(struct lk_client_options){.url = here->url}, NULL);
        lk_client *client_there =
            lk_client_open(&(struct lk_client_options){.url = there->url}, NULL);
        lk_lock *members[] = {lk_mutex_new(client, f->keys[0], NULL),
                              lk_reentrant_new(client_there, f->keys[1], NULL)};
        lk_lock *multi = lk_multi_new(members, 2, NULL, NULL);
        struct lk_lock_options options = {.lease_ms = 400, .is_renewed = true};

        if (lk_lock_acquire(multi, &options, NULL) != LK_OK) _exit(1);
        (void)!write(ends[1], &byte, 1);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    lks_nap(600); /* it is renewed */
    assert_int_equal(acquire_for(f, 0, NULL), LK_BUSY);
    assert_int_equal(kill(pid, SIGKILL), 0);
    double killed_at_ms = lks_now_ms();
    assert_int_equal(acquire_for(f, 5000, NULL), LK_OK);

    assert_true(lks_now_ms() - killed_at_ms < 400 + 100 + 500);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(lk_lock_release(f->multi, NULL), LK_OK);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* ---- bad use ------------------------------------------------------------------------------------------ */

static void what_makes_no_multi_lock_is_invalid(void **state)
{
    struct fixture *f = *state;
    lk_lock *twice[] = {f->members[0], f->members[1], f->members[0]};
    lk_lock *same_key[] = {f->members[0], f->others[0]};
    lk_lock *with_null[] = {f->members[0], NULL};
    lk_lock *nested[] = {f->multi};
    const struct {
        lk_lock **locks;
        size_t count;
        unsigned allowed;
    } rows[] = {
        {NULL, 1, 0},
        {f->members, 0, 0},
        {f->members, 65, 0},
        {twice, 3, 0},
        {same_key, 2, 0},
        {with_null, 2, 0},
        {nested, 1, 0},
        {f->members, 3, 2},
        {f->members, 2, 1},
        {f->members, 1, 1},
        {f->members, 3, UINT32_MAX},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lk_error err = {0};
        struct lk_multi_options options = {.failures_allowed = rows[i].allowed};

        assert_null(lk_multi_new(rows[i].locks, rows[i].count, &options, &err));
        assert_int_equal(err.code, LK_INVALID);
        assert_true(strlen(err.text) > 10);
    }
    assert_int_equal(lk_multi_report(NULL, f->report), 0);
    assert_int_equal(lk_multi_report(f->members[0], f->report), 0);
    assert_int_equal(lk_multi_report(f->multi, NULL), 0);
}

static void what_a_multi_lock_cannot_do_is_invalid(void **state)
{
    struct fixture *f = *state;
    lk_script *script =
        lk_script_new(&(struct lk_script_source){.name = "x", .source = "return 1"});
    struct lk_eval eval = {.script = script};
    lk_reply *reply = NULL;

    acquire(f);
    assert_int_equal(acquire_for(f, 0, NULL), LK_INVALID); /* not reentrant */
    assert_int_equal(lk_guarded_eval(f->multi, &eval, 0, &reply, NULL), LK_INVALID);
    assert_int_equal(lk_mutex_run(f->multi, NULL, &eval, &reply, NULL), LK_INVALID);
    assert_int_equal(lk_lock_force_release(f->multi, NULL), LK_INVALID);
    assert_int_equal(lk_guarded_eval(f->members[0], &eval, 0, &reply, NULL), LK_OK); /* so does */
    assert_int_equal(lks_integer_of(reply), 1);
    assert_int_equal(lk_lock_release(f->multi, NULL), LK_OK);
    assert_int_equal(lk_lock_acquire(f->members[2], NULL, NULL), LK_OK);
    assert_int_equal(acquire_for(f, 0, NULL), LK_INVALID); /* held apart */
    assert_false(exists(f, 0) || exists(f, 1));
    assert_int_equal(lk_lock_release(f->members[2], NULL), LK_OK);
    acquire(f);
    assert_int_equal(lk_lock_release(f->multi, NULL), LK_OK);
    lk_script_free(script);
}

static void freed_while_held_it_leaves_the_members_to_their_leases(void **state)
{
    struct fixture *f = *state;
    struct lk_lock_options options = {
        .lease_ms = 200, .is_renewed = true, .on_lost = count_loss, .on_lost_arg = f};

    assert_int_equal(lk_lock_acquire(f->multi, &options, NULL), LK_OK);
    lk_lock_free(f->multi);
    f->multi = NULL;
    assert_true(exists(f, 0) && exists(f, 1) && exists(f, 2));
    LKS_EVENTUALLY(!exists_any(f), 2000); /* nobody renews them */

    assert_int_equal(atomic_load(&f->losses), 0);
    for (size_t i = 0; i < MEMBERS; i++)
        assert_int_equal(lk_lock_release(f->members[i], NULL), LK_NOT_OWNER);
}

#define MULTI_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static int start_servers(void **state)
{
    (void)state;
    here = lks_server_start(NULL);
    there = lks_server_start(NULL);
    if (strcmp(here->url, there->url) > 0) {
        struct lks_server *first = there;

        there = here;
        here = first;
    }
    return 0;
}

static int stop_servers(void **state)
{
    (void)state;
    lks_server_stop(here);
    lks_server_stop(there);
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        MULTI_TEST(it_takes_all_and_gives_all_back),
        MULTI_TEST(one_that_is_held_keeps_it_out_and_the_others_free),
        MULTI_TEST(who_waits_for_one_gives_the_others_back),
        MULTI_TEST(it_waits_as_long_as_it_was_told),
        MULTI_TEST(a_cancel_at_any_time_ends_the_wait),
        MULTI_TEST(a_member_lost_before_the_end_is_noticed_and_left_alone),
        MULTI_TEST(a_release_frees_the_others_and_names_the_lost),
        MULTI_TEST(one_lost_member_is_the_loss_of_all),
        MULTI_TEST(its_end_is_told_also_without_renewal),
        MULTI_TEST(a_renewal_by_hand_prolongs_all_or_tells_the_loss),
        MULTI_TEST(it_survives_a_fault_at_every_call),
        MULTI_TEST(a_holder_that_is_killed_loses_all_by_their_leases),
        MULTI_TEST(what_makes_no_multi_lock_is_invalid),
        MULTI_TEST(what_a_multi_lock_cannot_do_is_invalid),
        MULTI_TEST(freed_while_held_it_leaves_the_members_to_their_leases),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, start_servers, stop_servers);
}
