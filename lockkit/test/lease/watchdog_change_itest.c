/*
 * The watchdog when other servers take over, real ones that a made-up topology hands out: what they
 * do not know is lost at once, and what they know goes on.
 * link: -Wl,--wrap=lki_topology_node -Wl,--wrap=lki_topology_primary -Wl,--wrap=lki_topology_at
 * link: -Wl,--wrap=lki_topology_moved -Wl,--wrap=lki_topology_refresh_soon -Wl,--wrap=lki_topology_epoch
 * link: -Wl,--wrap=lki_topology_is_cluster
 * link: -Wl,--wrap=lki_node_unref -Wl,--wrap=lki_redis_send
 */
#include <poll.h>

#include "base/slot.h"
#include "test/support/lk_kinds.h"
#include "test/support/lk_watch.h"

enum { KINDS = LKS_KINDS + 3 };

/* ---- other servers take over --------------------------------------------------------------------------- */

/* A lock of each kind at the first server; the second half of them all again, and not renewed. */
static void take_all_kinds(struct lks_watch *f)
{
    lk_permits *permits = lk_permits_new(f->clients[0], "permits", NULL);

    assert_int_equal(lk_permits_set(permits, 2, NULL), LK_OK);
    lk_permits_free(permits);
    for (size_t i = 0; i < 2 * (size_t)KINDS; i++) {
        const char *key = lks_watch_key(f, 0);
        size_t kind = i % KINDS;
        lk_lock *lock = NULL;

        if (kind < LKS_KINDS) {
            lock = lks_lock_of_kind(kind, f->clients[0], key);
        } else if (kind == LKS_KINDS) {
            lock = lk_permit_lock_new(f->clients[0], "permits", NULL);
        } else {
            lk_rwlock *rw = lk_rwlock_new(f->clients[0], key, NULL);

            f->rws[f->rw_count++] = rw;
            lock = kind == LKS_KINDS + 1 ? lk_rwlock_read(rw) : lk_rwlock_write(rw);
        }
        assert_non_null(lock);
        assert_true(lk_lock_lost_fd(lock) >=
                    0); /* before: held, it is its client's watchdog that tells */
        lks_watch_add(f, lks_watch_take(f, lock, 30000), i < KINDS);
    }
}

TEST(an_empty_server_that_takes_over_loses_all_at_once, struct lks_watch *f)
{
    lks_watch_start(f, false);
    take_all_kinds(f);
    assert_true(lks_watch_are_held(f->locks, f->count));
    lks_fleet_fail_over(0, 1);
    lki_watchdog_recheck(f->watchdog);
    LKS_EVENTUALLY(atomic_load(&f->losses) == 2 * KINDS, 8000); /* no renewal is due before 10 s */

    assert_int_equal(atomic_load(&f->lost), 2 * KINDS);
    for (size_t i = 0; i < f->count; i++) {
        struct pollfd poll_fd = {.fd = lk_lock_lost_fd(f->locks[i]), .events = POLLIN};

        assert_false(lk_held(f->locks[i]));
        assert_int_equal(poll(&poll_fd, 1, 0), 1);
    }
    assert_int_equal(LKS_INTEGER(lks_watch_servers[1], "DBSIZE"), 0); /* nothing was made again */
}

/* When they end, by the server's clock in ms. */
static void read_ends(struct lks_watch *f, long long *out)
{
    static const char score[] =
        "return tonumber(redis.call('ZSCORE', KEYS[1], (string.gsub(ARGV[1], "
        "'%x%x', function(h) return string.char(tonumber(h, 16)) end))))";
    static const char end[] = "local now = redis.call('TIME') return now[1] * 1000 + now[2] / 1000 "
                              "+ redis.call('PTTL', KEYS[1])";

    for (size_t i = 0; i < f->count; i++) {
        const lk_lock *lock = f->locks[i];

        out[i] = i % KINDS == LKS_KINDS
                     ? LKS_INTEGER(lks_watch_servers[0], "EVAL", score, "1", lock->renew_key,
                                   lk_lock_token(lock))
                     : LKS_INTEGER(lks_watch_servers[0], "EVAL", end, "1", lock->key);
    }
}

/* The checks go out with the renewals. */
static void look_again(struct lks_watch *f)
{
    int before = atomic_load(&f->renewals);

    lki_watchdog_recheck(f->watchdog);
    LKS_EVENTUALLY(atomic_load(&f->renewals) >= before + KINDS, 5000);
}

TEST(a_server_that_knows_them_keeps_all_and_only_renewals_prolong, struct lks_watch *f)
{
    enum { NAP_MS = 50 };
    long long before[2 * KINDS] = {0};
    long long after[2 * KINDS] = {0};

    lks_watch_start(f, false);
    take_all_kinds(f);
    look_again(f);
    read_ends(f, before);
    lks_nap(NAP_MS);
    look_again(f); /* the same server is as good as one that has all */
    look_again(
        f); /* some of those may have been the first looks at holds: they are over by now... */
    look_again(f); /* ...and so are the checks that went out after them */
    read_ends(f, after);

    assert_int_equal(atomic_load(&f->losses), 0);
    assert_true(lks_watch_are_held(f->locks, f->count));
    for (size_t i = 0; i < f->count; i++)
        assert_int_equal(after[i] - before[i] > NAP_MS / 2, i < KINDS);
}

