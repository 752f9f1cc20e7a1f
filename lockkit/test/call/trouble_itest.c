/*
 * What a client does while the servers sort themselves out: opened in the middle of a failover; a transaction in the
 * middle of a move.
 */
#include "base/slot.h"
#include "test/support/lk_topology.h"

enum { LONG_MS = 20000, LEASE_MS = 2000 };

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
