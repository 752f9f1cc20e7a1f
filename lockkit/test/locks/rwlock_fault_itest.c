/*
 * The n-th fault loop for the read/write lock: every step of either side, with its n-th call to
 * Redis refused, answered by an error, or done with the reply lost, until it runs untouched. Each
 * time the status is right, what the handles believe is what the server has, and nothing is left
 * in the end. Numbers in brackets are cases of the Redisson checklist.
 * link: -Wl,--wrap=lki_redis_exchange -Wl,--wrap=lki_redis_send -Wl,--wrap=lki_redis_receive
 */
#include <stdatomic.h>

#include "test/support/lk_fault.h"
#include "test/support/lk_rw.h"

enum { LEASE_MS = 400, LONG_MS = 30000, CALLS_MAX = 12, SOON_MS = 2500 };

LKS_SERVER(lks_server_start(NULL));

static const char peer[] = "8743c9c0-0795-4907-87fd-6c719a6b4586:57";

static int set_up(void **state)
{
    *state = lkr_pair_new(server);
    return 0;
}

static int tear_down(void **state)
{
    (void)lks_fault_disarm();
    lkr_pair_free(*state);
    return 0;
}

/* ---- the operations -------------------------------------------------------------------------- */

static void hold_read(const struct lkr_pair *p)
{
    assert_int_equal(lkr_take(p->read, LONG_MS), LK_OK);
}

static void hold_read_twice(const struct lkr_pair *p)
{
    hold_read(p);
    hold_read(p);
}

static void hold_write(const struct lkr_pair *p)
{
    assert_int_equal(lkr_take(p->write, LONG_MS), LK_OK);
}

static void hold_write_twice(const struct lkr_pair *p)
{
    hold_write(p);
    hold_write(p);
}

static void hold_both(const struct lkr_pair *p)
{
    hold_write(p);
    hold_read(p);
}

static void let_a_peer_write(const struct lkr_pair *p)
{
    assert_int_equal(lkr_peer_write(server, p->key, peer, "30"), LKR_HELD);
}

static void let_a_peer_read(const struct lkr_pair *p)
{
    assert_int_equal(lkr_peer_read(server, p->key, peer, "30"), LKR_HELD);
}

static lk_status acquire(lk_lock *lock, struct lk_error *err)
{
    return lk_lock_acquire(lock, &(struct lk_lock_options){.lease_ms = LONG_MS}, err);
}

static lk_status acquire_waiting(lk_lock *lock, struct lk_error *err)
{
    return lk_lock_acquire(lock, &(struct lk_lock_options){.wait_ms = 5000, .lease_ms = LONG_MS},
                           err);
}

static lk_status renew(lk_lock *lock, struct lk_error *err)
{
    return lk_lock_renew(lock, LONG_MS, err);
}

/* What comes before the fault, and what is done with one side. */
static const struct operation {
    const char *name;
    void (*prepare)(const struct lkr_pair *p);
    lk_status (*run)(lk_lock *lock, struct lk_error *err);
    bool is_write;
} operations[] = {
    {"read", NULL, acquire, false},
    {"write", NULL, acquire, true},
    {"read, waiting", let_a_peer_write, acquire_waiting, false},
    {"write, waiting", let_a_peer_read, acquire_waiting, true},
    {"read beside write", hold_write, acquire, false},
    {"read again", hold_read, acquire, false},
    {"write again", hold_write, acquire, true},
    {"read release", hold_read, lk_lock_release, false},
    {"write release", hold_write, lk_lock_release, true},
    {"inner read release", hold_read_twice, lk_lock_release, false},
    {"inner write release", hold_write_twice, lk_lock_release, true},
    {"read release beside write", hold_both, lk_lock_release, false},
    {"write release beside read", hold_both, lk_lock_release, true},
    {"read renewal", hold_read, renew, false},
    {"write renewal", hold_write, renew, true},
};

/* ---- the loop -------------------------------------------------------------------------------- */

