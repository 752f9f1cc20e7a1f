/*
 * Whole runs on each topology that speaks nothing but TLS. Whom programs trust is in tls_itest.c.
 */
#include "base/topology.h"
#include "common/port.h"
#include "test/support/lt_command.h"
#include "test/support/lt_net.h"
#include "test/support/testing.h"

enum { STOP_MS = 2000 };

struct world {
    struct lt_sandbox sandbox;
    struct process redis;
    struct topology topology;
};

SET_UP(struct world, world)
{
    assert_true(lt_sandbox_open(&world->sandbox));
    assert_true(lt_sandbox_certify(&world->sandbox));
}

TEAR_DOWN(struct world, world)
{
    process_stop(&world->redis, STOP_MS);
    topology_close(&world->topology);
    lt_sandbox_close(&world->sandbox);
}

/* Sell and audit, all over TLS. */
static void run_on(const struct world *world, const char *url)
{
    const char *said =
        lt_must(&world->sandbox, 0,
                "loadtest --redis %s --buyers 1500 --stock 100 --connections 100 --allow-lost "
                "--out @out --redis-ca @ca.crt --redis-cert @client.crt --redis-key @client.key",
                url);

    assert_non_null(strstr(said, "accepted orders lost: 0 of 100"));
}

TEST(a_whole_run_where_clients_show_certificates, struct world *world)
{
    char url[100];
    int port = port_free();

    assert_true(lt_start_redis(&world->redis, &world->sandbox, port, "server", "yes"));
    (void)snprintf(url, sizeof url, "rediss://localhost:%d", port);
    run_on(world, url);
}

static void run_on_several(struct world *world, const char *kind)
{
    const char *const words[] = {"--tls", world->sandbox.dir, kind, NULL};
    struct failure failure = {.text = ""};

    if (!topology_open(&world->topology, words, &failure)) fail_msg("%s", failure.text);
    assert_int_equal(0, strncmp(world->topology.url, "rediss+", 7));
    run_on(world, world->topology.url);
}

TEST(a_whole_run_on_sentinel, struct world *world)
{
    run_on_several(world, "sentinel");
}

TEST(a_whole_run_on_a_cluster, struct world *world)
{
    run_on_several(world, "cluster");
}

GROUP(testing_ignore_sigpipe, NULL);
