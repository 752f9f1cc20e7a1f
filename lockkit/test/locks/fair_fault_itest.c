/*
 * The n-th fault loop of the fair lock: every operation, with its n-th call to Redis refused,
 * answered by an error, or done with the reply lost. Nobody stays behind in the queue, and somebody
 * else gets the lock in the end.
 * link: -Wl,--wrap=lki_redis_exchange -Wl,--wrap=lki_redis_send -Wl,--wrap=lki_redis_receive
 */
#include "test/support/lk_fair.h"
#include "test/support/lk_fault.h"

enum { LEASE_MS = 400, CALLS_MAX = 12 };

static const enum lks_fault_kind kinds[] = {LKS_REFUSED, LKS_ERROR_ANSWER, LKS_REPLY_LOST};

LKS_SERVER(lks_server_start(NULL));

/* ---- the operations -------------------------------------------------------------------------- */

struct fixture {
    lk_client *client, *other_client;
    lk_lock *lock, *other;
    struct lkf_keys keys;
};

static const struct lk_client_options quick = {.backoff_ms = 5, .poll_ms = 50, .command_ms = 200};
/* Of the other one, whom no fault meets: not even a busy machine's. */
static const struct lk_client_options patient = {
    .backoff_ms = 5, .poll_ms = 50, .command_ms = 5000};
static const struct lkf_foreign holder = {.owner = "f:1", .lease_ms = 30};

static void nothing(struct fixture *f)
{
    (void)f;
}

static void let_another_hold_it(struct fixture *f)
{
    assert_int_equal(lkf_foreign_try(&f->keys, &holder), LKF_TAKEN);
}

static void let_others_hold_and_wait(struct fixture *f)
{
    let_another_hold_it(f);
    lkf_add_dead(&f->keys, "f:2", 50);
}

static void hold(struct fixture *f)
{
    assert_int_equal(
        lk_lock_acquire(f->lock, &(struct lk_lock_options){.lease_ms = LEASE_MS}, NULL), LK_OK);
}

static void hold_twice(struct fixture *f)
{
    hold(f);
    hold(f);
}

static void hold_and_forget_scripts(struct fixture *f)
{
    hold(f);
    LKS_DO(server, "SCRIPT", "FLUSH");
}

static lk_status acquire_for(struct fixture *f, int64_t wait_ms, struct lk_error *err)
{
    struct lk_lock_options options = {.lease_ms = LEASE_MS, .wait_ms = wait_ms};

    return lk_lock_acquire(f->lock, &options, err);
}

static lk_status try_once(struct fixture *f, struct lk_error *err)
{
    return acquire_for(f, 0, err);
}

static lk_status wait_long(struct fixture *f, struct lk_error *err)
{
    return acquire_for(f, 5000, err);
}

static lk_status wait_in_vain(struct fixture *f, struct lk_error *err)
{
    return acquire_for(f, 15, err);
}

static lk_status release(struct fixture *f, struct lk_error *err)
{
    return lk_lock_release(f->lock, err);
}

static lk_status renew(struct fixture *f, struct lk_error *err)
{
    return lk_lock_renew(f->lock, LEASE_MS, err);
}

static lk_status force(struct fixture *f, struct lk_error *err)
{
    return lk_lock_force_release(f->lock, err);
}

static const struct operation {
    const char *name;
    void (*prepare)(struct fixture *f);
    lk_status (*run)(struct fixture *f, struct lk_error *err);
} operations[] = {
    {"try", nothing, try_once},
    {"acquire", nothing, wait_long},
    {"wait", let_another_hold_it, wait_long},
    {"wait in a queue", let_others_hold_and_wait, wait_long},
    {"wait in vain", let_others_hold_and_wait, wait_in_vain},
    {"acquire again", hold, try_once},
    {"release one of two", hold_twice, release},
    {"release", hold, release},
    {"release, scripts forgotten", hold_and_forget_scripts, release},
    {"renew", hold, renew},
    {"break", let_another_hold_it, force},
};

enum { OPERATIONS = sizeof operations / sizeof operations[0] };

