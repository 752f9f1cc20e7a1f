/*
 * The bench on the real service, as small as it gets: a row of each kind, the shape of result.json,
 * and that nothing outlives it. How fast anything is, is not looked at.
 */
#include "test/support/lt_load.h"
#include "test/support/testing.h"

static void check_row(const json_t *row, const char *name, const char *better)
{
    const json_t *repeats = json_object_get(row, "repeats");

    assert_string_equal(name, lt_load_text(row, "name"));
    assert_true(strlen(lt_load_text(row, "figure")) > 0);
    assert_string_equal(better, lt_load_text(row, "better"));
    assert_true(lt_load_number(row, "must") > 0);
    assert_true(lt_load_number(row, "aim") > 0);
    assert_true(lt_load_number(row, "value") > 0);
    assert_true(json_is_boolean(json_object_get(row, "ok")));
    assert_true(json_is_null(json_object_get(row, "void")));
    assert_int_equal(1, json_array_size(repeats));
    assert_true(json_number_value(json_array_get(repeats, 0)) > 0);
}

static void check_cost(const json_t *cost, double batch)
{
    assert_string_equal("script", lt_load_text(cost, "guard"));
    assert_int_equal(batch, lt_load_number(cost, "batch"));
    assert_true(lt_load_number(cost, "accepted") > 0);
    assert_true(lt_load_number(cost, "round_trips_per_order.median") > 0);
    assert_true(lt_load_number(cost, "commands_per_order.median") > 0);
    assert_true(json_object_size(json_object_get(cost, "commands")) > 0);
}

static void check_machine(const json_t *machine)
{
    static const char *const versions[] = {"versions.seckilld", "versions.redis", "versions.wrk",
                                           "versions.civetweb", "versions.hiredis"};

    assert_true(strlen(lt_load_text(machine, "cpu")) > 0);
    assert_true(lt_load_number(machine, "cores") > 0);
    assert_int_equal(0, strncmp(lt_load_text(machine, "kernel"), "Linux", 5));
    assert_true(strlen(lt_load_text(machine, "commit")) > 0);
    assert_true(lt_load_number(machine, "append_ms") > 0);
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        assert_string_not_equal("?", lt_load_text(machine, versions[i]));
    assert_string_equal("yes", lt_load_text(machine, "aof.appendonly"));
    assert_string_equal("always", lt_load_text(machine, "aof.appendfsync"));
}

TEST(every_kind_of_row_is_measured)
{
    const char *said = lt_load_run(*state,
                                   "--bench --repeat 1 --duration 1 --orders 2000 --seed 5 --only "
                                   "refusal-livez-64 --only service-memory --only redis-memory "
                                   "--only cost-script",
                                   0);

    assert_non_null(strstr(said, "seed 5,"));
    assert_non_null(strstr(said, "4 KiB appended and synced in "));
    json_t *result = lt_load_result(*state);
    const json_t *rows = json_object_get(result, "rows");
    const json_t *costs = json_object_get(result, "costs");
    assert_int_equal(3, json_array_size(rows));
    check_row(json_array_get(rows, 0), "refusal-livez-64", "higher");
    check_row(json_array_get(rows, 1), "service-memory", "lower");
    check_row(json_array_get(rows, 2), "redis-memory", "lower");
    assert_true(lt_load_number(json_array_get(rows, 0), "refused") > 0);
    assert_true(lt_load_number(result, "redis_memory.orders") >= 2000);
    assert_int_equal(2, json_array_size(costs));
    assert_true(lt_load_number(json_array_get(costs, 0), "batch") > 1);
    check_cost(json_array_get(costs, 0), lt_load_number(json_array_get(costs, 0), "batch"));
    check_cost(json_array_get(costs, 1), 1);
    check_machine(json_object_get(result, "machine"));
    assert_int_equal(5, lt_load_number(result, "settings.seed"));
    json_decref(result);
}

/* A primary with a replica, a cluster, lock servers, TLS. A busy machine may refuse purchases: then the
 * row is void and the status 3, but measured it is. */
TEST(rows_with_several_redis_servers_are_measured)
{
    static const char *const names[] = {"purchase-sync", "cluster-sales", "segments",
                                        "purchase-tls-64"};
    const struct lt_outcome *outcome =
        lt_load_try(*state, "--bench --repeat 1 --duration 1 --only purchase-sync --only cluster "
                            "--only segments "
                            "--only cost-redlock --only purchase-tls-64 "
                            "--only ladder-everysec-script --only ladder-synced-fenced");

    if (outcome->status != 0) print_message("%s\n", outcome->output);
    assert_true(outcome->status == 0 || outcome->status == 3);
    json_t *result = lt_load_result(*state);
    const json_t *rows = json_object_get(result, "rows");
    const json_t *costs = json_object_get(result, "costs");
    assert_int_equal(4, json_array_size(rows));
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(names[i], lt_load_text(json_array_get(rows, i), "name"));
        assert_true(lt_load_number(json_array_get(rows, i), "value") > 0);
        assert_true(lt_load_number(json_array_get(rows, i), "accepted") > 0);
    }
    assert_int_equal(2, json_array_size(costs));
    assert_string_equal("redlock", lt_load_text(json_array_get(costs, 0), "guard"));
    assert_true(lt_load_number(json_array_get(costs, 0), "accepted") > 0);
    const json_t *ladder = json_object_get(result, "ladder");
    assert_int_equal(2, json_array_size(ladder));
    assert_string_equal("AOF everysec", lt_load_text(json_array_get(ladder, 0), "stores"));
    assert_string_equal("synced", lt_load_text(json_array_get(ladder, 1), "place"));
    for (size_t i = 0; i < 2; i++)
        assert_true(lt_load_number(json_array_get(ladder, i), "accepted") > 0);
    assert_non_null(json_object_get(json_array_get(ladder, 0), "p99_ms"));
    const json_t *simulated = json_object_get(json_object_get(result, "scaling"), "simulated");
    assert_int_equal(7, json_array_size(simulated)); /* 1 .. 64 masters */
    assert_true(lt_load_number(json_array_get(simulated, 6), "orders_per_s.median") >
                lt_load_number(json_array_get(simulated, 0), "orders_per_s.median"));
    json_decref(result);
}

FIXTURE(lt_load_open, lt_load_close);
