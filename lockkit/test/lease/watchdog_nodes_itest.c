/*
 * The watchdog over several real servers that a made-up topology hands out: one that hangs, answers
 * that send elsewhere. Servers that take over are in watchdog_change_itest.c.
 * link: -Wl,--wrap=lki_topology_node -Wl,--wrap=lki_topology_primary -Wl,--wrap=lki_topology_at
 * link: -Wl,--wrap=lki_topology_moved -Wl,--wrap=lki_topology_doubt -Wl,--wrap=lki_topology_epoch
 * link: -Wl,--wrap=lki_topology_is_cluster
 * link: -Wl,--wrap=lki_node_unref -Wl,--wrap=lki_redis_send
 */
#include "base/slot.h"
#include "test/support/lk_watch.h"

enum { LOCKS = 20, HALF_MS = LKS_WATCH_COMMAND_MS / 2 };

/* ---- servers side by side --------------------------------------------------------------------------- */

TEST(each_is_renewed_where_its_slot_is, struct lks_watch *f)
{
    lks_watch_start(f, true);
    for (size_t i = 0; i < LOCKS; i++)
        (void)lks_watch_mutex(f, i % LKS_FLEET, 600, true);
    double begin = lks_now_ms();
    while (lks_now_ms() - begin < 1500) {
        assert_true(lks_watch_are_held(f->locks, LOCKS));
        lks_nap(10);
    }

    assert_int_equal(atomic_load(&f->losses), 0);
    for (size_t i = 0; i < LOCKS; i++)
        assert_in_range(LKS_INTEGER(lks_watch_servers[i % LKS_FLEET], "PTTL", f->locks[i]->key), 1,
                        600);
    for (size_t i = 0; i < LKS_FLEET; i++)
        assert_int_equal(lks_fleet_references(i), 1);
}

enum { HERE = 5, THERE = 5, HERE_MS = 600, THERE_MS = 2000 };

/* What is at the second server is renewed seldom, and awaited for longer than the others can wait. */
static void take_here_and_there(struct lks_watch *f)
{
    for (size_t i = 0; i < HERE + THERE; i++)
        (void)lks_watch_mutex(f, i >= HERE, i < HERE ? HERE_MS : THERE_MS, true);
}

/* The second server hangs, until we have seen enough. */
static void see_that_only_here_they_hold(struct lks_watch *f)
{
    double begin = lks_now_ms();
    bool were_held = true;

    while (lks_now_ms() - begin < THERE_MS + 500 && were_held) {
        were_held = lks_watch_are_held(f->locks, HERE);
        lks_nap(5);
    }
    int told = atomic_load(&f->losses);
    lks_server_resume(lks_watch_servers[1]);

    assert_true(were_held);
    assert_int_equal(told, THERE);
}

TEST(a_paused_server_delays_no_renewal_elsewhere, struct lks_watch *f)
{
    lks_watch_start(f, true);
    take_here_and_there(f);
    LKS_EVENTUALLY(lks_fleet_references(1) == 1, 5000); /* it is connected */
    lks_server_pause(lks_watch_servers[1]);

    see_that_only_here_they_hold(f);
}

TEST(a_server_that_only_lets_connect_delays_none_either, struct lks_watch *f)
{
    lks_watch_start(f, true);
    take_here_and_there(f);
    lks_server_pause(lks_watch_servers[1]); /* no renewal was sent there yet */

    see_that_only_here_they_hold(f);
}

TEST(removing_one_waits_for_no_other_server, struct lks_watch *f)
{
    lks_watch_start(f, true);
    lk_lock *ours = lks_watch_mutex(f, 0, 30000, true);
    lks_server_pause(lks_watch_servers[1]);
    lk_lock *theirs = lks_mutex(f->clients[1], lks_watch_key(f, 1));
    f->locks[f->count++] = theirs; /* as if held: nobody can ask there now */
    theirs->lease_ms = 3000;
    atomic_store(&theirs->state, LOCK_HELD);
    atomic_store(&theirs->expires_at, INT64_MAX);
    theirs->lease.stop_at = INT64_MAX;
    theirs->lease.is_doubted = true; /* so it is asked for at once */
    lks_watch_add(f, theirs, true);
    LKS_EVENTUALLY(lks_fleet_references(1) == 1, 5000);
    double begin = lks_now_ms();
    lki_watchdog_remove(f->watchdog, ours);
    double ours_ms = lks_now_ms() - begin;
    lki_watchdog_remove(f->watchdog, theirs);
    double theirs_ms = lks_now_ms() - begin;
    lks_server_resume(lks_watch_servers[1]);

    assert_true(ours_ms < HALF_MS);
    assert_true(theirs_ms > HALF_MS); /* there was one under way */
    assert_true(theirs_ms < LKS_WATCH_COMMAND_MS * 3);
}

