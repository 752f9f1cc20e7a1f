/*
 * The rows of the bench that need several Redis servers, as small as they get. How fast anything is,
 * is not looked at.
 */
#include <jansson.h>

#include "test/support/lt_place.h"
#include "test/support/testing.h"

enum { LIMIT_MS = 90000 };

static int open_place(void **state)
{
    static struct lt_place place;
    *state = &place;
    return lt_place_open(&place) ? 0 : -1;
}

static int close_place(void **state)
{
    lt_place_close(*state);
    return 0;
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    assert_non_null(text);
    return text;
}

static double number_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

/* A primary with a replica, a cluster, lock servers, TLS. A busy machine may refuse purchases: then the
 * row is void and the status 3, but measured it is. */
TEST(rows_with_several_redis_servers_are_measured)
{
    const struct lt_place *place = *state;
    static struct lt_outcome outcome;
    char path[LT_PATH_MAX + 64];
    char out[LT_PATH_MAX + 32];
    const char *const argv[] = {
        "loadtest", "--bench",         "--repeat", "1",       "--duration", "1",
        "--only",   "purchase-sync",   "--only",   "cluster", "--only",     "cost-redlock",
        "--only",   "purchase-tls-64", "--out",    out,       NULL};

    (void)snprintf(out, sizeof out, "%s/out", place->dir);
    assert_true(lt_run(place, argv, LIMIT_MS, &outcome));
    if (outcome.status != 0) print_message("%s\n", outcome.output);
    assert_true(outcome.status == 0 || outcome.status == 3);
    (void)snprintf(path, sizeof path, "%s/result.json", out);
    json_t *result = json_load_file(path, 0, NULL);
    assert_non_null(result);
    const json_t *rows = json_object_get(result, "rows");
    const json_t *costs = json_object_get(result, "costs");
    assert_int_equal(3, json_array_size(rows));
    assert_string_equal("purchase-sync", text_of(json_array_get(rows, 0), "name"));
    assert_string_equal("cluster-sales", text_of(json_array_get(rows, 1), "name"));
    assert_string_equal("purchase-tls-64", text_of(json_array_get(rows, 2), "name"));
    for (size_t i = 0; i < 3; i++) {
        assert_true(number_of(json_array_get(rows, i), "value") > 0);
        assert_true(number_of(json_array_get(rows, i), "accepted") > 0);
    }
    assert_int_equal(2, json_array_size(costs));
    assert_string_equal("redlock", text_of(json_array_get(costs, 0), "guard"));
    assert_true(number_of(json_array_get(costs, 0), "accepted") > 0);
    json_decref(result);
    assert_int_equal(0, lt_place_count_processes(place));
}

FIXTURE(open_place, close_place);
