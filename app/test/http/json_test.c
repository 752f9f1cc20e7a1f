/*
 * Bodies: what is taken, what is refused by the name of its member, and what a sale looks like.
 */
#include "http/json.h"
#include "test/support/app_stack.h"
#include "test/support/testing.h"

TEST(a_purchase_is_one_unit)
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

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct json_error error = {0};

        assert_int_equal(json_read_purchase(cases[i].body, strlen(cases[i].body), NULL, &error),
                         cases[i].field == NULL);
        if (cases[i].field) assert_string_equal(error.field, cases[i].field);
        if (cases[i].field) assert_non_null(error.detail);
    }
}

struct nested {
    size_t depth;
    bool is_taken;
    struct json_error error;
};

static void read_nested(void *arg)
{
    struct nested *nested = arg;
    char body[5000];

    memset(body, '[', nested->depth);
    nested->is_taken = json_read_purchase(body, nested->depth, NULL, &nested->error);
}

TEST(nesting_is_refused_and_takes_no_stack)
{
    static const size_t depths[] = {17, 100, 865, 2048, 2049, 4000};
    struct nested flat = {.depth = 1};
    size_t usual = app_stack_use(read_nested, &flat);

    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        struct nested deep = {.depth = depths[i]};

        assert_true(app_stack_use(read_nested, &deep) <= usual);
        assert_false(deep.is_taken);
        assert_string_equal(deep.error.field, "body");
        assert_string_equal(deep.error.detail, "The body is nested too deeply.");
    }
}

TEST(a_name_is_cut_between_characters)
{
    static const char *const starts[] = {"a", "aa"};
    char body[200];
    struct json_error error = {0};

    for (size_t i = 0; i < 2; i++) {
        char name[81] = "";

        for (size_t k = 0; k + 1 < sizeof name; k++)
            name[k] = "\xc3\xbc"[k % 2];
        (void)snprintf(body, sizeof body, "{\"%s%s\":1}", starts[i], name);
        assert_false(json_read_purchase(body, strlen(body), NULL, &error));
        assert_int_equal(strlen(error.field), sizeof error.field - 1 - i);
        assert_string_equal(error.field + strlen(error.field) - 2, "\xc3\xbc");
    }
}

TEST(a_raw_nul_is_refused)
{
    static const char body[] = "{\"qty\":1}\0";
    struct json_error error = {0};

    assert_false(json_read_purchase(body, sizeof body - 1, NULL, &error));
}

