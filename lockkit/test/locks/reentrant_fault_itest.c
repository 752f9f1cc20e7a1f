/*
 * Faults in each step of a reentrant lock: whatever is refused, answered by an error, or done with
 * its reply lost, the holds are counted exactly, here and in the server, and the last release leaves
 * nothing. 31 and 32 of the checklist in redisson.md.
 * link: -Wl,--wrap=lki_redis_exchange -Wl,--wrap=lki_redis_send -Wl,--wrap=lki_redis_receive
 */
#include "test/support/lk_fault.h"
#include "test/support/lk_support.h"

enum { LEASE_MS = 5000, CALLS_MAX = 8 };

LKS_SERVER(lks_server_start(NULL));

struct fixture {
    lk_client *client, *other_client;
    lk_lock *lock, *other;
    const char *key;
};

typedef lk_lock *maker(lk_client *client, const char *key, struct lk_error *err);

static maker *const makers[] = {lk_reentrant_new, lk_spin_new, lk_fenced_new};

enum { MAKERS = sizeof makers / sizeof makers[0] };

static void make_locks(struct fixture *f, maker *make)
{
    f->lock = make(f->client, f->key, NULL);
    f->other = make(f->other_client, f->key, NULL);
    assert_non_null(f->lock);
    assert_non_null(f->other);
}

static void free_locks(struct fixture *f)
{
    lk_lock_free(f->lock);
    lk_lock_free(f->other);
    f->lock = f->other = NULL;
}

SET_UP(struct fixture, f)
{
    struct lk_client_options options = {.backoff_ms = 5};

    f->key = lks_new_key(server, "steps");
    f->client = lks_client_with(server, options);
    f->other_client = lks_client_with(server, options);
}

TEAR_DOWN(struct fixture, f)
{
    (void)lks_fault_disarm();
    free_locks(f);
    lk_client_close(f->client);
    lk_client_close(f->other_client);
}

/* ---- the steps -------------------------------------------------------------------------------------------- */

struct step {
    const char *name;
    unsigned before, after; /* holds */
    lk_status (*run)(lk_lock *lock, struct lk_error *err);
};

static lk_status take(lk_lock *lock, struct lk_error *err)
{
    return lk_lock_acquire(lock, &(struct lk_lock_options){.lease_ms = LEASE_MS}, err);
}

static lk_status give_back(lk_lock *lock, struct lk_error *err)
{
    return lk_lock_release(lock, err);
}

static const struct step steps[] = {
    {"the first acquire", 0, 1, take},     {"the second acquire", 1, 2, take},
    {"the third acquire", 2, 3, take},     {"the inner release", 2, 1, give_back},
    {"the last release", 1, 0, give_back},
};

enum { STEPS = sizeof steps / sizeof steps[0] };

/* How many holds the server counts for us; -1: something else is there. */
static long long counted(struct fixture *f)
{
    const char *text = LKS_TEXT(server, "HGET", f->key, lk_lock_token(f->lock));

    if (strcmp(text, "(nil)") != 0) return strtoll(text, NULL, 10);
    return LKS_INTEGER(server, "EXISTS", f->key) == 0 ? 0 : -1;
}

/* Whether a step may end so with this fault; *out_holds: how many there are then. */
static bool is_right(const struct step *step, enum lks_fault_kind kind, lk_status status,
                     unsigned *out_holds)
{
    static const lk_status answers[] = {LK_UNREACHABLE, LK_SERVER, LK_UNKNOWN, LK_UNKNOWN};
    bool is_inner = step->run == give_back && step->after > 0;

    *out_holds = step->after;
    if (status == LK_OK) return kind != LKS_ERROR_ANSWER;
    if (is_inner) return kind == LKS_ERROR_ANSWER && status == LK_SERVER;
    if (step->run == take) *out_holds = step->before;
    return status == answers[kind];
}

static void others_get_it(struct fixture *f)
{
    struct lk_error err = {0};
    struct lk_lock_options options = {.wait_ms = LEASE_MS / 2};

    if (lk_lock_acquire(f->other, &options, &err) != LK_OK) fail_msg("%s", err.text);
    assert_int_equal(lk_lock_release(f->other, NULL), LK_OK);
}

static struct {
    int all, late;
} undone;

/* A first hold whose answer was lost is given back at once; if the machine is too busy for that, by
   its lease. */
static void await_undo(struct fixture *f)
{
    undone.all++;
    undone.late += counted(f) != 0;
    LKS_EVENTUALLY(counted(f) == 0, LEASE_MS + 1000);
}

