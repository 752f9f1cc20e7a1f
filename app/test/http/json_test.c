/*
 * Bodies: what is taken, what is refused by the name of its member, and what a sale looks like.
 */
#include "http/json.h"
#include "test/support/app_stack.h"
#include "test/support/app_texts.h"
#include "test/support/testing.h"

/* All of these bodies are taken, or (field not NULL) refused for that. */
static void reads_as(json_reader *read, void *out, const char *bodies, const char *field)
{
    const char *body = NULL;

    for (size_t i = 0; (body = texts_at(bodies, i)); i++) {
        struct json_error error = {0};

        if (read(body, strlen(body), out, &error) != (field == NULL)) fail_msg("%s", body);
        if (field && strcmp(error.field, field) != 0) fail_msg("%s: %s", body, error.field);
        if (field) assert_non_null(error.detail);
    }
}

TEST(a_purchase_is_one_unit)
{
    static const struct {
        const char *field, *bodies; /* field NULL: taken */
    } cases[] = {
        {NULL, "|{}|{`qty`:1}| { `qty` : 1 } "},
        {"qty", "{`qty`:2}|{`qty`:1.0}|{`qty`:true}|{`qty`:null}|{`qty`:1,`qty`:99}"},
        {"user", "{`qty`:1,`user`:`x`}"},
        {"", "{``:1}"},
        {"body",
         "{`qty`:1}{}|{`qty`:1,}|null|`qty`|{`qty`:`\\u0000`}|{`qty`:`\xff`}|{`qty`:1e400}"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        reads_as(json_read_purchase, NULL, cases[i].bodies, cases[i].field);
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
    int64_t units = 0;

    reads_as(json_read_nothing, NULL, "|{}| { } ", NULL);
    reads_as(json_read_nothing, NULL, "{`a`:1}", "a");
    reads_as(json_read_nothing, NULL, "null|{}{}", "body");
    reads_as(json_read_restock, &units, "{}|{`units`:null}|{`units`:1e2}|{`units`:1,`units`:1}",
             "units");
    reads_as(json_read_restock, &units, "|{`units`:9223372036854775808}", "body");
    assert_int_equal(units, 0);
    reads_as(json_read_restock, &units, "{`units`:1}", NULL);
    assert_int_equal(units, 1);
    reads_as(json_read_restock, &units, "{`units`:100000000}", NULL);
    assert_int_equal(units, 100000000);
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