TEST(ten_thousand_are_renewed_in_one_pass, struct lks_watch *f)
{
    lks_watch_start(f, true);
    for (size_t i = 0; i < LKS_WATCH_MAX; i++)
        (void)lks_watch_mutex(f, i % LKS_FLEET, 60000, true);
    lks_nap(300); /* a connection stands to each */
    int before = atomic_load(&f->renewals);
    double begin = lks_now_ms();
    for (size_t i = 0; i < LKS_FLEET; i++) /* as if all had restarted */
        LKS_DO(lks_watch_servers[i], "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    while (atomic_load(&f->renewals) < before + LKS_WATCH_MAX && lks_now_ms() - begin < 10000)
        lks_nap(1);
    double took_ms = lks_now_ms() - begin;

    print_message("# %d locks over %d servers: %.0f ms\n", LKS_WATCH_MAX, LKS_FLEET, took_ms);
    assert_int_equal(atomic_load(&f->renewals), before + LKS_WATCH_MAX);
    assert_true(took_ms < 4000); /* a tenth of a second, on a machine that is not busy */
    assert_int_equal(atomic_load(&f->losses), 0);
}

/* ---- answers that decide nothing ---------------------------------------------------------------------- */

/* A lock of the second server that the first one is asked for. */
static void send_elsewhere(struct lks_watch *f, const char *answer, int times)
{
    char lie[32];
    lk_lock *lock = lks_mutex(f->clients[1], lks_watch_key(f, 1));
    int slot = lki_slot_of(lock->key, strlen(lock->key));
    int before = atomic_load(&f->renewals);

    (void)snprintf(lie, sizeof lie, "%s %d %%s", answer, slot);
    lks_fleet_move(slot, 0); /* which is not true, and it says so */
    lks_fleet_lie(0, lie, 1, times);
    lks_watch_add(f, lks_watch_take(f, lock, 1500), true);
    LKS_EVENTUALLY(atomic_load(&f->renewals) - before >= 4, 15000);

    assert_true(lk_held(lock));
    assert_int_equal(atomic_load(&f->losses), 0);
    lki_watchdog_remove(f->watchdog, lock);
}

TEST(moved_and_ask_lead_to_the_other_server, struct lks_watch *f)
{
    lks_watch_start(f, true);
    send_elsewhere(f, "MOVED", 1);
    assert_true(lks_fleet_has_lied());
    assert_int_equal(lks_fleet_askings(), 0);
    send_elsewhere(f, "ASK", 1000); /* each time anew: the slot is on its way */
    assert_true(lks_fleet_askings() >= 4);
}

/* The server says so twice, then it is itself again. */
static void answer_by(struct lks_watch *f, const char *error, bool is_doubtful)
{
    int doubts = lks_fleet_doubts();
    int before = atomic_load(&f->renewals);

    lks_fleet_lie(0, error, 0, 2);
    LKS_EVENTUALLY(lks_fleet_has_lied(), 5000);
    LKS_EVENTUALLY(atomic_load(&f->renewals) > before, 5000);
    assert_int_equal(lks_fleet_doubts() > doubts, is_doubtful);
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
        {"OOM command not allowed when used memory > 'maxmemory'.", false},
    };

    lks_watch_start(f, true);
    lk_lock *renewed = lks_watch_mutex(f, 0, 2400, true);
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
    lk_lock *lock = lks_watch_mutex(f, 0, 1200, true);
    lks_nap(600); /* past its first renewal, which is due after 400 */
    assert_int_equal(atomic_load(&f->renewals), 0);
    assert_in_range(lks_fleet_looks(), 1, 10); /* now and then */
    lks_fleet_lose(false);
    LKS_EVENTUALLY(atomic_load(&f->renewals) > 0, 5000);

    assert_true(lk_held(lock));
}

FIXTURE(lks_watch_set_up, lks_watch_tear_down);
GROUP(lks_watch_start_servers, lks_watch_stop_servers);
