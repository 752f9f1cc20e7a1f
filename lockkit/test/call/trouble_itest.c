/*
 * What a client does while the servers sort themselves out: opened in the middle of a failover; servers
 * that are there and refuse.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "base/slot.h"
#include "test/support/lk_topology.h"

enum { LONG_MS = 20000, A_WHILE_MS = 300, LEASE_MS = 2000, BRIEF_MS = 100 };

static lk_status use(lk_client *client, const char *key)
{
    lk_lock *lock = lks_mutex(client, key);
    struct lk_lock_options options = {.wait_ms = LONG_MS, .lease_ms = LEASE_MS};
    lk_status status = lk_lock_acquire(lock, &options, NULL);

    if (status == LK_OK) status = lk_lock_release(lock, NULL);
    lk_lock_free(lock);
    return status;
}

TEST(a_client_can_be_opened_while_a_failover_is_under_way)
{
    struct lkt *topology = lkt_start(NULL);
    struct lk_client_options options = {.url = topology->url, .connect_ms = LONG_MS};
    struct lk_error err = {0};

    (void)lkt_tell(topology, "kill n1");
    lk_client *client = lk_client_open(&options, &err);
    if (!client) fail_msg("%s", err.text);
    assert_int_equal(use(client, "opened"), LK_OK);
    lk_client_close(client);
    lkt_stop(topology);
}

struct wait {
    lk_client *client;
    lk_status status; /* written by the thread, read when it has ended */
    atomic_bool has_ended;
};

static void *use_main(void *arg)
{
    struct wait *wait = arg;

    wait->status = use(wait->client, "refused");
    atomic_store(&wait->has_ended, true);
    return NULL;
}

/* As it is for a moment when a failover is made by hand. */
TEST(a_waiter_goes_on_while_the_primary_is_a_replica)
{
    struct lkt *topology = lkt_start(NULL);
    struct lks_server *primary = lkt_server(topology, "n1");
    struct wait wait = {.client = lkt_client_with(topology, (struct lk_client_options){0})};
    pthread_t thread;

    LKS_DO(primary, "REPLICAOF", "127.0.0.1", "1");
    assert_int_equal(pthread_create(&thread, NULL, use_main, &wait), 0);
    lks_nap(A_WHILE_MS);
    bool has_ended = atomic_load(&wait.has_ended);
    LKS_DO(primary, "REPLICAOF", "NO", "ONE");
    assert_int_equal(pthread_join(thread, NULL), 0);
    lk_client_close(wait.client);
    lkt_stop(topology);

    assert_false(has_ended);
    assert_int_equal(wait.status, LK_OK);
}

/* A key whose slot is n2's. */
static void find_key(struct lkt *topology, char out[32])
{
    int i = 0;

    do {
        (void)snprintf(out, 32, "key-%d", i++);
    } while (strcmp(lkt_tell(topology, "primary %d", lki_slot_of(out, strlen(out))), "n2") != 0);
}

/* Without a master's slots the whole cluster is down, the other masters too. */
TEST(a_waiter_goes_on_while_the_cluster_is_down)
{
    struct lkt *topology = lkt_start(&(struct lkt_options){.is_cluster = true});
    lk_client *client =
        lkt_client_with(topology, (struct lk_client_options){.command_ms = BRIEF_MS});
    char key[32];
    int bad = 0;

    find_key(topology, key);
    lk_lock *lock = lks_mutex(client, key);
    struct lk_lock_options options = {.wait_ms = LONG_MS, .lease_ms = LEASE_MS};
    (void)lkt_tell(topology, "kill n1");
    LKS_EVENTUALLY(
        strstr(LKS_TEXT(lkt_server(topology, "n2"), "CLUSTER", "INFO"), "cluster_state:fail"),
        LONG_MS);
    bad += lk_lock_acquire(lock, &options, NULL) != LK_OK;
    (void)lk_lock_release(lock, NULL);
    lk_lock_free(lock);
    lk_client_close(client);
    lkt_stop(topology);

    assert_int_equal(bad, 0);
}

/* Redirected by ASK, and not begun on a connection that it is not ended on. */
TEST(a_transaction_gets_through_the_middle_of_a_move)
{
    struct lkt *topology = lkt_start(&(struct lkt_options){.is_cluster = true});
    lk_client *client = lkt_client_with(topology, (struct lk_client_options){.pool_size = 1});
    const struct lk_bytes multi = LK_BYTES("MULTI");
    const struct lk_bytes exec = LK_BYTES("EXEC");
    const struct lk_bytes increment[] = {LK_BYTES("INCR"), LK_BYTES("absent")};
    const struct lk_bytes wait[] = {LK_BYTES("WAIT"), LK_BYTES("0"), LK_BYTES("10")};
    const struct lk_command commands[] = {{&multi, 1}, {increment, 2}, {&exec, 1}, {wait, 3}};
    lk_reply *replies[4] = {0};

    int slot = lki_slot_of("absent", strlen("absent"));
    const char *to = strcmp(lkt_tell(topology, "primary %d", slot), "n1") == 0 ? "n2" : "n1";
    (void)lkt_tell(topology, "begin %d %s", slot, to);
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(lk_client_call(client, commands, 4, 0, replies, NULL), LK_OK);
        assert_int_equal(lk_reply_integer(lk_reply_at(replies[2], 0), -1), i);
        for (size_t k = 0; k < 4; k++)
            lk_reply_free(replies[k]);
    }
    lk_client_close(client);
    lkt_stop(topology);
}