/* Once, with the n-th call faulty; false when there was no n-th call. */
static bool try_with_fault(struct fixture *f, const struct step *step, enum lks_fault_kind kind,
                           int n, bool for_good)
{
    struct lk_error err = {0};
    unsigned holds = 0;

    for (unsigned i = 0; i < step->before; i++)
        assert_int_equal(take(f->lock, NULL), LK_OK);
    (for_good ? lks_fault_arm_for_good : lks_fault_arm)(kind, n);
    lk_status status = step->run(f->lock, &err);
    bool is_hit = lks_fault_disarm();

    if (!is_hit) kind = LKS_REFUSED;
    if (!is_right(step, kind, status, &holds) || (!is_hit && status != LK_OK) ||
        err.code != status) {
        fail_msg("%s, call %d %s: %s (\"%s\")", step->name, n, lks_fault_name(kind),
                 lk_status_name(status), err.text);
    }
    assert_int_equal(lk_lock_hold_count(f->lock), holds);
    if (status == LK_UNKNOWN && step->before == 0) await_undo(f);
    /* An error keeps the last release or an inner one from being counted: the next step mends it. */
    if (!for_good && kind != LKS_ERROR_ANSWER && !(status == LK_UNREACHABLE && holds == 0))
        assert_int_equal(counted(f), holds);
    for (unsigned left = holds; left > 0; left--) {
        assert_true(counted(f) >= left);
        assert_int_equal(lk_lock_release(f->lock, NULL), LK_OK);
        assert_int_equal(counted(f), left - 1);
    }
    assert_int_equal(lk_lock_release(f->lock, NULL), LK_OK); /* if the last one was not confirmed */
    assert_int_equal(counted(f), 0);
    others_get_it(f);
    return is_hit;
}

TEST(every_step_survives_a_fault_at_every_call, struct fixture *f)
{
    for (size_t i = 0; i < (size_t)MAKERS * STEPS; i++) {
        make_locks(f, makers[i / STEPS]);
        for (int kind = 0; kind < LKS_FAULT_KINDS; kind++) {
            int n = 1;

            while (n < CALLS_MAX &&
                   try_with_fault(f, &steps[i % STEPS], (enum lks_fault_kind)kind, n, false))
                n++;
            assert_in_range(n, 2, CALLS_MAX - 1); /* at least one fault, and an end */
        }
        free_locks(f);
    }
    assert_true(undone.late <= undone.all / 2);
}

/* The undo after it, or the second time it is asked, is refused too. */
TEST(a_lost_reply_and_then_no_server_is_no_more_than_unknown, struct fixture *f)
{
    make_locks(f, lk_reentrant_new);
    for (size_t i = 1; i < STEPS; i++)
        assert_true(try_with_fault(f, &steps[i], LKS_REPLY_LOST, 1, true));
}

/* 31: the first acquire whose undo is lost as well stays until its lease ends, and no longer. */
TEST(an_acquire_without_answer_ends_with_its_lease_at_the_latest, struct fixture *f)
{
    struct lk_lock_options options = {.lease_ms = 300, .is_renewed = true};

    make_locks(f, lk_reentrant_new);
    lks_fault_arm_for_good(LKS_REPLY_LOST, 1);
    assert_int_equal(lk_lock_acquire(f->lock, &options, NULL), LK_UNKNOWN);
    assert_true(lks_fault_disarm());
    assert_false(lk_held(f->lock));
    assert_int_equal(counted(f), 1);
    assert_int_equal(take(f->lock, NULL),
                     LK_BUSY); /* a new owner: it does not enter the old hold */
    double begin = lks_now_ms();
    LKS_EVENTUALLY(take(f->other, NULL) == LK_OK, 2000);

    assert_true(lks_now_ms() - begin < 300 + 200);
    assert_int_equal(lk_lock_release(f->other, NULL), LK_OK);
}

/* 32 */
TEST(a_release_without_answer_is_done_once_and_told_once, struct fixture *f)
{
    make_locks(f, lk_reentrant_new);
    for (int i = 0; i < 2; i++) { /* nobody there, and somebody else */
        struct lks_monitor *monitor = lks_monitor_open(server);

        assert_int_equal(take(f->lock, NULL), LK_OK);
        lks_fault_arm(LKS_REPLY_LOST, 1);
        assert_int_equal(lk_lock_release(f->lock, NULL), LK_UNKNOWN);
        assert_true(lks_fault_disarm());
        assert_false(lk_held(f->lock));
        assert_int_equal(counted(f), 0);
        if (i == 1) assert_int_equal(take(f->other, NULL), LK_OK);
        assert_int_equal(lk_lock_release(f->lock, NULL), LK_OK);
        assert_int_equal(lks_count(lks_monitor_text(monitor, server), "\"PUBLISH\""), 1);
        assert_int_equal(LKS_INTEGER(server, "EXISTS", f->key), i);
        lks_monitor_close(monitor);
    }
    assert_true(lk_held(f->other));
    assert_int_equal(lk_lock_release(f->other, NULL), LK_OK);
}
