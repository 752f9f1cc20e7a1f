/*
 * Connections that are cut without a word, as firewalls do it: no end is told to either side.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "test/support/lk_support.h"
#include "test/support/lk_vip.h"
#include "wire/endpoint.h"
#include "wire/redis.h"

enum { CONNECTIONS = 16, COMMAND_MS = 3000 };

LKS_SERVER(lks_server_start(&(struct lks_server_options){.is_tcp = true}));
static struct lks_vip *vip;

/* With so many connections, all idle. */
static lk_client *idle_client(struct lk_client_options options)
{
    lk_session *sessions[CONNECTIONS];

    options.url = lks_vip_url(vip);
    options.command_ms = options.connect_ms = COMMAND_MS; /* for a PING, a quarter of that */
    lk_client *client = lks_client_with(server, options);
    for (size_t i = 0; i < CONNECTIONS; i++) {
        sessions[i] = lk_session_open(client, NULL, 0, NULL);
        assert_non_null(sessions[i]);
    }
    for (size_t i = 0; i < CONNECTIONS; i++)
        lk_session_close(sessions[i]);
    LKS_EVENTUALLY(lks_vip_taken(vip) == CONNECTIONS, 5000);
    return client;
}

static lk_status use(lk_client *client, const char *key)
{
    lk_lock *lock = lks_mutex(client, lks_key(server, key));
    lk_status status = lk_lock_acquire(lock, NULL, NULL);

    if (status == LK_OK) status = lk_lock_release(lock, NULL);
    lk_lock_free(lock);
    return status;
}

struct cost {
    int failures;
    int unknown;
    double longest_ms;
};

static struct cost use_often(lk_client *client)
{
    struct cost cost = {0};

    for (int i = 0; i < 2 * CONNECTIONS; i++) {
        double begin = lks_now_ms();
        lk_status status = use(client, "often");

        if (lks_now_ms() - begin > cost.longest_ms) cost.longest_ms = lks_now_ms() - begin;
        cost.failures += status != LK_OK;
        cost.unknown += status == LK_UNKNOWN;
    }
    return cost;
}

TEST(one_that_does_not_answer_speaks_for_the_older_ones)
{
    lk_client *client = idle_client((struct lk_client_options){.idle_ms = 60000}); /* no PING */
    struct lk_pool_usage usage;

    lks_vip_silence(vip);
    struct cost cost = use_often(client);
    print_message("# %d uses: %d UNKNOWN, the longest %.0f ms\n", 2 * CONNECTIONS, cost.unknown,
                  cost.longest_ms);

    assert_true(cost.unknown <= 1);
    assert_int_equal(cost.failures, cost.unknown);
    LKS_EVENTUALLY((lk_client_pool_usage(client, &usage), usage.reconnects == usage.open),
                   5000); /* not one is left of before */
    lk_client_close(client);
}

TEST(a_ping_finds_out_before_anybody_asks)
{
    lk_client *client = idle_client((struct lk_client_options){.idle_ms = 50});

    lks_nap(100);
    assert_int_equal(use(client, "pinged"), LK_OK); /* these live */
    assert_int_equal(lks_vip_taken(vip), CONNECTIONS);
    lks_nap(100);
    lks_vip_silence(vip);
    struct cost cost = use_often(client);
    print_message("# %d uses: %d UNKNOWN, the longest %.0f ms\n", 2 * CONNECTIONS, cost.unknown,
                  cost.longest_ms);

    assert_int_equal(cost.failures, 0);
    lk_client_close(client);
}

struct wait {
    lk_client *client;
    lk_status status;
    pthread_t thread;
};

static void *wait_main(void *arg)
{
    struct wait *wait = arg;
    lk_lock *lock = lks_mutex(wait->client, lks_key(server, "awaited"));

    wait->status = lk_lock_acquire(lock, &(struct lk_lock_options){.wait_ms = 60000}, NULL);
    if (wait->status == LK_OK) wait->status = lk_lock_release(lock, NULL);
    lk_lock_free(lock);
    return NULL;
}