TEST(a_sale_is_read_whole)
{
    static const char body[] = "{\"id\":\"tea\",\"title\":\"T\",\"stock\":5,\"guard\":\"script\","
                               "\"startsAt\":\"2026-11-20T10:00:00Z\",\"endsAt\":null}";
    struct json_error error = {0};
    struct sale sale = {0};

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

TEST(a_bad_sale_changes_nothing)
{
    static const char body[] = "{\"id\":\"tea\",\"stock\":5,\"more\":1}";
    struct json_error error = {0};
    struct sale sale = {.initial = 77};

    assert_false(json_read_sale(body, sizeof body - 1, &sale, &error));
    assert_string_equal(error.field, "more");
    assert_int_equal(sale.initial, 77);
    assert_string_equal(sale.id, "");
}

TEST(a_sale_is_written_for_each_reader)
{
    struct sale sale = {.id = "tea",
                        .title = "\"T\"",
                        .guard = "mutex",
                        .stored_state = "open",
                        .initial = 5,
                        .restocked = 3,
                        .left = 4,
                        .starts_ms = 1000,
                        .epoch = 1,
                        .now_ms = 2000};
    static const char shared[] = "{\"id\":\"tea\",\"title\":\"\\\"T\\\"\",\"state\":\"active\","
                                 "\"startsAt\":\"1970-01-01T00:00:01.000Z\",\"endsAt\":null,"
                                 "\"initialStock\":5,\"restocked\":3,"
                                 "\"remaining\":4,\"perUserLimit\":1,\"epoch\":1,"
                                 "\"serverTime\":\"1970-01-01T00:00:02.000Z\"";
    char *text = json_of_sale(&sale, JSON_FOR_BUYERS);

    assert_memory_equal(text, shared, sizeof shared - 1);
    assert_string_equal(text + sizeof shared - 1, "}");
    free(text);
    text = json_of_sale(&sale, JSON_FOR_OPERATORS);
    assert_string_equal(text + sizeof shared - 1, ",\"guard\":\"mutex\"}");
    free(text);
    sale.cooling = 2;
    sale.sellable_ms = 3000;
    text = json_of_sale(&sale, JSON_FOR_BUYERS); /* need not know it before */
    assert_string_equal(text + sizeof shared - 1, "}");
    free(text);
    text = json_of_sale(&sale, JSON_FOR_OPERATORS);
    assert_string_equal(text + sizeof shared - 1, ",\"guard\":\"mutex\",\"cooling\":2,"
                                                  "\"sellableAt\":\"1970-01-01T00:00:03.000Z\"}");
    free(text);
    sale.title[0] = '\xff'; /* somebody wrote nonsense into Redis */
    assert_null(json_of_sale(&sale, JSON_FOR_BUYERS));
}

TEST(a_patch_says_what_changes)
{
    static const char body[] = "{\"title\":\"T\",\"endsAt\":null}";
    struct json_error error = {0};
    struct json_patch patch;

    assert_true(json_read_patch(body, sizeof body - 1, &patch, &error));
    assert_string_equal(patch.patch.title, "T");
    assert_int_equal(patch.patch.starts_ms, -1);
    assert_int_equal(patch.patch.ends_ms, 0);
    assert_true(json_read_patch("{\"startsAt\":\"1970-01-01T00:00:01Z\"}", 35, &patch, &error));
    assert_null(patch.patch.title);
    assert_int_equal(patch.patch.starts_ms, 1000);
    assert_int_equal(patch.patch.ends_ms, -1);
}

TEST(bad_steps_are_named)
{
    static const struct {
        json_reader *read;
        const char *body, *field; /* field NULL: taken */
    } cases[] = {
        {json_read_nothing, "", NULL},       {json_read_nothing, "{}", NULL},
        {json_read_nothing, " { } ", NULL},  {json_read_nothing, "{\"a\":1}", "a"},
        {json_read_nothing, "null", "body"}, {json_read_nothing, "{}{}", "body"},
    };
    static const struct {
        const char *body, *field;
    } restocks[] = {{"{\"units\":1}", NULL},
                    {"{\"units\":100000000}", NULL},
                    {"", "body"},
                    {"{}", "units"},
                    {"{\"units\":null}", "units"},
                    {"{\"units\":1e2}", "units"},
                    {"{\"units\":9223372036854775808}", "body"},
                    {"{\"units\":1,\"units\":1}", "units"}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct json_error error = {0};

        assert_int_equal(cases[i].read(cases[i].body, strlen(cases[i].body), NULL, &error),
                         cases[i].field == NULL);
        if (cases[i].field) assert_string_equal(error.field, cases[i].field);
    }
    for (size_t i = 0; i < sizeof restocks / sizeof restocks[0]; i++) {
        struct json_error error = {0};
        int64_t units = 0;

        assert_int_equal(
            json_read_restock(restocks[i].body, strlen(restocks[i].body), &units, &error),
            restocks[i].field == NULL);
        if (restocks[i].field) assert_string_equal(error.field, restocks[i].field);
        assert_int_equal(units > 0, restocks[i].field == NULL);
    }
}

TEST(an_audit_is_labelled_and_shows_what_is_not_known)
{
    struct sale_audit audit = {.reading = {.orders = 1,
                                           .left = AUDIT_NONE,
                                           .initial = 3,
                                           .epoch = 1,
                                           .last_left = AUDIT_NONE,
                                           .last_epoch = AUDIT_NONE,
                                           .now_ms = 1000}};

    sale_audit_judge(&audit);
    char *text = json_of_audit(&audit, "tea", "here");
    assert_non_null(text);
    assert_non_null(strstr(text, "\"view\":\"service\",\"instance\":\"here\""));
    assert_non_null(strstr(text, "\"verdict\":\"fail\",\"orders\":1,\"remaining\":null,"));
    assert_non_null(strstr(text, "{\"name\":\"units-add-up\",\"verdict\":\"unknown\""));
    free(text);
}
