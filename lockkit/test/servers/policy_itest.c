/*
 * The one failure policy, on a plain server: it goes away, comes back, comes back empty, is a replica by
 * now, is cut off, or refuses a channel. Other servers that take over are in failover_itest.c and cluster_failover_soak.c.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "test/support/lk_topology.h"
#include "test/support/lk_vip.h"

enum {
    SOON_MS = 6000, /* much less than what would come by itself: a wait's end, a renewal */
    MOVED_MS = 900,
    WAIT_MS = 700,
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

TEST(a_wait_lasts_as_long_as_asked_and_says_why_it_was_in_vain)
{
    lk_client *client = lks_client(server);
    struct lk_error err = {0};

    lks_server_kill(server);
    double begin = lks_now_ms();
    lk_status status = use(client, "in-vain", WAIT_MS, &err);
    double took_ms = lks_now_ms() - begin;
    lks_server_restart(server);
    lk_client_close(client);

    print_message("# %s after %.0f ms: %s\n", lk_status_name(status), took_ms, err.text);
    assert_int_equal(status, LK_UNREACHABLE);
    assert_true(took_ms >= WAIT_MS && took_ms < WAIT_MS + SOON_MS);
    assert_non_null(strstr(err.text, "Connection refused"));
}

TEST(an_impatient_wait_ends_with_the_server)
{
    lk_client *client = lks_client_with(server, (struct lk_client_options){.is_impatient = true});
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

/* What is done to the server under a waiter, and undone after a while. */
static void kill_it(void)
{
    lks_server_kill(server);
}

static void restart_it(void)
{
    lks_server_restart(server);
}

static void demote_it(void)
{
    LKS_DO(server, "REPLICAOF", "127.0.0.1", "1");
}

static void promote_it(void)
{
    LKS_DO(server, "REPLICAOF", "NO", "ONE");
}

/* It answers all the while: LOADING. */
static void *reload_main(void *arg)
{
    lk_client *client = lks_client_with(server, (struct lk_client_options){.command_ms = 10000});
    const struct lk_bytes words[] = {LK_BYTES("DEBUG"), LK_BYTES("RELOAD")};
    lk_reply *reply = NULL;

    bool is_done =
        lk_client_call(client, &(struct lk_command){words, 2}, 1, 0, &reply, NULL) == LK_OK;
    lk_reply_free(reply);
    lk_client_close(client);
    return is_done ? arg : NULL;
}

static pthread_t reloading;

static void load_it(void)
{
    LKS_DO(server, "CONFIG", "SET", "loading-process-events-interval-bytes", "1024");
    LKS_DO(server, "EVAL", "for i=1,3000 do redis.call('SET','filler'..i,'x') end", "0");
    LKS_DO(server, "CONFIG", "SET", "key-load-delay", "600"); /* 2 s in all */
    assert_int_equal(pthread_create(&reloading, NULL, reload_main, NULL), 0);
    LKS_EVENTUALLY(strstr(LKS_TEXT(server, "GET", "x"), "LOADING"), 5000);
}

static void have_loaded(void)
{
    assert_int_equal(pthread_join(reloading, NULL), 0);
    LKS_DO(server, "FLUSHALL");
}

static const struct outage {
    const char *name;
    void (*begin)(void), (*end)(void);
} outages[] = {
    {"killed", kill_it, restart_it},
    {"a replica", demote_it, promote_it},
    {"loading", load_it, have_loaded},
};

TEST(a_wait_goes_on_when_the_server_does)
{
    struct lk_error err = {0};
    int bad = 0;

    for (size_t i = 0; i < sizeof outages / sizeof outages[0]; i++) {
        lk_client *client = lks_client(server);
        struct lks_wait wait;
        lk_lock *lock = lks_mutex(client, "goes-on");

        assert_int_equal(use(client, "goes-on", 0, &err), LK_OK);
        outages[i].begin();
        lks_wait_start(&wait, lock, 20000);
        lks_nap(300);
        bool has_ended = atomic_load(&wait.has_ended);
        outages[i].end();
        double end_ms = lks_now_ms();
        lk_status status = lks_wait_end(&wait);
        print_message("# %s: %s, %s%.0f ms after it was back\n", outages[i].name,
                      lk_status_name(status), has_ended ? "too early, " : "",
                      wait.ended_at_ms - end_ms);
        bad += has_ended || status != LK_OK || wait.ended_at_ms - end_ms > SOON_MS;
        (void)lk_lock_release(lock, NULL);
        lk_lock_free(lock);
        lk_client_close(client);
    }
    assert_int_equal(bad, 0);
}

/* ---- a server that is back, and empty ---------------------------------------------------------------------- */

static void hold_over_a_restart(bool is_renewed, int64_t held_ms)
{
    lk_client *client = lks_client(server);
    lk_client *rival = lks_client(server);
    atomic_int losses = 0;
    struct lk_lock_options options = {
        .is_renewed = is_renewed, .on_lost = lks_count_loss, .on_lost_arg = &losses};
    lk_lock *lock = lks_mutex(client, "held");

    assert_int_equal(lk_lock_acquire(lock, &options, NULL), LK_OK);
    lks_nap(held_ms);
    lks_server_restart(server);
    double begin = lks_now_ms();
    LKS_EVENTUALLY(use(rival, "held", 0, NULL) == LK_OK, 5000);
    double rival_ms = lks_now_ms() - begin;
    while (lk_held(lock) && lks_now_ms() - begin < 35000)
        lks_nap(1);
    double told_ms = lks_now_ms() - begin;
    print_message("# held for %d ms, %srenewed: rival after %.0f ms, holder told after %.0f ms\n",
                  (int)held_ms, is_renewed ? "" : "not ", rival_ms, told_ms);
    LKS_EVENTUALLY(atomic_load(&losses) == 1, 5000);
    (void)lk_lock_release(lock, NULL);
    lk_lock_free(lock);
    lk_client_close(rival);
    lk_client_close(client);
    assert_true(told_ms < SOON_MS);
}

TEST(a_holder_is_told_at_once_when_the_server_is_back_and_empty)
{
    hold_over_a_restart(true, 0);
    hold_over_a_restart(false, 0); /* no time yet for anything but the acquire */
    hold_over_a_restart(true, 600);
    hold_over_a_restart(false, 600);
}

/* ---- one name ------------------------------------------------------------------------------------------------ */

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
    static const struct lks_server_options options = {
        .is_tcp = true, .setting = "--enable-debug-command", .value = "yes"};

    server = lks_server_start(&options);
    other = lks_server_start(&options);
}

AFTER_ALL()
{
    lks_server_stop(server);
    lks_server_stop(other);
}
