/*
 * A real failover that loses some holds: their holders are told when the new primary is known, long
 * before a renewal or a lease's end would show it; the others go on.
 */
#include <stdatomic.h>

#include "test/support/lk_topology.h"

enum { LOCKS = 12, LEASE_MS = 60000, SWITCH_MS = 20000 }; /* a renewal would come after 20 s */

static atomic_int changes; /* LK_EVENT_TOPOLOGY so far */
static atomic_int lost;    /* LK_EVENT_LOST so far */

static void count_event(const struct lk_event *event, void *arg)
{
    if (event->type == LK_EVENT_TOPOLOGY) atomic_fetch_add(&changes, 1);
    if (event->type == LK_EVENT_LOST) atomic_fetch_add(&lost, 1);
}

/* As if it had never got there. */
static void forget(struct lkt *topology, const char *replica, const char *key)
{
    struct lks_server *server = lkt_server(topology, replica);

    LKS_EVENTUALLY(LKS_INTEGER(server, "EXISTS", key) == 1, 5000);
    LKS_DO(server, "CONFIG", "SET", "replica-read-only", "no");
    assert_int_equal(LKS_INTEGER(server, "DEL", key), 1);
}

static bool is_lost(size_t i)
{
    return i % 3 == 0;
}

TEST(what_a_failover_lost_is_told_at_once)
{
    struct lkt *topology = lkt_start(NULL);
    lk_client *client = lkt_client_with(
        topology, (struct lk_client_options){.backoff_ms = 100, .on_event = count_event});
    lk_lock *locks[LOCKS];
    const char *keys[LOCKS];
    char name[32];

    for (size_t i = 0; i < LOCKS; i++) { /* every other one is renewed; nobody asks to be told */
        struct lk_lock_options options = {.lease_ms = LEASE_MS, .is_renewed = i % 2 == 0};

        (void)snprintf(name, sizeof name, "held-%zu", i);
        keys[i] = lks_key(lkt_server(topology, "n1"), name);
        locks[i] = lks_mutex(client, keys[i]);
        assert_int_equal(lk_lock_acquire(locks[i], &options, NULL), LK_OK);
    }
    for (size_t i = 0; i < LOCKS; i++) {
        if (!is_lost(i)) continue;
        forget(topology, "n2", keys[i]);
        forget(topology, "n3", keys[i]);
    }
    int before = atomic_load(&changes);
    (void)lkt_tell(topology, "kill n1");
    LKS_EVENTUALLY(atomic_load(&changes) > before, SWITCH_MS);
    double begin = lks_now_ms();
    LKS_EVENTUALLY(atomic_load(&lost) == LOCKS / 3, 5000);
    print_message("# told %.0f ms after the change\n", lks_now_ms() - begin);
    lks_nap(200); /* and no more */

    assert_int_equal(atomic_load(&lost), LOCKS / 3);
    for (size_t i = 0; i < LOCKS; i++) {
        assert_int_equal(lk_held(locks[i]), !is_lost(i));
        assert_int_equal(lk_lock_release(locks[i], NULL), is_lost(i) ? LK_NOT_OWNER : LK_OK);
        lk_lock_free(locks[i]);
    }
    lk_client_close(client);
    lkt_stop(topology);
}
