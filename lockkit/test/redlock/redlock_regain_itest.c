/*
 * A redlock whose servers come back empty: what it outlives, and what it tells.
 */
#include <stdatomic.h>

#include "test/support/lk_redlock.h"

enum { LEASE_MS = 1500, PERIOD_MS = LEASE_MS / 3, LONG_MS = 60000, SOON_MS = 5000 };

struct fixture {
    struct lkr_clients clients;
    lk_lock *mine, *other;
    const char *key;
    atomic_int losses;
};

SET_UP(struct fixture, f)
{
    f->key = lkr_key("regain");
    lkr_open(&f->clients, (struct lk_client_options){.backoff_ms = 20});
    f->mine = lkr_lock(&f->clients, f->key, NULL);
    f->other = lkr_lock(&f->clients, f->key, NULL);
}

TEAR_DOWN(struct fixture, f)
{
    (void)lk_lock_release(f->mine, NULL);
    lk_lock_free(f->mine);
    lk_lock_free(f->other);
    lkr_close(&f->clients);
    assert_int_equal(lkr_heal_servers(NULL), 0);
}

/* A server that has just come back may not have been asked. */
static bool is_held_by_all(struct fixture *f, const struct lk_lock_options *options)
{
    assert_int_equal(lk_lock_acquire(f->mine, options, NULL), LK_OK);
    for (double until = lks_now_ms() + 100; lks_now_ms() < until; lks_nap(1))
        if (lkr_count(f->key) == LKR_NODES) return true;
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
    return false;
}

static void hold(struct fixture *f, int64_t lease_ms, bool is_renewed)
{
    struct lk_lock_options options = {.wait_ms = SOON_MS,
                                      .lease_ms = lease_ms,
                                      .is_renewed = is_renewed,
                                      .on_lost = lks_count_loss,
                                      .on_lost_arg = &f->losses};

    LKS_EVENTUALLY(is_held_by_all(f, &options), SOON_MS);
    LKS_EVENTUALLY(lkr_counting(f->mine) == LKR_NODES, SOON_MS);
}

/* Nobody gets in for so long. */
static void keep_out(struct fixture *f, int64_t ms)
{
    for (double until = lks_now_ms() + (double)ms; lks_now_ms() < until; lks_nap(5)) {
        assert_int_not_equal(lkr_acquire(f->other, 0, LONG_MS, NULL), LK_OK);
        assert_true(lk_held(f->mine));
    }
}

static void restart(size_t node)
{
    lks_server_kill(lkr_nodes[node]);
    lks_server_restart(lkr_nodes[node]);
}

TEST(it_outlives_that_all_are_restarted_empty_one_after_the_other, struct fixture *f)
{
    hold(f, LEASE_MS, true);
    for (size_t i = 0; i < LKR_NODES; i++) {
        restart(i);
        keep_out(f, PERIOD_MS);
    }
    lkr_await_count(f->key, LKR_NODES);
    keep_out(f, LEASE_MS);

    assert_int_equal(atomic_load(&f->losses), 0);
    assert_int_equal(lkr_counting(f->mine), LKR_NODES);
    assert_int_equal(lk_lock_renew(f->mine, 0, NULL), LK_OK);
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
    lkr_await_count(f->key, 0);
}

/* With a lease that shows who has found it out: the servers. */
static void lose_three_at_once(struct fixture *f, bool is_renewed)
{
    hold(f, LONG_MS, is_renewed);
    lks_nap(300); /* each is looked after by then */
    for (size_t i = 0; i < LKR_QUORUM; i++)
        lks_server_kill(lkr_nodes[i]);
    for (size_t i = 0; i < LKR_QUORUM; i++)
        lks_server_restart(lkr_nodes[i]);
    double begin = lks_now_ms();
    LKS_EVENTUALLY(atomic_load(&f->losses) == 1, SOON_MS);

    print_message("# told after %.0f ms\n", lks_now_ms() - begin);
    assert_false(lk_held(f->mine));
    lks_nap(300);
    assert_int_equal(lkr_count(f->key), LKR_NODES - LKR_QUORUM); /* none is asked for anew */
    assert_int_equal(lk_lock_release(f->mine, NULL), LK_NOT_OWNER);
    lkr_await_count(f->key, 0);
}

TEST(three_of_five_at_once_are_told_as_a_loss, struct fixture *f)
{
    lose_three_at_once(f, true);
}

TEST(so_they_are_without_renewal, struct fixture *f)
{
    lose_three_at_once(f, false);
}

TEST(what_is_somebody_elses_by_then_is_left_to_him, struct fixture *f)
{
    hold(f, LEASE_MS, true);
    LKS_DO(lkr_nodes[4], "SET", f->key, "somebody"); /* as after a restart, but sure to be first */
    keep_out(f, 2L * LEASE_MS);
    assert_string_equal(LKS_TEXT(lkr_nodes[4], "GET", f->key), "somebody");
    assert_int_equal(lkr_counting(f->mine), LKR_NODES - 1);
    LKS_DO(lkr_nodes[4], "DEL", f->key);
    LKS_EVENTUALLY(lkr_counting(f->mine) == LKR_NODES, SOON_MS);

    assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
    lkr_await_count(f->key, 0);
}

/* Released at any moment of that, it leaves nothing for its lease to end. */
TEST(a_vote_that_is_being_had_anew_is_given_back, struct fixture *f)
{
    for (int i = 0; i < 20; i++) {
        hold(f, LONG_MS, true);
        restart(4);
        lks_nap(10L * i);
        assert_int_equal(lk_lock_release(f->mine, NULL), LK_OK);
        lkr_await_count(f->key, 0);
        lks_nap(20);
        assert_int_equal(lkr_count(f->key), 0);
    }
}

GROUP(lkr_start_servers, lkr_stop_servers);
