/*
 * What a Redis says of itself, and whether it may keep orders.
 */
#include "start/startup.h"
#include "test/support/testing.h"

#define GOOD "# Server\r\nredis_version:7.0.15\r\n\r\n# Replication\r\nrole:master\r\n"

/* Facts out of a text of INFO and settings as "name value" lines. */
static struct startup_facts facts_of(const char *info, const char *const settings[8])
{
    struct startup_facts facts = {.max_memory = -1};

    startup_read_info(info, &facts);
    for (size_t i = 0; settings[i]; i += 2)
        startup_read_setting(settings[i], settings[i + 1], &facts);
    return facts;
}

TEST(an_unfit_redis_is_refused_with_the_way_out)
{
    static const struct {
        const char *info;
        const char *settings[8];
        const char *says; /* NULL: it is fit */
    } cases[] = {
        {GOOD, {NULL}, NULL},
        {"", {NULL}, NULL}, /* nothing may be asked */
        {GOOD "maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n", {NULL}, NULL},
        {GOOD "maxmemory:1048576\r\nmaxmemory_policy:noeviction\r\n", {NULL}, NULL},
        {GOOD "maxmemory:1048576\r\nmaxmemory_policy:allkeys-lru\r\n",
         {NULL},
         "redis: maxmemory 1048576 with maxmemory-policy allkeys-lru: orders and locks could be "
         "evicted; set maxmemory-policy noeviction"},
        {GOOD,
         {"maxmemory", "100", "maxmemory-policy", "volatile-ttl"},
         "redis: maxmemory 100 with maxmemory-policy volatile-ttl: orders and locks could be "
         "evicted; set maxmemory-policy noeviction"},
        {"redis_version:7.0.15\r\nrole:slave\r\n",
         {NULL},
         "redis: role slave: a replica cannot sell; give --redis the address of its master"},
        {"redis_version:6.0.16\r\nrole:master\r\n",
         {NULL},
         "redis: version 6.0.16 is too old; use 6.2 or later"},
        {"redis_version:5.0.14\n", {NULL}, "redis: version 5.0.14 is too old; use 6.2 or later"},
        {"redis_version:6.2.0\r\n", {NULL}, NULL},
        {"redis_mode:standalone\r\n" GOOD, {NULL}, NULL},
        {"redis_mode:cluster\r\n" GOOD,
         {NULL},
         "redis: it is one of a cluster; give --redis redis+cluster:// and some of its addresses"},
        {"redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.0.1\r\n", {NULL}, NULL},
        {"redis_version:10.0.0\r\n", {NULL}, NULL},
        {"old_redis_version:1.0.0\r\nrole\r\n:\r\n::\r\n", {NULL}, NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct startup_facts facts = facts_of(cases[i].info, cases[i].settings);
        struct start_error why = {0};

        assert_int_equal(startup_judge(&facts, DEPLOYMENT_SINGLE, &why), cases[i].says == NULL);
        assert_string_equal(why.text, cases[i].says ? cases[i].says : "");
    }
}

TEST(of_several_servers_the_unfit_one_is_named)
{
    static const struct {
        const char *info;
        const char *says;
    } cases[] = {
        {"redis_mode:cluster\r\n" GOOD, ""},
        {"redis_version:6.0.16\r\nrole:master\r\n",
         "redis 10.0.0.1:7001: version 6.0.16 is too old; use 6.2 or later"},
        {"redis_version:7.0.15\r\nrole:slave\r\n",
         "redis 10.0.0.1:7001: role slave: a replica cannot sell; give --redis the address of its "
         "master"},
        {GOOD "maxmemory:9\r\nmaxmemory_policy:allkeys-lru\r\n",
         "redis 10.0.0.1:7001: maxmemory 9 with maxmemory-policy allkeys-lru: orders and locks "
         "could "
         "be evicted; set maxmemory-policy noeviction"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct startup_facts facts = {.server = "10.0.0.1:7001", .max_memory = -1};
        struct start_error why = {0};

        startup_read_info(cases[i].info, &facts);
        assert_int_equal(startup_judge(&facts, DEPLOYMENT_CLUSTER, &why), !cases[i].says[0]);
        assert_string_equal(why.text, cases[i].says);
    }
}

TEST(of_several_servers_the_worst_counts)
{
    static const struct startup_facts servers[] = {
        {.server = "a:1", .version = "7.2.4", .replicas = 2, .durability = DURABILITY_ALWAYS},
        {.server = "b:1", .version = "7.10.0", .replicas = 1, .durability = DURABILITY_EVERYSEC},
        {.server = "c:1", .version = "6.2.14", .replicas = 3, .durability = DURABILITY_ALWAYS},
    };
    static const size_t orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}};

    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        struct startup_facts worst = {.replicas = -1};

        for (size_t k = 0; k < 3; k++)
            startup_merge_worst(&servers[orders[i][k]], &worst);
        assert_string_equal(worst.version, "6.2.14");
        assert_string_equal(worst.server, "b:1");
        assert_int_equal(worst.durability, DURABILITY_EVERYSEC);
        assert_int_equal(worst.replicas, 1);
    }
}

TEST(replicas_are_counted)
{
    struct startup_facts facts = {.replicas = -1};

    startup_read_info(GOOD "connected_slaves:2\r\nslave0:ip=1\r\n", &facts);
    assert_int_equal(facts.replicas, 2);
}

TEST(durability_follows_from_the_settings)
{
    static const struct {
        const char *info;
        const char *settings[8];
        durability durability;
    } cases[] = {
        {"", {NULL}, DURABILITY_UNKNOWN},
        {"", {"appendonly", "yes", "appendfsync", "always"}, DURABILITY_ALWAYS},
        {"", {"appendonly", "yes", "appendfsync", "everysec"}, DURABILITY_EVERYSEC},
        {"", {"appendonly", "yes", "appendfsync", "no"}, DURABILITY_NO_FSYNC},
        {"aof_enabled:1\r\n", {NULL}, DURABILITY_UNKNOWN}, /* how often is not told */
        {"aof_enabled:0\r\n", {NULL}, DURABILITY_UNKNOWN},
        {"aof_enabled:0\r\n", {"save", ""}, DURABILITY_NONE},
        {"", {"appendonly", "no", "appendfsync", "always", "save", ""}, DURABILITY_NONE},
        {"", {"appendonly", "no", "save", "3600 1 300 100"}, DURABILITY_SNAPSHOTS},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct startup_facts facts = facts_of(cases[i].info, cases[i].settings);
        struct start_error why = {0};

        assert_true(startup_judge(&facts, DEPLOYMENT_SINGLE, &why));
        assert_int_equal(facts.durability, cases[i].durability);
        assert_true(startup_durability_name(facts.durability)[0]);
        assert_true(startup_durability_meaning(facts.durability)[0]);
    }
}

TEST(what_is_too_long_is_cut)
{
    char info[400];
    struct startup_facts facts = {.max_memory = -1};

    memset(info, 'x', sizeof info - 1);
    info[sizeof info - 1] = '\0';
    memcpy(info, "redis_version:", 14);
    startup_read_info(info, &facts);
    assert_int_equal(strlen(facts.version), sizeof facts.version - 1);
    startup_read_setting("save", info, &facts);
    assert_int_equal(strlen(facts.save), sizeof facts.save - 1);
}
