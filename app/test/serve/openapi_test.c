/*
 * The description of the API against the tables it describes: routes, problems, references.
 */
#include "serve/documents.h"
#include "serve/routes.h"
#include "test/support/app_openapi.h"
#include "test/support/testing.h"

static int set_up(void **state)
{
    size_t len = 0;
    const char *text = documents_api(&len);

    *state = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    json_decref(*state);
    return 0;
}

static const json_t *paths_of(const json_t *document)
{
    return json_object_get(document, "paths");
}

static bool needs(const json_t *operation, const char *scheme)
{
    const json_t *first = json_array_get(json_object_get(operation, "security"), 0);

    return json_object_get(first, scheme) != NULL;
}

static bool is_on_port_of_operators(const json_t *item)
{
    const json_t *server = json_array_get(json_object_get(item, "servers"), 0);
    const char *who = json_string_value(json_object_get(server, "description"));

    return who && strcmp(who, "operators") == 0;
}

TEST(every_route_is_described)
{
    struct route_text route;

    for (size_t i = 0; routes_at(i, &route); i++) {
        const json_t *item = json_object_get(paths_of(*state), route.path);
        const json_t *operation = app_openapi_operation(*state, route.method, route.path);

        if (!operation) fail_msg("not described: %s %s", route.method, route.path);
        assert_int_equal(needs(operation, "operatorToken"), route.needs_token);
        assert_int_equal(is_on_port_of_operators(item),
                         route.is_for_operators && !route.is_for_buyers);
    }
}

static bool is_route(const char *method, const char *path)
{
    struct route_text route;

    for (size_t i = 0; routes_at(i, &route); i++) {
        if (strcasecmp(route.method, method) == 0 && strcmp(route.path, path) == 0) return true;
    }
    return false;
}

TEST(nothing_else_is_described)
{
    const char *path = NULL;
    const char *method = NULL;
    json_t *item = NULL;
    json_t *operation = NULL;

    json_object_foreach(json_object_get(*state, "paths"), path, item)
    {
        json_object_foreach(item, method, operation)
        {
            if (strcmp(method, "servers") != 0 && !is_route(method, path))
                fail_msg("no route: %s %s", method, path);
        }
    }
}

static void count_problem(const json_t *schema, size_t *count)
{
    const json_t *type = json_object_get(json_object_get(schema, "properties"), "type");
    const char *value = json_string_value(json_object_get(type, "const"));

    if (value && strncmp(value, "/problems/", 10) == 0) (*count)++;
}

TEST(every_problem_has_a_schema_and_a_page)
{
    json_t *schemas = json_object_get(json_object_get(*state, "components"), "schemas");
    struct http_problem_text problem;
    size_t described = 0;
    size_t known = 0;
    const char *name = NULL;
    json_t *schema = NULL;

    for (; http_problem_at(known, &problem); known++) {
        char type[64];
        char buffer[2048];
        struct text page = TEXT_OVER(buffer);
        const json_t *members =
            json_object_get(json_object_get(schemas, problem.name), "properties");

        (void)snprintf(type, sizeof type, "/problems/%s", problem.name);
        if (!members) fail_msg("not described: %s", type);
        assert_string_equal(
            json_string_value(json_object_get(json_object_get(members, "type"), "const")), type);
        assert_int_equal(
            json_integer_value(json_object_get(json_object_get(members, "status"), "const")),
            problem.status);
        if (!documents_add_problem(problem.name, &page)) fail_msg("no page: %s", type);
        assert_false(page.is_cut);
    }
    json_object_foreach(schemas, name, schema) count_problem(schema, &described);
    assert_int_equal(described, known);
}

TEST(there_is_no_page_for_other_names)
{
    char buffer[64];
    struct text page = TEXT_OVER(buffer);

    assert_false(documents_add_problem("", &page));
    assert_false(documents_add_problem("nothing", &page));
    assert_false(documents_add_problem("created", &page));
    assert_int_equal(page.len, 0);
}

/* Every "$ref" below a node leads somewhere; how many there are. */
static size_t check_references(const json_t *document, json_t *node)
{
    const char *name = NULL;
    json_t *one = NULL;
    size_t count = json_object_get(node, "$ref") != NULL;
    size_t i = 0;

    if (!app_openapi_resolve(document, node))
        fail_msg("nowhere: %s", json_string_value(json_object_get(node, "$ref")));
    json_object_foreach(node, name, one) count += check_references(document, one);
    json_array_foreach(node, i, one) count += check_references(document, one);
    return count;
}

TEST(every_reference_leads_somewhere)
{
    assert_true(check_references(*state, *state) > 100);
}

FIXTURE(set_up, tear_down);
