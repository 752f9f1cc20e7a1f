/*
 * What the one failure policy costs, on a plain server: connections, round trips, refusals. What it promises is in the
 * fault matrix; other servers that take over are in failover_itest.c and cluster_failover_soak.c.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "test/support/lk_topology.h"
#include "test/support/lk_vip.h"

enum {
    SOON_MS = 6000, /* much less than what would come by itself: a wait's end, a renewal */
    MOVED_MS = 900,
    USERS = 8,
    CONNECTIONS = 16,
    CROWD = 20
};

static struct lks_server *server, *other; /* TCP and unix socket */
static atomic_int connects, trips, refusals;

static void count(const struct lk_event *event, void *arg)
{
    if (event->type == LK_EVENT_CONNECT) atomic_fetch_add(&connects, 1);
    if (event->type == LK_EVENT_ROUND_TRIP) atomic_fetch_add(&trips, 1);
    if (event->type == LK_EVENT_REFUSED) atomic_fetch_add(&refusals, 1);
}

static lk_status use(lk_client *client, const char *key, int64_t wait_ms, struct lk_error *err)
{
    lk_lock *lock = lks_mutex(client, key);
    struct lk_lock_options options = {.wait_ms = wait_ms};
    lk_status status = lk_lock_acquire(lock, &options, err);

    if (status == LK_OK) status = lk_lock_release(lock, err);
    lk_lock_free(lock);
    return status;
}

/* ---- a wait ------------------------------------------------------------------------------------------ */

TEST(a_fail_fast_wait_ends_with_the_server)
{
    lk_client *client = lks_client_with(server, (struct lk_client_options){.fail_fast = true});
    struct lk_error err = {0};

    lks_server_kill(server);
    double begin = lks_now_ms();
    lk_status status = use(client, "impatient", 60000, &err);
    double took_ms = lks_now_ms() - begin;
    lks_server_restart(server);
    lk_client_close(client);

    assert_int_equal(status, LK_UNREACHABLE);
    assert_true(took_ms < SOON_MS);
}

/* ---- one name ------------------------------------------------------------------------------------------------ */

static void demote_it(void)
{
    LKS_DO(server, "REPLICAOF", "127.0.0.1", "1");
}

static void promote_it(void)
{
    LKS_DO(server, "REPLICAOF", "NO", "ONE");
}

/* The old server is demoted, and asked, before the address leads to the new one. How long it is asked
   after that. */
static double follow(int gap_ms)
{
    struct lks_vip *vip = lks_vip_open(NULL, 0, server->port);
    lk_client *client =
        lks_client_with(server, (struct lk_client_options){.url = lks_vip_url(vip)});
    struct lk_error err = {0};
    int refused = 0;

    assert_int_equal(use(client, "moves", 0, NULL), LK_OK);
    demote_it();
    double demoted_ms = lks_now_ms();
    while (lks_now_ms() - demoted_ms < gap_ms)
        assert_int_equal(use(client, "moves", 0, &err), LK_UNREACHABLE);
    lks_vip_move(vip, other->port);
    double begin = lks_now_ms();
    while (use(client, "moves", 0, &err) != LK_OK && lks_now_ms() - begin < 10000)
        refused++;
    double took_ms = lks_now_ms() - begin;
    print_message("# moved %d ms after the demotion: %d refusals more, %.0f ms\n", gap_ms, refused,
                  took_ms);
    promote_it();
    lk_client_close(client);
    lks_vip_close(vip);
    return took_ms;
}

/* One time of five: the machine may stand, and who is slow always is slow each time. */

TEST(an_address_that_leads_elsewhere_is_followed_within_a_second)
{
    static const int gaps_ms[] = {0, 20, 300, 1500};

    for (size_t i = 0; i < sizeof gaps_ms / sizeof gaps_ms[0]; i++) {
        bool is_soon = false;

        for (int tries = 0; tries < 5 && !is_soon; tries++)
            is_soon = follow(gaps_ms[i]) < MOVED_MS;
        assert_true(is_soon);
    }
}

/* ---- connections that are cut without a word ---------------------------------------------------------------- */

struct user {
    lk_client *client;
    char key[16];
    int unknown;
    double longest_ms;
    pthread_t thread;
};

static void *use_main(void *arg)
{
    struct user *user = arg;

    for (int i = 0; i < 2 * CONNECTIONS / USERS; i++) {
        double begin = lks_now_ms();
        user->unknown += use(user->client, user->key, 0, NULL) == LK_UNKNOWN;
        if (lks_now_ms() - begin > user->longest_ms) user->longest_ms = lks_now_ms() - begin;
    }
    return NULL;
}