static bool is_right(enum lks_fault_kind kind, lk_status status)
{
    static const lk_status answers[LKS_FAULT_KINDS] = {LK_UNREACHABLE, LK_SERVER, LK_UNKNOWN,
                                                       LK_UNKNOWN};

    return status == LK_OK || status == answers[kind];
}

/* What a side believes to hold, the server has. */
static void belief_is_true(const struct lkr_pair *p, lk_lock *side)
{
    int64_t remaining_ms = lk_lock_remaining_ms(side);

    if (remaining_ms == 0) return;
    assert_string_not_equal(lkr_field(server, p->key, lk_lock_token(side)), "(nil)");
    assert_true(LKS_INTEGER(server, "PTTL", p->key) >= remaining_ms);
    if (side == p->write) return;
    assert_true(lkr_hold_ms(server, p->key, lk_lock_token(side), 1) >= remaining_ms);
}

static void give_back(lk_lock *side)
{
    for (int i = 0; i < 6 && (lk_lock_release(side, NULL) != LK_OK || lk_held(side)); i++) {}
    assert_false(lk_held(side));
}

/* Once, with the n-th call faulty; false when there was no n-th call. */
static bool try_with_fault(const struct lkr_pair *p, const struct operation *operation,
                           enum lks_fault_kind kind, int n)
{
    lk_lock *side = operation->is_write ? p->write : p->read;
    struct lk_error err = {0};
    char count[16];

    if (operation->prepare) operation->prepare(p);
    LKS_DO(server, "SCRIPT", "FLUSH"); /* so that it takes a call more */
    lks_fault_arm(kind, n);
    lk_status status = operation->run(side, &err);
    bool is_hit = lks_fault_disarm();

    if (!(is_hit ? is_right(kind, status) : status == LK_OK) || err.code != status) {
        fail_msg("%s, call %d %s: %s (\"%s\")", operation->name, n, lks_fault_name(kind),
                 lk_status_name(status), err.text);
    }
    (void)snprintf(count, sizeof count, "%u", lk_lock_hold_count(side));
    if (status == LK_OK && lk_held(side)) {
        assert_string_equal(lkr_field(server, p->key, lk_lock_token(side)), count);
    }
    belief_is_true(p, p->read);
    belief_is_true(p, p->write);
    give_back(p->write);
    give_back(p->read);
    LKS_EVENTUALLY(lkr_keys(server, p->key) == 0,
                   200); /* the peer's are short; none waits for LONG_MS */
    assert_int_equal(lkr_take(p->other_write, LONG_MS), LK_OK);
    assert_int_equal(lk_lock_release(p->other_write, NULL), LK_OK);
    return is_hit;
}

TEST(every_step_survives_a_fault_at_every_call)
{
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        for (int kind = 0; kind < LKS_FAULT_KINDS; kind++) {
            int n = 1;

            while (n < CALLS_MAX &&
                   try_with_fault(*state, &operations[i], (enum lks_fault_kind)kind, n))
                n++;
            assert_in_range(n, 3, CALLS_MAX - 1); /* by digest, by text, and an end */
        }
    }
}

/* ---- what a fault leaves open ---------------------------------------------------------------- */

/* [41] The read hold is released here, but not there. */
TEST(a_writer_is_told_of_an_own_read_that_the_server_still_has, struct lkr_pair *p)
{
    struct lk_error err = {0};

    hold_read(p);
    lks_fault_arm(LKS_REFUSED, 1);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_UNREACHABLE);
    assert_true(lks_fault_disarm());
    assert_false(lk_held(p->read));
    double begin = lks_now_ms();
    assert_int_equal(acquire_waiting(p->write, &err), LK_DEADLOCK);
    assert_true(lks_now_ms() - begin < SOON_MS);
    assert_non_null(strstr(err.text, p->key));

    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
    assert_int_equal(acquire(p->write, NULL), LK_OK);
    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
}

