/*
 * Which kind of Redis a URL means, and what is promised of it.
 */
#include "store/deployment.h"
#include "test/support/testing.h"

TEST(the_scheme_tells_the_kind)
{
    static const struct {
        const char *url;
        deployment_kind kind;
        const char *name;
    } cases[] = {
        {"redis://h", DEPLOYMENT_SINGLE, "single"},
        {"unix:///redis+cluster://", DEPLOYMENT_SINGLE, "single"},
        {"", DEPLOYMENT_SINGLE, "single"},
        {"redis+sentinel://u:p@a,b/main/0", DEPLOYMENT_SENTINEL, "sentinel"},
        {"redis+cluster://a,b", DEPLOYMENT_CLUSTER, "cluster"},
        {"rediss+sentinel://a/main", DEPLOYMENT_SENTINEL, "sentinel"},
        {"rediss+cluster://a,b", DEPLOYMENT_CLUSTER, "cluster"},
        {"redisss+cluster://a,b", DEPLOYMENT_SINGLE, "single"},
        {"redis+cluster:", DEPLOYMENT_SINGLE, "single"}, /* lockkit refuses it */
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(deployment_kind_of(cases[i].url), cases[i].kind);
        assert_string_equal(deployment_name(cases[i].kind), cases[i].name);
    }
}

TEST(no_topology_is_one_server_that_never_changes)
{
    assert_int_equal(deployment_changes(NULL), 0);
    assert_false(deployment_may_go_back(NULL));
    assert_false(deployment_is_synced(NULL));
    assert_true(deployment_may_go_back(&(struct deployment){.changes = 1})); /* behind its name */
}

TEST(a_failover_is_never_promised_to_cost_nothing_without_replicas_waited_for)
{
    for (int kind = DEPLOYMENT_SINGLE; kind < DEPLOYMENT_COUNT; kind++) {
        struct deployment deployment = {.kind = (deployment_kind)kind};
        const char *async = deployment_promise(&deployment);

        assert_int_equal(deployment_may_go_back(&deployment), kind != DEPLOYMENT_SINGLE);
        if (kind != DEPLOYMENT_SINGLE) assert_non_null(strstr(async, "can be lost"));
        deployment.sync_replicas = 1;
        assert_true(deployment_is_synced(&deployment));
        assert_string_not_equal(deployment_promise(&deployment), async);
        assert_non_null(strstr(deployment_promise(&deployment), "not to one that had it not"));
    }
}