/* Its own timer would wake it after a minute. */
TEST(a_subscription_that_was_cut_is_made_anew)
{
    struct wait wait = {
        .client = lks_client_with(server, (struct lk_client_options){.url = lks_vip_url(vip),
                                                                     .idle_ms = 1000,
                                                                     .poll_ms = 120000})};
    lk_client *other = lks_client(server);
    lk_lock *lock = lks_mutex(other, lks_key(server, "awaited"));

    assert_int_equal(lk_lock_acquire(lock, &(struct lk_lock_options){.lease_ms = 120000}, NULL),
                     LK_OK);
    assert_int_equal(pthread_create(&wait.thread, NULL, wait_main, &wait), 0);
    LKS_EVENTUALLY(lks_info(server, "stats", "pubsub_channels") == 1, 5000);
    lks_nap(100);
    lks_vip_silence(vip);
    double begin = lks_now_ms();
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK); /* told in vain */
    assert_int_equal(pthread_join(wait.thread, NULL), 0);
    print_message("# woken after %.0f ms\n", lks_now_ms() - begin);
    assert_int_equal(wait.status, LK_OK);
    assert_true(lks_now_ms() - begin < 40000); /* after 10 s, as nobody answers its PINGs */
    lk_lock_free(lock);
    lk_client_close(wait.client);
    lk_client_close(other);
}

static void count_renewal(const struct lk_event *event, void *renewals)
{
    if (event->type == LK_EVENT_RENEW && event->status == LK_OK)
        atomic_fetch_add((atomic_int *)renewals, 1);
}

TEST(a_hold_outlives_the_connection_that_renews_it)
{
    enum { LEASE_MS = 4500, ROUNDS = 2 };
    atomic_int renewals = 0;
    lk_client *client =
        lks_client_with(server, (struct lk_client_options){.url = lks_vip_url(vip),
                                                           .command_ms = LEASE_MS / 9,
                                                           .idle_ms = LEASE_MS,
                                                           .on_event = count_renewal,
                                                           .on_event_arg = &renewals});
    lk_lock *lock = lks_mutex(client, lks_key(server, "renewed"));

    assert_int_equal(
        lk_lock_acquire(lock, &(struct lk_lock_options){.lease_ms = LEASE_MS, .is_renewed = true},
                        NULL),
        LK_OK);
    for (int i = 0; i < ROUNDS; i++) {
        LKS_EVENTUALLY(atomic_load(&renewals) > i, 10000);
        lks_vip_silence(vip);
    }
    LKS_EVENTUALLY(atomic_load(&renewals) > ROUNDS, 10000);
    assert_true(lk_held(lock));
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    lk_lock_free(lock);
    lk_client_close(client);
}

static int option_of(const struct lki_redis *redis, int level, int name)
{
    int value = -1;
    socklen_t len = sizeof value;

    assert_int_equal(getsockopt(lki_redis_fd(redis), level, name, &value, &len), 0);
    return value;
}

TEST(the_system_asks_too)
{
    struct lki_endpoint endpoint;

    assert_int_equal(lki_endpoint_parse(lks_vip_url(vip), NULL, &endpoint, NULL), LK_OK);
    struct lki_redis *redis = lki_redis_open(&endpoint, lki_clock_after_ms(1000), NULL);
    assert_non_null(redis);
    assert_int_equal(option_of(redis, SOL_SOCKET, SO_KEEPALIVE), 1);
    int idle_s = option_of(redis, IPPROTO_TCP, TCP_KEEPIDLE);
    int pause_s = option_of(redis, IPPROTO_TCP, TCP_KEEPINTVL);
    int probes = option_of(redis, IPPROTO_TCP, TCP_KEEPCNT);
    assert_int_equal(idle_s + pause_s * probes, 30);
    assert_int_equal(option_of(redis, IPPROTO_TCP, TCP_USER_TIMEOUT), 30000);
    lki_redis_close(redis);
    lki_endpoint_done(&endpoint);
}

BEFORE_EACH()
{
    vip = lks_vip_open(NULL, 0, server->port);
}

AFTER_EACH()
{
    lks_vip_close(vip);
}
