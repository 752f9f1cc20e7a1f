/*
 * The watchdog over several real servers that a made-up topology hands out: one that hangs, answers
 * that send elsewhere. Servers that take over are in watchdog_change_itest.c.
 * link: -Wl,--wrap=lki_topology_node -Wl,--wrap=lki_topology_primary -Wl,--wrap=lki_topology_at
 * link: -Wl,--wrap=lki_topology_moved -Wl,--wrap=lki_topology_refresh_soon -Wl,--wrap=lki_topology_epoch
 * link: -Wl,--wrap=lki_topology_is_cluster
 * link: -Wl,--wrap=lki_node_unref -Wl,--wrap=lki_redis_send
 */
#include "base/clock.h"
#include "base/slot.h"
#include "test/support/lk_watch.h"

enum { LOCKS = 20, LEASE_MS = 4500, LONG_MS = 600000 };

/* ---- servers side by side --------------------------------------------------------------------------- */

TEST(each_is_renewed_where_its_slot_is, struct lks_watch *f)
{
    lks_watch_start(f, true);
    for (size_t i = 0; i < LOCKS; i++)
        (void)lks_watch_mutex(f, i % LKS_FLEET, LEASE_MS, true);
    LKS_EVENTUALLY(atomic_load(&f->renewals) >= 2 * LOCKS, 10000);

    assert_true(lks_watch_are_held(f->locks, LOCKS));
    assert_int_equal(atomic_load(&f->losses), 0);
    for (size_t i = 0; i < LOCKS; i++)
        assert_in_range(LKS_INTEGER(lks_watch_servers[i % LKS_FLEET], "PTTL", f->locks[i]->key), 1,
                        LEASE_MS);
    for (size_t i = 0; i < LKS_FLEET; i++)
        assert_int_equal(lks_fleet_references(i), 1);
}

/* Of the second server, which stands: as if held, for nobody can ask there now. It is asked for at once, and
   waited for longer than for anything else here. */
static lk_lock *let_a_renewal_hang(struct lks_watch *f)
{
    lk_lock *lock = lks_mutex(f->clients[1], lks_watch_key(f, 1));
    int sent = lks_fleet_sent(1);

    f->locks[f->count++] = lock;
    lock->lease_ms = LONG_MS;
    atomic_store(&lock->state, LOCK_HELD);
    atomic_store(&lock->expires_at, INT64_MAX);
    lock->lease.stop_at = INT64_MAX;
    lock->lease.is_suspect = true;
    lks_watch_add(f, lock, true);
    LKS_EVENTUALLY(lks_fleet_sent(1) > sent, 5000);
    return lock;
}

static void start_patiently(struct lks_watch *f)
{
    f->command_ms = 30000;
    lks_watch_start(f, true);
}

/* Each twice, while the other server is waited for. */
static void see_that_here_they_are_renewed(struct lks_watch *f)
{
    enum { HERE = 5 };
    size_t first = f->count;

    for (size_t i = 0; i < HERE; i++)
        (void)lks_watch_mutex(f, 0, LEASE_MS, true);
    LKS_EVENTUALLY(atomic_load(&f->renewals) >= 2 * HERE, 10000);

    assert_true(lks_watch_are_held(f->locks + first, HERE));
    assert_int_equal(atomic_load(&f->losses), 0);
}

TEST(a_paused_server_delays_no_renewal_elsewhere, struct lks_watch *f)
{
    start_patiently(f);
    lk_lock *lock = lks_watch_mutex(f, 1, LONG_MS, true);
    LKS_EVENTUALLY(atomic_load(&f->renewals) == 1, 5000); /* it is connected */
    lki_watchdog_remove(f->watchdog, lock);
    lks_server_pause(lks_watch_servers[1]);
    atomic_store(&f->renewals, 0);

    (void)let_a_renewal_hang(f);
    see_that_here_they_are_renewed(f);
}

TEST(a_server_that_only_lets_connect_delays_none_either, struct lks_watch *f)
{
    start_patiently(f);
    lks_server_pause(lks_watch_servers[1]); /* no renewal was sent there yet */

    (void)let_a_renewal_hang(f);
    see_that_here_they_are_renewed(f);
}

TEST(removing_one_waits_for_no_other_server, struct lks_watch *f)
{
    start_patiently(f);
    lk_lock *ours = lks_watch_mutex(f, 0, LONG_MS, true);
    lks_server_pause(lks_watch_servers[1]);
    lk_lock *theirs = let_a_renewal_hang(f);
    lki_watchdog_remove(f->watchdog, ours);

    assert_false(
        lki_watchdog_remove_by(f->watchdog, theirs, lki_clock_now())); /* still under way */
    lks_server_resume(lks_watch_servers[1]);
    lki_watchdog_remove(f->watchdog, theirs);
}