/* ---- the loop -------------------------------------------------------------------------------- */

SET_UP(struct fixture, f)
{
    lkf_keys_init(&f->keys, server, "fault");
    f->other_client = lks_client_with(server, patient);
    f->other = lkf_lock(f->other_client, &f->keys, 0);
}

TEAR_DOWN(struct fixture, f)
{
    (void)lks_fault_disarm();
    lk_lock_free(f->other);
    lk_client_close(f->other_client);
}

static bool is_right(enum lks_fault_kind kind, lk_status status)
{
    switch (status) {
    case LK_OK:   /* the fault hit what was not needed, or was asked again */
    case LK_BUSY: /* in vain */
        return true;
    case LK_UNREACHABLE:
        return kind != LKS_ERROR_ANSWER;
    case LK_UNKNOWN:
        return kind == LKS_REPLY_LOST || kind == LKS_LATE;
    case LK_SERVER:
        return kind == LKS_ERROR_ANSWER;
    case LK_NOT_OWNER:
    case LK_LOST:
    case LK_DEADLOCK:
    case LK_UNSYNCED:
    case LK_CANCELLED:
    case LK_INVALID:
    case LK_NO_MEMORY:
    case LK_STATUS_COUNT:
        break;
    }
    return false;
}

static void release_all(struct fixture *f)
{
    while (lk_lock_hold_count(f->lock) > 0)
        (void)lk_lock_release(f->lock, NULL);
    lk_status status = lk_lock_release(f->lock, NULL); /* one without an answer is repeated */
    if (status != LK_OK && status != LK_NOT_OWNER) fail_msg("release: %s", lk_status_name(status));
}

/* One run with one fault; false when the operation makes fewer calls than that. */
static bool run_once(struct fixture *f, const struct operation *operation, enum lks_fault_kind kind,
                     int n, bool goes_on)
{
    struct lk_error err = {0};

    f->client = lks_client_with(server, quick); /* a new one: it has no scripts yet */
    f->lock = lkf_lock(f->client, &f->keys, 100);
    operation->prepare(f);
    (goes_on ? lks_fault_arm_for_good : lks_fault_arm)(kind, n);
    lk_status status = operation->run(f, &err);
    bool is_hit = lks_fault_disarm();
    const char *token = lk_lock_token(f->lock);
    bool is_queued = token[0] && strstr(lkf_queue(&f->keys), token);

    release_all(f);
    if (kind == LKS_LATE && is_hit) lks_fault_deliver(f->other_client);
    lk_status other = lk_lock_acquire(f->other, &(struct lk_lock_options){.wait_ms = 5000}, NULL);
    if (!is_right(kind, status) || (is_queued && !goes_on) || other != LK_OK) {
        fail_msg("%s, call %d %s: %s (%s), %s; then %s", operation->name, n, lks_fault_name(kind),
                 lk_status_name(status), err.text, is_queued ? "left behind" : "gone",
                 lk_status_name(other));
    }
    assert_int_equal(lk_lock_release(f->other, NULL), LK_OK);
    assert_true(lkf_is_gone(&f->keys));
    lk_lock_free(f->lock);
    lk_client_close(f->client);
    return is_hit;
}

TEST(no_fault_leaves_anybody_behind)
{
    for (size_t i = 0; i < OPERATIONS; i++) {
        for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
            int n = 1;

            while (run_once(*state, &operations[i], kinds[kind], n, false))
                assert_true(++n < CALLS_MAX);
            assert_true(n > 1); /* it makes at least one call */
        }
    }
}

/* What cannot be sent, or arrives when it was given up, is left to time: the others wait for it,
   but not for ever. */
TEST(what_cannot_be_undone_is_left_to_time)
{
    for (size_t i = 0; i < OPERATIONS; i++) {
        for (int n = 1; n < 4; n++) {
            (void)run_once(*state, &operations[i], LKS_REPLY_LOST, n, true);
            (void)run_once(*state, &operations[i], LKS_LATE, n, false);
        }
    }
}
