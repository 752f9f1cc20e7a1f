/*
 * Bodies: what is taken, what is refused by the name of its member, and what a sale looks like.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "json.h"

static void a_purchase_is_one_unit(void **state)
{
    static const struct {
        const char *body, *field; /* field NULL: taken */
    } cases[] = {
        {"", NULL},
        {"{}", NULL},
        {"{\"qty\":1}", NULL},
        {" { \"qty\" : 1 } ", NULL},
        {"{\"qty\":2}", "qty"},
        {"{\"qty\":1.0}", "qty"},
        {"{\"qty\":true}", "qty"},
        {"{\"qty\":null}", "qty"},
        {"{\"qty\":1,\"qty\":99}", "qty"},
        {"{\"qty\":1,\"user\":\"x\"}", "user"},
        {"{\"\":1}", ""},
        {"{\"qty\":1}{}", "body"},
        {"{\"qty\":1,}", "body"},
        {"null", "body"},
        {"\"qty\"", "body"},
        {"{\"qty\":\"\\u0000\"}", "body"},
        {"{\"qty\":\"\xff\"}", "body"},
        {"{\"qty\":1e400}", "body"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct json_error error = {0};

        assert_int_equal(json_read_purchase(cases[i].body, strlen(cases[i].body), &error),
                         cases[i].field == NULL);
        if (cases[i].field) assert_string_equal(error.field, cases[i].field);
        if (cases[i].field) assert_non_null(error.detail);
    }
}

static void deep_nesting_is_refused(void **state)
{
    enum { DEPTH = 4000 };
    char body[DEPTH + 1];
    struct json_error error = {0};

    (void)state;
    memset(body, '[', DEPTH);
    body[DEPTH] = '\0';
    assert_false(json_read_purchase(body, DEPTH, &error));
    assert_string_equal(error.field, "body");
}

static void a_raw_nul_is_refused(void **state)
{
    static const char body[] = "{\"qty\":1}\0";
    struct json_error error = {0};

    (void)state;
    assert_false(json_read_purchase(body, sizeof body - 1, &error));
}

static void a_sale_is_read_whole(void **state)
{
    static const char body[] = "{\"id\":\"tea\",\"title\":\"T\",\"stock\":5,\"guard\":\"script\","
                               "\"startsAt\":\"2026-11-20T10:00:00Z\",\"endsAt\":null}";
    struct json_error error = {0};
    struct sale sale = {0};

    (void)state;
    assert_true(json_read_sale(body, sizeof body - 1, &sale, &error));
    assert_string_equal(sale.id, "tea");
    assert_string_equal(sale.title, "T");
    assert_string_equal(sale.guard, "script");
    assert_int_equal(sale.initial, 5);
    assert_int_equal(sale.starts_ms, 1795168800000);
    assert_int_equal(sale.ends_ms, 0);
    assert_true(json_read_sale("{\"id\":\"a\",\"stock\":1}", 20, &sale, &error));
    assert_string_equal(sale.title, "a");
    assert_string_equal(sale.guard, "");
}

static void a_bad_sale_changes_nothing(void **state)
{
    static const char body[] = "{\"id\":\"tea\",\"stock\":5,\"more\":1}";
    struct json_error error = {0};
    struct sale sale = {.initial = 77};

    (void)state;
    assert_false(json_read_sale(body, sizeof body - 1, &sale, &error));
    assert_string_equal(error.field, "more");
    assert_int_equal(sale.initial, 77);
    assert_string_equal(sale.id, "");
}

static void a_sale_is_written_for_each_reader(void **state)
{
    struct sale sale = {.id = "tea",
                        .title = "\"T\"",
                        .guard = "mutex",
                        .stored_state = "open",
                        .initial = 5,
                        .left = 4,
                        .starts_ms = 1000,
                        .epoch = 1,
                        .now_ms = 2000};
    static const char shared[] =
        "{\"id\":\"tea\",\"title\":\"\\\"T\\\"\",\"state\":\"active\","
        "\"startsAt\":\"1970-01-01T00:00:01.000Z\",\"endsAt\":null,\"initialStock\":5,"
        "\"remaining\":4,\"perUserLimit\":1,\"epoch\":1,"
        "\"serverTime\":\"1970-01-01T00:00:02.000Z\"";
    char *text = json_of_sale(&sale, JSON_FOR_BUYERS);

    (void)state;
    assert_memory_equal(text, shared, sizeof shared - 1);
    assert_string_equal(text + sizeof shared - 1, "}");
    free(text);
    text = json_of_sale(&sale, JSON_FOR_OPERATORS);
    assert_string_equal(text + sizeof shared - 1, ",\"guard\":\"mutex\"}");
    free(text);
    text = json_of_sales(&sale, 0, JSON_FOR_BUYERS);
    assert_string_equal(text, "{\"sales\":[]}");
    free(text);
    sale.title[0] = '\xff'; /* somebody wrote nonsense into Redis */
    assert_null(json_of_sale(&sale, JSON_FOR_BUYERS));
    assert_null(json_of_sales(&sale, 1, JSON_FOR_BUYERS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_purchase_is_one_unit),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(a_raw_nul_is_refused),
        cmocka_unit_test(a_sale_is_read_whole),
        cmocka_unit_test(a_bad_sale_changes_nothing),
        cmocka_unit_test(a_sale_is_written_for_each_reader),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
