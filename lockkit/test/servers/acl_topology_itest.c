/*
 * The narrow user and the loader of acl_itest.c, where servers change places: who takes over has never
 * seen a script, and is told by the loader.
 */
#include "test/support/lk_acl.h"
#include "test/support/lk_any.h"
#include "test/support/lk_topology.h"

enum { LEASE_MS = 6000, LONG_MS = 60000, SWITCH_MS = 20000 };

static struct lkt *start(bool is_cluster)
{
    char setting[128];

    (void)snprintf(setting, sizeof setting, "aclfile %s",
                   lka_write_users("on nopass ~* &* +@all")); /* for who starts and stops them */
    struct lkt *topology =
        lkt_start(&(struct lkt_options){.is_cluster = is_cluster, .setting = setting});
    lkt_be_patient(topology);
    return topology;
}

/* The URL with the user in it. */
static lk_client *open_client(const struct lkt *topology)
{
    char url[320];
    const char *hosts = strstr(topology->url, "://") + strlen("://");

    (void)snprintf(url, sizeof url, "%.*slocks@%s", (int)(hosts - topology->url), topology->url,
                   hosts);
    return lkt_client_with(topology, (struct lk_client_options){.url = url,
                                                                .password = LKA_PASSWORD,
                                                                .loader = LKA_LOADER,
                                                                .poll_ms = 200,
                                                                .backoff_ms = 100,
                                                                .connect_ms = 5000,
                                                                .command_ms = 5000});
}

/* Nobody was refused anything, on no server, and nobody has said EVAL. */
static void assert_quiet(struct lkt *topology)
{
    for (size_t i = 0; i < topology->count; i++) {
        struct lks_server *server = topology->servers[i];

        if (topology->names[i][0] != 'n') continue;
        lk_reply *log = LKS_ASK(server, "ACL", "LOG");
        lk_reply *stats = LKS_ASK(server, "INFO", "commandstats");
        const lk_reply *last = lk_reply_at(log, 0);

        if (last)
            fail_msg("%s refused %s", topology->names[i],
                     lk_reply_bytes(lk_reply_at(last, 7)).data);
        assert_null(strstr(lk_reply_bytes(stats).data, "cmdstat_eval:"));
        lk_reply_free(log);
        lk_reply_free(stats);
    }
}

/* Those that are not renewed are asked for all the same when another server takes over. */
static void acquire_all(struct lks_any *held, lk_client *client, const char *name, bool is_renewed)
{
    const struct lk_lock_options options = {.wait_ms = SWITCH_MS,
                                            .lease_ms = is_renewed ? LEASE_MS : LONG_MS,
                                            .is_renewed = is_renewed};
    struct lk_error err = {0};

    for (size_t kind = 0; kind < LKS_ANY_KINDS; kind++) {
        char key[64];

        /* One slot for the two of a multi lock, many for all of them. */
        (void)snprintf(key, sizeof key, "lkt:{lkt:%s-%zu}", name, kind);
        lks_any_prepare(kind, client, key);
        lks_any_new(&held[kind], kind, client, key);
        if (lk_lock_acquire(held[kind].lock, &options, &err) != LK_OK)
            fail_msg("%s: %s", held[kind].name, err.text);
    }
}

static void release_all(struct lks_any *held)
{
    struct lk_error err = {0};

    for (size_t kind = 0; kind < LKS_ANY_KINDS; kind++) {
        if (lk_lock_release(held[kind].lock, &err) != LK_OK)
            fail_msg("%s: %s", held[kind].name, err.text);
        lks_any_free(&held[kind]);
    }
}

static void assert_held(const struct lks_any *held)
{
    for (size_t kind = 0; kind < LKS_ANY_KINDS; kind++)
        if (!lk_held(held[kind].lock)) fail_msg("%s: lost", held[kind].name);
}

TEST(holds_outlive_a_failover_of_sentinel)
{
    struct lkt *topology = start(false);
    lk_client *client = open_client(topology);
    struct lks_any held[LKS_ANY_KINDS];
    struct lks_any kept[LKS_ANY_KINDS];

    acquire_all(held, client, "before", true);
    acquire_all(kept, client, "kept", false);
    LKS_DO(lkt_server(topology, "n1"), "SET", "marker", "x"); /* so that no replica lacks any */
    assert_int_equal(LKS_INTEGER(lkt_server(topology, "n1"), "WAIT", "2", "10000"), 2);
    (void)lkt_tell(topology, "failover");
    lks_nap(LEASE_MS + 1000);
    assert_held(held);
    assert_held(kept);
    release_all(held);
    release_all(kept);
    acquire_all(held, client, "after", true);
    release_all(held);
    assert_quiet(topology);
    lk_client_close(client);
    lkt_stop(topology);
}

TEST(holds_outlive_failovers_and_moved_slots_of_a_cluster)
{
    struct lkt *topology = start(true);
    lk_client *client = open_client(topology);
    struct lks_any held[LKS_ANY_KINDS];
    struct lks_any kept[LKS_ANY_KINDS];
    char slot[16];

    acquire_all(held, client, "before", true);
    acquire_all(kept, client, "kept", false);
    for (int i = 4; i <= 6; i++)
        (void)lkt_tell(topology, "failover n%d", i);
    for (size_t kind = 0; kind < LKS_ANY_KINDS; kind++) {
        (void)snprintf(slot, sizeof slot, "%s",
                       lkt_tell(topology, "slot lkt:{lkt:before-%zu}", kind));
        (void)lkt_tell(topology, "reshard %s n4", slot);
    }
    LKS_DO(lkt_server(topology, "n4"), "SCRIPT", "FLUSH");
    lks_nap(LEASE_MS + 1000);
    assert_held(held);
    assert_held(kept);
    release_all(held);
    release_all(kept);
    acquire_all(held, client, "after", true);
    release_all(held);
    assert_quiet(topology);
    lk_client_close(client);
    lkt_stop(topology);
}
