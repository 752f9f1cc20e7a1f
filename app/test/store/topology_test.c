/*
 * Which kind of Redis a URL means, and what is promised of it.
 */
#include "store/topology.h"
#include "test/support/testing.h"

TEST(the_scheme_tells_the_kind)
{
    static const struct {
        const char *url;
        topology_kind kind;
        const char *name;
    } cases[] = {
        {"redis://h", TOPOLOGY_SINGLE, "single"},
        {"unix:///redis+cluster://", TOPOLOGY_SINGLE, "single"},
        {"", TOPOLOGY_SINGLE, "single"},
        {"redis+sentinel://u:p@a,b/main/0", TOPOLOGY_SENTINEL, "sentinel"},
        {"redis+cluster://a,b", TOPOLOGY_CLUSTER, "cluster"},
        {"rediss+sentinel://a/main", TOPOLOGY_SENTINEL, "sentinel"},
        {"rediss+cluster://a,b", TOPOLOGY_CLUSTER, "cluster"},
        {"redisss+cluster://a,b", TOPOLOGY_SINGLE, "single"},
        {"redis+cluster:", TOPOLOGY_SINGLE, "single"}, /* lockkit refuses it */
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(topology_kind_of(cases[i].url), cases[i].kind);
        assert_string_equal(topology_name(cases[i].kind), cases[i].name);
    }
}

TEST(no_topology_is_one_server_that_never_changes)
{
    assert_int_equal(topology_changes(NULL), 0);
    assert_false(topology_may_go_back(NULL));
    assert_false(topology_is_synced(NULL));
    assert_true(topology_may_go_back(&(struct topology){.changes = 1})); /* behind its name */
}

TEST(a_failover_is_never_promised_to_cost_nothing_without_replicas_waited_for)
{
    for (int kind = TOPOLOGY_SINGLE; kind < TOPOLOGY_COUNT; kind++) {
        struct topology topology = {.kind = (topology_kind)kind};
        const char *async = topology_promise(&topology);

        assert_int_equal(topology_may_go_back(&topology), kind != TOPOLOGY_SINGLE);
        if (kind != TOPOLOGY_SINGLE) assert_non_null(strstr(async, "can be lost"));
        topology.sync_replicas = 1;
        assert_true(topology_is_synced(&topology));
        assert_string_not_equal(topology_promise(&topology), async);
        assert_non_null(strstr(topology_promise(&topology), "not to one that had it not"));
    }
}
