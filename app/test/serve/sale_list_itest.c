/*
 * The list of sales, page by page. What a flood of those who ask for it costs the others is in
 * sale_list_soak.c.
 */
#include <jansson.h>

#include "test/support/app_fixture.h"

enum { SALES = 1000, OUT_SIZE = 262144 };

static struct app_fixture world;
static char out[OUT_SIZE];
static json_t *seen; /* owned; ids, in the order in which they came */

BEFORE_ALL()
{
    app_fixture_begin(&world);
    app_fixture_start(&world, NULL, NULL);
    app_put_up_many(&world, SALES);
}

AFTER_ALL()
{
    json_decref(seen);
    assert_int_equal(app_fixture_end(&world), 0);
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* Follow the list from here to its end; how many pages it had. The ids are in seen. */
static int walk(const char *base, const char *path)
{
    char next[256];
    int pages = 0;

    json_decref(seen);
    seen = json_array();
    (void)snprintf(next, sizeof next, "%s", path);
    for (; next[0]; pages++) {
        size_t i = 0;
        const json_t *sale = NULL;

        app_http(&(struct app_call){.base = base, .path = next, .token = app_token(world.dir)},
                 &world.reply);
        if (world.reply.status != 200) fail_msg("%s: %ld", next, world.reply.status);
        json_t *page = json_loads(world.reply.body, 0, NULL);
        assert_non_null(page);
        json_array_foreach(json_object_get(page, "sales"), i, sale)(void)
            json_array_append(seen, json_object_get(sale, "id"));
        const char *link = json_string_value(json_object_get(page, "next"));
        (void)snprintf(next, sizeof next, "%s", link ? link : "");
        json_decref(page);
    }
    return pages;
}

/* Each id once, and each greater than the one before it. */
static void assert_seen(size_t count)
{
    assert_int_equal(json_array_size(seen), count);
    for (size_t i = 1; i < count; i++)
        assert_true(strcmp(json_string_value(json_array_get(seen, i - 1)),
                           json_string_value(json_array_get(seen, i))) < 0);
}

TEST(pages_lead_through_all_sales)
{
    static const struct {
        const char *query;
        int pages;
    } rows[] = {{"", 10}, {"?limit=100", 10}, {"?limit=99", 11}, {"?limit=7", 143}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[64];

        (void)snprintf(path, sizeof path, "/api/v1/sales%s", rows[i].query);
        assert_int_equal(walk(world.service.buyers, path), rows[i].pages);
        assert_seen(SALES);
        (void)snprintf(path, sizeof path, "/api/v1/admin/sales%s", rows[i].query);
        assert_int_equal(walk(world.service.admin, path), rows[i].pages);
        assert_seen(SALES);
    }
}

TEST(a_page_begins_behind_any_id)
{
    assert_int_equal(walk(world.service.buyers, "/api/v1/sales?after=s-998"), 1);
    assert_seen(1);
    assert_int_equal(walk(world.service.buyers, "/api/v1/sales?after=s-9977"), 1); /* not there */
    assert_seen(2);
    assert_int_equal(walk(world.service.buyers, "/api/v1/sales?after=z"), 1);
    assert_seen(0);
    assert_int_equal(app_status(&(struct app_call){.base = world.service.buyers,
                                                   .path = "/api/v1/sales?limit=101"}),
                     400);
}

static int ctl_list(const char *last)
{
    return app_run("seckillctl",
                   (const char *const[]){"--admin", world.service.admin, "--admin-token",
                                         world.token, "sale", "list", last, NULL},
                   out, sizeof out);
}

static size_t count_of(const char *what)
{
    size_t count = 0;

    for (const char *at = out; (at = strstr(at, what)); at++)
        count++;
    return count;
}

TEST(operators_see_all_of_them_at_once)
{
    assert_int_equal(ctl_list(NULL), 0);
    assert_int_equal(count_of("\n"), SALES + 1);
    assert_int_equal(count_of("\ns-"), SALES);
    assert_int_equal(ctl_list("--json"), 0);
    assert_int_equal(count_of("\"id\":"), SALES);
    assert_int_equal(count_of("\"next\":"), 0);
}