TEST(a_check_without_answer_is_repeated, struct lks_watch *f)
{
    static const char loading[] = "LOADING Redis is loading the dataset in memory";

    lks_watch_start(f, false);
    (void)lks_watch_mutex(f, 0, 30000, false);
    lks_fleet_lie(1, loading, 1, 1000); /* first: who sees the change may ask at once */
    lks_fleet_fail_over(0, 1);
    lki_watchdog_recheck(f->watchdog);
    LKS_EVENTUALLY(lks_fleet_lies_left() <= 998, 5000);
    assert_int_equal(atomic_load(&f->losses), 0);
    lks_fleet_lie(1, loading, 1, 0);
    LKS_EVENTUALLY(atomic_load(&f->losses) == 1, 5000);
}

/* Of the first server, which stands from now on: it is waited for there, for longer than for anything
   else here. */
static lk_lock *let_a_renewal_hang(struct lks_watch *f)
{
    f->command_ms = 30000;
    lks_watch_start(f, false);
    lk_lock *lock = lks_watch_mutex(f, 0, 60000, true);
    lki_watchdog_recheck(f->watchdog);
    LKS_EVENTUALLY(atomic_load(&f->renewals) >= 1, 5000);
    lks_server_pause(lks_watch_servers[0]);
    int sent = lks_fleet_sent(0);
    lki_watchdog_recheck(f->watchdog);
    LKS_EVENTUALLY(lks_fleet_sent(0) > sent, 5000);
    return lock;
}

TEST(a_server_that_left_is_let_go_while_it_hangs, struct lks_watch *f)
{
    lk_lock *lock = let_a_renewal_hang(f);
    int before = atomic_load(&f->renewals);

    LKS_DO(lks_watch_servers[1], "SET", lock->key, lock->token, "PX",
           "60000"); /* a replica had it */
    lks_fleet_fail_over(0, 1);
    lki_watchdog_recheck(f->watchdog);
    LKS_EVENTUALLY(atomic_load(&f->renewals) > before && lks_fleet_references(0) == 0, 10000);

    assert_true(lk_held(lock));
}

TEST(only_slots_that_moved_are_asked_for, struct lks_watch *f)
{
    lks_watch_start(f, true);
    lk_lock *moved = lks_watch_take(f, lks_mutex(f->clients[0], lks_watch_key(f, 0)), 30000);
    lk_lock *other = lks_watch_take(f, lks_mutex(f->clients[0], lks_watch_key(f, 0)), 30000);
    lks_watch_add(f, moved, true);
    lks_watch_add(f, other, true);
    lki_watchdog_recheck(f->watchdog); /* neither was asked for yet: both are now */
    LKS_EVENTUALLY(atomic_load(&f->renewals) == 2, 5000);
    LKS_DO(lks_watch_servers[1], "SET", moved->key, moved->token, "PX", "30000");
    lks_fleet_move(lki_slot_of(moved->key, strlen(moved->key)), 1);
    lki_watchdog_recheck(f->watchdog);
    LKS_EVENTUALLY(atomic_load(&f->renewals) == 3, 5000);
    lki_watchdog_remove(f->watchdog,
                        other); /* it would have been asked for with it, and is awaited */

    assert_int_equal(atomic_load(&f->renewals), 3);
    assert_int_equal(atomic_load(&f->losses), 0);
}

TEST(a_hold_from_before_the_change_is_checked_when_it_comes, struct lks_watch *f)
{
    lks_watch_start(f, false);
    lk_lock *late = lks_watch_take(f, lks_mutex(f->clients[0], lks_watch_key(f, 0)), 30000);
    lks_fleet_fail_over(0, 1);
    lki_watchdog_recheck(f->watchdog);
    lk_lock *new = lks_watch_mutex(f, 1, 30000, false); /* from the new one */
    LKS_EVENTUALLY(lks_fleet_references(0) == 0, 5000);
    lks_watch_add(f, late, false);
    LKS_EVENTUALLY(atomic_load(&f->losses) == 1, 5000);

    assert_false(lk_held(late));
    assert_true(lk_held(new));
}

TEST(stopping_leaves_no_lease_behind_at_a_server_that_hangs, struct lks_watch *f)
{
    lk_lock *lock = let_a_renewal_hang(f);
    double begin = lks_now_ms();

    lks_watch_stop(f);
    lki_watchdog_remove(f->watchdog, lock);
    assert_true(lks_now_ms() - begin < 10000); /* the server does not answer, until 30 s are over */
}

FIXTURE(lks_watch_set_up, lks_watch_tear_down);
GROUP(lks_watch_start_servers, lks_watch_stop_servers);
