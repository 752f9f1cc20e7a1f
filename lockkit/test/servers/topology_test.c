/*
 * What a topology makes of what it is told, by made-up Sentinels and servers of a cluster, on a clock
 * that stands still. Nobody is connected to.
 * link: -Wl,--wrap=lki_sentinel_ask -Wl,--wrap=lki_cluster_ask -Wl,--wrap=lki_clock_now
 */
#include <limits.h>

#include "base/clock.h"
#include "base/error.h"
#include "servers/topology_internal.h"
#include "servers/topology_refresh.h"
#include "test/support/testing.h"

enum { PORTS_MAX = 4, ASKED_MAX = 256, SLOT = 7 };

/* "localhost:1", "localhost:2"... tell this. */
struct answer {
    bool is_away;
    long long version;
    int primaries[PORTS_MAX]; /* ports; 0 ends the list */
    int owner;                /* of all slots: the place in the list */
};

static struct world {
    int64_t now_ns;
    struct answer answers[PORTS_MAX + 1]; /* by port */
    char asked[ASKED_MAX];                /* the labels of who was asked */
    unsigned changes;
    struct lki_url url;
    struct lki_topology *topology;
} world;

FAKE_RETURNS(int64_t, lki_clock_now, (void), world.now_ns);

/* Servers that are found have the address 127.0.0.1, whatever the one asked is called. */
static lk_status tell(const struct lki_endpoint *whom, const struct lki_url *url,
                      struct lki_view *out, struct lk_error *err)
{
    const struct answer *answer = &world.answers[whom->port];
    size_t len = strlen(world.asked);

    *out = (struct lki_view){.version = answer->version};
    (void)snprintf(world.asked + len, sizeof world.asked - len, "%s ", whom->label);
    if (answer->is_away) return LKI_FAIL(err, LK_UNREACHABLE, "away");
    out->servers = calloc(PORTS_MAX, sizeof *out->servers);
    assert_non_null(out->servers);
    while (answer->primaries[out->count] > 0) {
        char address[32];

        (void)snprintf(address, sizeof address, "127.0.0.1:%d", answer->primaries[out->count]);
        assert_int_equal(
            lki_endpoint_at(lk_bytes_of(address), &url->like, whom, &out->servers[out->count], err),
            LK_OK);
        out->count++;
    }
    return LK_OK;
}

FAKE_RETURNS(lk_status, lki_sentinel_ask,
             (const struct lki_endpoint *sentinel, const struct lki_url *url, int64_t deadline,
              struct lki_view *out, struct lk_error *err),
             tell(sentinel, url, out, err));

FAKE(lk_status, lki_cluster_ask, const struct lki_endpoint *server, const struct lki_url *url,
     int64_t deadline, struct lki_view *out, struct lk_error *err)
{
    lk_status status = tell(server, url, out, err);

    if (status != LK_OK) return status;
    out->owners = calloc(LKI_SLOTS, sizeof *out->owners);
    assert_non_null(out->owners);
    for (size_t slot = 0; slot < LKI_SLOTS; slot++)
        out->owners[slot] = (uint16_t)world.answers[server->port].owner;
    return status;
}

static void ignore_event(const struct lk_event *event, void *arg)
{
}

static void count_change(void *arg)
{
    world.changes++;
}

static void start(const char *url)
{
    static const struct lk_client_options options = {.pool_size = 1,
                                                     .connect_ms = 1,
                                                     .command_ms = 1,
                                                     .backoff_ms = 1,
                                                     .on_event = ignore_event};

    memset(&world, 0, sizeof world);
    world.now_ns = NS_PER_MS;
    assert_int_equal(lki_url_parse(url, (struct lki_secrets){0}, &world.url, NULL), LK_OK);
    world.topology = lki_topology_new(&options, &world.url, count_change, NULL, NULL);
    assert_non_null(world.topology);
    world.topology->is_open = true; /* from here on there is news */
}

static int start_sentinel(void **state)
{
    start("redis+sentinel://localhost:1,localhost:2/main");
    for (size_t port = 1; port <= 2; port++)
        world.answers[port] = (struct answer){.version = 5, .primaries = {11}};
    return 0;
}

static int start_cluster(void **state)
{
    start("redis+cluster://localhost:1,localhost:2");
    for (size_t port = 1; port <= PORTS_MAX; port++)
        world.answers[port] = (struct answer){.primaries = {1, 2, 3}};
    return 0;
}

static int end(void **state)
{
    lki_topology_reap(world.topology);
    lki_topology_join(world.topology);
    lki_topology_free(world.topology);
    lki_url_done(&world.url);
    return 0;
}

/* What is said while it looks. */
static lk_status look(void)
{
    world.asked[0] = '\0';
    return lki_topology_refresh(world.topology, NULL);
}

static void assert_owner(int port)
{
    struct lki_node *node = lki_topology_node(world.topology, SLOT, NULL);

    assert_non_null(node);
    assert_int_equal(node->endpoint.port, port);
    lki_node_unref(node);
}

/* "127.0.0.1:4": as a redirection names it. The reference is the caller's. */
static struct lki_node *name_server(const char *address)
{
    struct lki_node *named_by = lki_topology_node(world.topology, SLOT, NULL);
    struct lki_node *node = lki_topology_at(world.topology, lk_bytes_of(address), named_by, NULL);

    assert_non_null(node);
    lki_node_unref(named_by);
    return node;
}

/* ---- Sentinels --------------------------------------------------------------------------------------- */