/* Those who use the client side by side do not each find out for themselves. */
TEST(idle_connections_that_were_cut_cost_one_unknown_at_most)
{
    struct lks_vip *vip = lks_vip_open(NULL, 0, server->port);
    lk_client *client = lks_client_with(
        server, (struct lk_client_options){.url = lks_vip_url(vip), .command_ms = 3000});
    lk_session *sessions[CONNECTIONS];
    struct user users[USERS] = {0};
    int unknown = 0;
    double longest_ms = 0;

    for (size_t i = 0; i < CONNECTIONS; i++)
        sessions[i] = lk_session_open(client, NULL, 0, NULL);
    for (size_t i = 0; i < CONNECTIONS; i++)
        lk_session_close(sessions[i]);
    lks_nap(2000);
    lks_vip_silence(vip);
    for (size_t i = 0; i < USERS; i++) {
        users[i].client = client;
        (void)snprintf(users[i].key, sizeof users[i].key, "cut-%zu", i);
        assert_int_equal(pthread_create(&users[i].thread, NULL, use_main, &users[i]), 0);
    }
    for (size_t i = 0; i < USERS; i++) {
        assert_int_equal(pthread_join(users[i].thread, NULL), 0);
        unknown += users[i].unknown;
        if (users[i].longest_ms > longest_ms) longest_ms = users[i].longest_ms;
    }
    print_message("# %d idle, %d users: %d UNKNOWN, the longest %.0f ms\n", CONNECTIONS, USERS,
                  unknown, longest_ms);
    lk_client_close(client);
    lks_vip_close(vip);
    assert_true(unknown <= 1);
}

/* ---- a channel that access rules leave out -------------------------------------------------------------------- */

TEST(a_channel_that_is_refused_is_polled_and_disturbs_no_other)
{
    enum { POLL_MS = 3000, LOOK_MS = 3000 };
    lk_client *holder = lks_client(server);
    LKS_DO(server, "ACL", "SETUSER", "some", "on", "nopass", "+@all", "~*", "&*{allowed}");
    char url[64];
    (void)snprintf(url, sizeof url, "redis://some:x@127.0.0.1:%d", server->port);
    lk_client *client = lks_client_with(
        server, (struct lk_client_options){.url = url, .poll_ms = POLL_MS, .on_event = count});
    lk_lock *refused = lks_mutex(holder, "{refused}");
    lk_lock *allowed = lks_mutex(holder, "{allowed}");
    lk_lock *locks[CROWD + 1];
    struct lks_wait waits[CROWD + 1];
    int ok = 0;

    assert_int_equal(lk_lock_acquire(refused, NULL, NULL), LK_OK);
    assert_int_equal(lk_lock_acquire(allowed, NULL, NULL), LK_OK);
    atomic_store(&connects, 0);
    for (size_t i = 0; i <= CROWD; i++) {
        locks[i] = lks_mutex(client, i < CROWD ? "{refused}" : "{allowed}");
        lks_wait_start(&waits[i], locks[i], 20000);
    }
    lks_nap(500);
    double begin = lks_now_ms();
    atomic_store(&trips, 0);
    lks_nap(LOOK_MS);
    int trips_then = atomic_load(&trips);
    int connects_then = atomic_load(&connects);
    double released_ms = lks_now_ms();
    double looked_ms = released_ms - begin;
    assert_int_equal(lk_lock_release(allowed, NULL), LK_OK);
    ok += lks_wait_end(&waits[CROWD]) == LK_OK;
    double woken_ms = waits[CROWD].ended_at_ms - released_ms;
    assert_int_equal(lk_lock_release(refused, NULL), LK_OK);
    for (size_t i = 0; i < CROWD; i++)
        lk_lock_cancel(locks[i]);
    for (size_t i = 0; i < CROWD; i++)
        (void)lks_wait_end(&waits[i]);
    print_message(
        "# %d waiters in %.0f ms: %d connects, %d round trips; told %d times; the allowed "
        "one woken after %.0f ms\n",
        CROWD + 1, looked_ms, connects_then, trips_then, atomic_load(&refusals), woken_ms);
    for (size_t i = 0; i <= CROWD; i++) {
        (void)lk_lock_release(locks[i], NULL);
        lk_lock_free(locks[i]);
    }
    lk_lock_free(refused);
    lk_lock_free(allowed);
    lk_client_close(client);
    lk_client_close(holder);

    assert_int_equal(ok, 1);
    assert_int_equal(atomic_load(&refusals), 1);
    assert_true(woken_ms < 2500);            /* its timer has just been wound up */
    assert_true(connects_then <= CROWD + 2); /* the pool, and one who listens */
    assert_true(trips_then <= (CROWD + 1) * (looked_ms / POLL_MS + 5)); /* by its timer, no more */
}

/* ---- the world --------------------------------------------------------------------------------------------------- */

AFTER_EACH()
{
    promote_it();
}

BEFORE_ALL()
{
    static const struct lks_server_options options = {.is_tcp = true};

    server = lks_server_start(&options);
    other = lks_server_start(&options);
}

AFTER_ALL()
{
    lks_server_stop(server);
    lks_server_stop(other);
}