/* A read beside a held write is of the same owner as the one before, which may be there still. */
TEST(a_read_may_follow_one_whose_release_failed, struct lkr_pair *p)
{
    hold_both(p);
    lks_fault_arm(LKS_REFUSED, 1);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_UNREACHABLE);
    assert_true(lks_fault_disarm());
    hold_read(p);
    assert_string_equal(lkr_field(server, p->key, lk_lock_token(p->read)), "1");
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);

    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
    assert_int_equal(lkr_keys(server, p->key), 0);
}

TEST(a_late_release_of_one_read_does_not_touch_the_next, struct lkr_pair *p)
{
    hold_both(p);
    lks_fault_arm(LKS_LATE, 1);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_UNKNOWN);
    assert_true(lks_fault_disarm());
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
    hold_read(p);
    lks_fault_deliver(p->clients[1]);

    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
    assert_int_equal(lkr_take(p->other_write, LONG_MS), LK_BUSY);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
}

TEST(a_late_acquire_of_one_read_does_not_touch_the_next, struct lkr_pair *p)
{
    hold_write(p);
    lks_fault_arm(LKS_LATE, 1);
    assert_int_equal(lkr_take(p->read, LEASE_MS), LK_UNKNOWN);
    assert_true(lks_fault_disarm());
    hold_read(p);
    lks_fault_deliver(p->clients[1]);

    assert_in_range(lkr_hold_ms(server, p->key, lk_lock_token(p->read), 1), LONG_MS - 1000,
                    LONG_MS);
    assert_int_equal(lk_lock_release(p->read, NULL), LK_OK);
    assert_int_equal(lk_lock_release(p->write, NULL), LK_OK);
    assert_int_equal(lkr_keys(server, p->key), 0);
}

TEST(a_repeated_release_wakes_once, struct lkr_pair *p)
{
    struct lks_monitor *monitor = lks_monitor_open(server);
    lk_lock *const sides[] = {p->read, p->write};

    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(acquire(sides[i], NULL), LK_OK);
        lks_fault_arm(LKS_REPLY_LOST, 1);
        assert_int_equal(lk_lock_release(sides[i], NULL), LK_UNKNOWN);
        assert_true(lks_fault_disarm());
        assert_int_equal(lk_lock_release(sides[i], NULL), LK_OK);
        assert_int_equal(lkr_messages(monitor, server, p->key, i == 0 ? "0" : "1"), 1);
    }
    lks_monitor_close(monitor);
}

static void hold_over_a_failed_renewal(const struct lkr_pair *p, lk_lock *side,
                                       enum lks_fault_kind kind)
{
    atomic_int losses = 0;
    struct lk_lock_options options = {.lease_ms = LEASE_MS,
                                      .is_renewed = true,
                                      .on_lost = lks_count_loss,
                                      .on_lost_arg = &losses};

    lks_fault_arm_renewal(kind, 1);
    assert_int_equal(lk_lock_acquire(side, &options, NULL), LK_OK);
    LKS_EVENTUALLY(lks_fault_renewal_is_over(), SOON_MS);
    double hit_at_ms = lks_now_ms();
    while (lks_now_ms() - hit_at_ms < LEASE_MS + 50) {
        assert_true(lk_held(side));
        assert_in_range(LKS_INTEGER(server, "PTTL", p->key), 1, LEASE_MS);
        lks_nap(5);
    }
    assert_int_equal(lk_lock_release(side, NULL), LK_OK);
    assert_int_equal(atomic_load(&losses), 0);
}

TEST(a_renewal_that_fails_once_is_made_up_for, struct lkr_pair *p)
{
    for (int kind = 0; kind < LKS_FAULT_KINDS; kind++) {
        hold_over_a_failed_renewal(p, p->read, (enum lks_fault_kind)kind);
        hold_over_a_failed_renewal(p, p->write, (enum lks_fault_kind)kind);
    }
}

FIXTURE(set_up, tear_down);