TEST_WITH(the_sentinel_that_answered_is_asked_first, start_sentinel, end)
{
    world.answers[1].is_away = true;
    assert_int_equal(look(), LK_OK);
    assert_string_equal(world.asked, "localhost:1 localhost:2 ");
    assert_int_equal(look(), LK_OK);
    assert_string_equal(world.asked, "localhost:2 ");
    world.answers[1].is_away = false;
    world.answers[2].is_away = true;
    assert_int_equal(look(), LK_OK);
    assert_string_equal(world.asked, "localhost:2 localhost:1 ");
    assert_int_equal(world.changes, 1);
}

TEST_WITH(a_sentinel_that_missed_a_failover_is_not_believed, start_sentinel, end)
{
    assert_int_equal(look(), LK_OK);
    world.answers[1] = (struct answer){.version = 4, .primaries = {12}};
    assert_int_equal(look(), LK_OK);
    assert_string_equal(world.asked, "localhost:1 localhost:2 ");
    assert_owner(11);
}

/* Not even for long, while another cannot be asked. */
TEST_WITH(a_sentinel_that_is_behind_alone_is_never_believed, start_sentinel, end)
{
    assert_int_equal(look(), LK_OK);
    world.answers[1] = (struct answer){.version = 4, .primaries = {12}};
    world.answers[2].is_away = true;
    for (int i = 0; i < 10; i++) {
        world.now_ns += 5000LL * NS_PER_MS;
        assert_int_not_equal(look(), LK_OK);
    }
    assert_owner(11);
}

TEST_WITH(sentinels_set_up_anew_are_believed_after_a_while, start_sentinel, end)
{
    assert_int_equal(look(), LK_OK);
    for (size_t port = 1; port <= 2; port++)
        world.answers[port] = (struct answer){.version = 0, .primaries = {12}};
    assert_int_not_equal(look(), LK_OK); /* perhaps a failover is being told around */
    world.now_ns += 9000LL * NS_PER_MS;
    assert_int_not_equal(look(), LK_OK);
    assert_owner(11);
    world.now_ns += 2000LL * NS_PER_MS;
    (void)look();
    assert_int_equal(look(), LK_OK);
    assert_owner(12);
}

/* ---- clusters ---------------------------------------------------------------------------------------- */

/* The URL's may be other names of the same servers: every look would cut all connections. */
TEST(servers_that_are_known_are_asked_before_those_of_the_url)
{
    assert_int_equal(look(), LK_OK);
    assert_string_equal(world.asked, "localhost:1 ");
    for (int i = 0; i < 6; i++) {
        assert_int_equal(look(), LK_OK);
        assert_null(strstr(world.asked, "localhost"));
    }
    assert_int_equal(world.changes, 1);
    world.answers[1].is_away = world.answers[3].is_away = true;
    world.answers[2].is_away = true;
    assert_int_not_equal(look(), LK_OK);
    assert_non_null(strstr(world.asked, "127.0.0.1:1 "));
    assert_non_null(strstr(world.asked, "localhost:2 "));
}

TEST(another_server_is_asked_each_time)
{
    char before[ASKED_MAX];

    assert_int_equal(look(), LK_OK);
    assert_int_equal(look(), LK_OK);
    for (int i = 0; i < 4; i++) {
        (void)snprintf(before, sizeof before, "%s", world.asked);
        assert_int_equal(look(), LK_OK);
        assert_string_not_equal(world.asked, before);
    }
}

/* A slot that is on its way to a master without any: nobody lists that yet. */
TEST(a_server_named_by_a_redirection_is_not_cut_off_by_a_look)
{
    assert_int_equal(look(), LK_OK);
    struct lki_node *node = name_server("127.0.0.1:4");
    world.now_ns += 9000LL * NS_PER_MS;
    assert_int_equal(look(), LK_OK);

    assert_false(lki_pool_is_down(node->pool));
    struct lki_node *again = name_server("127.0.0.1:4");
    assert_ptr_equal(again, node);
    lki_node_unref(again);
    world.now_ns += 11000LL * NS_PER_MS; /* nobody names it any more */
    assert_int_equal(look(), LK_OK);
    assert_true(lki_pool_is_down(node->pool));
    lki_node_unref(node);
}

TEST(a_server_that_was_listed_and_is_not_any_more_is_cut_off)
{
    assert_int_equal(look(), LK_OK);
    struct lki_node *node = name_server("127.0.0.1:3");
    for (size_t port = 1; port <= PORTS_MAX; port++)
        world.answers[port] = (struct answer){.primaries = {1, 2}};
    assert_int_equal(look(), LK_OK);
    assert_true(lki_pool_is_down(node->pool));
    lki_node_unref(node);
}

TEST(slots_keep_their_owner_when_a_server_before_it_goes)
{
    for (size_t port = 1; port <= PORTS_MAX; port++)
        world.answers[port].owner = 2;
    assert_int_equal(look(), LK_OK);
    assert_owner(3);
    for (size_t port = 1; port <= PORTS_MAX; port++)
        world.answers[port] = (struct answer){.primaries = {4, 2, 3}, .owner = 2};
    assert_int_equal(look(), LK_OK);
    assert_owner(3);
    assert_int_equal(world.changes, 2);
}

TEST(a_redirection_without_address_changes_nothing)
{
    static const char *const addresses[] = {"", ":", ":0", "127.0.0.1", "127.0.0.1:", "a:99999"};

    assert_int_equal(look(), LK_OK);
    struct lki_node *named_by = lki_topology_node(world.topology, SLOT, NULL);
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++)
        lki_topology_moved(world.topology, SLOT, lk_bytes_of(addresses[i]), named_by);
    assert_owner(1);
    lki_topology_moved(world.topology, SLOT, lk_bytes_of(":3"), named_by); /* where it was told */
    lki_node_unref(named_by);
    assert_owner(3);
}

FIXTURE(start_cluster, end);