/* As if all servers had restarted: what they have is asked for. */
static void cut_all(void)
{
    for (size_t i = 0; i < LKS_FLEET; i++)
        LKS_DO(lks_watch_servers[i], "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
}

static bool have_been_renewed_since(struct lks_watch *f, int64_t moment)
{
    int64_t ends = lki_hold_ends_at(moment, LONG_MS);
    size_t i = 0;

    while (i < f->count && atomic_load(&f->locks[i]->expires_at) >= ends)
        i++;
    return i == f->count;
}

TEST(ten_thousand_are_renewed_in_one_pass, struct lks_watch *f)
{
    lks_watch_start(f, true);
    for (size_t i = 0; i < LKS_WATCH_MAX; i++)
        (void)lks_watch_mutex(f, i % LKS_FLEET, LONG_MS, true);
    for (size_t i = 0; i < LKS_FLEET; i++) /* a connection stands to each */
        LKS_EVENTUALLY(lks_fleet_references(i) == 1, 5000);
    lks_nap(300); /* and their first looks are over */
    int64_t begin = lki_clock_now();
    cut_all();
    LKS_EVENTUALLY(have_been_renewed_since(f, begin), 20000);

    print_message("# %d locks over %d servers: %.0f ms\n", LKS_WATCH_MAX, LKS_FLEET,
                  (double)(lki_clock_now() - begin) / 1e6);
    assert_int_equal(atomic_load(&f->losses), 0);
}

/* ---- answers that decide nothing ---------------------------------------------------------------------- */

/* A lock of the second server that the first one is asked for. */
static void send_elsewhere(struct lks_watch *f, const char *answer, int times)
{
    char lie[32];
    lk_lock *lock = lks_mutex(f->clients[1], lks_watch_key(f, 1));
    int slot = lki_slot_of(lock->key, strlen(lock->key));

    (void)snprintf(lie, sizeof lie, "%s %d %%s", answer, slot);
    lks_fleet_move(slot, 0); /* which is not true, and it says so */
    lks_fleet_lie(0, lie, 1, times);
    lks_watch_add(f, lks_watch_take(f, lock, LONG_MS), true);
    for (int i = 0; i < 4; i++) {
        int before = atomic_load(&f->renewals);

        cut_all();
        LKS_EVENTUALLY(atomic_load(&f->renewals) > before, 5000);
    }

    assert_true(lk_held(lock));
    assert_int_equal(atomic_load(&f->losses), 0);
    lki_watchdog_remove(f->watchdog, lock);
}

TEST(moved_and_ask_lead_to_the_other_server, struct lks_watch *f)
{
    lks_watch_start(f, true);
    send_elsewhere(f, "MOVED", 1);
    assert_int_equal(lks_fleet_lies_left(), 0);
    assert_int_equal(lks_fleet_askings(), 0);
    send_elsewhere(f, "ASK", 1000); /* each time anew: the slot is on its way */
    assert_true(lks_fleet_askings() >= 4);
}

/* The server says so twice, then it is itself again. */
static void answer_by(struct lks_watch *f, const char *error, bool is_doubtful)
{
    int doubts = lks_fleet_refreshes();

    lks_fleet_lie(0, error, 0, 2);
    cut_all();
    LKS_EVENTUALLY(lks_fleet_lies_left() == 0, 5000);
    int before = atomic_load(&f->renewals);
    LKS_EVENTUALLY(atomic_load(&f->renewals) > before, 5000);
    assert_int_equal(lks_fleet_refreshes() > doubts, is_doubtful);
}

TEST(answers_that_say_nothing_of_the_lock_are_no_loss, struct lks_watch *f)
{
    static const struct {
        const char *error;
        bool is_doubtful;
    } rows[] = {
        {"TRYAGAIN Multiple keys request during rehashing of slot", true},
        {"CLUSTERDOWN Hash slot not served", true},
        {"LOADING Redis is loading the dataset in memory", true},
        {"READONLY You can't write against a read only replica.", true},
        {"MASTERDOWN Link with MASTER is down", true},
        {"OOM command not allowed when used memory > 'maxmemory'.", true},
        {"BUSY Redis is busy running a script.", true},
        {"NOPERM this user has no permissions to run the 'evalsha' command", false},
    };

    lks_watch_start(f, true);
    lk_lock *renewed = lks_watch_mutex(f, 0, 3600, true);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        answer_by(f, rows[i].error, rows[i].is_doubtful);
        assert_true(lk_held(renewed));
    }

    assert_int_equal(atomic_load(&f->losses), 0);
}

TEST(nobody_to_ask_is_no_loss, struct lks_watch *f)
{
    lks_watch_start(f, true);
    lks_fleet_lose(true);
    double begin = lks_now_ms();
    lk_lock *lock = lks_watch_mutex(f, 0, 30000, true);
    LKS_EVENTUALLY(lks_fleet_looks() >= 4, 10000);
    assert_true(lks_now_ms() - begin >= 500); /* now and then */
    assert_int_equal(atomic_load(&f->renewals), 0);
    lks_fleet_lose(false);
    LKS_EVENTUALLY(atomic_load(&f->renewals) > 0, 5000);

    assert_true(lk_held(lock));
}

FIXTURE(lks_watch_set_up, lks_watch_tear_down);
GROUP(lks_watch_start_servers, lks_watch_stop_servers);
