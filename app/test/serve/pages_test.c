/*
 * Which tags match, and what the table of pages holds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "serve/pages.h"

static void tags_match_in_lists_and_weakly(void **state)
{
    static const struct {
        const char *none_match;
        bool matches;
    } cases[] = {
        {NULL, false},           {"", false},       {"*", true},
        {"\"a\"", true},         {"W/\"a\"", true}, {"\"b\", \"a\"", true},
        {"\"b\",W/\"a\"", true}, {"\"a\" ", true},  {"\"b\"", false},
        {"\"ab\"", false},       {"a", false},      {"\"a", false},
        {"\"a\"\"", false},      {"W/", false},     {", ,", false},
        {"\"b\" \"a\"", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(pages_tag_matches(cases[i].none_match, "\"a\""), cases[i].matches);
}

static void every_page_is_found_by_its_path_alone(void **state)
{
    (void)state;
    for (const struct page *page = pages; page->path; page++) {
        assert_ptr_equal(pages_find(page->path), page); /* so no path is there twice */
        assert_true(page->len > 0);
        assert_int_equal(strlen(page->etag), 34);
    }
    assert_non_null(pages_find("/"));
    assert_non_null(pages_find("/lab"));
    assert_null(pages_find(""));
    assert_null(pages_find("/index.html"));
    assert_null(pages_find("/assets/"));
    assert_null(pages_find("/assets/buyer/index.html"));
    assert_null(pages_find("/assets/test/support.mjs"));
}

static void types_follow_from_names(void **state)
{
    (void)state;
    assert_string_equal(pages_find("/")->type, "text/html; charset=utf-8");
    assert_string_equal(pages_find("/assets/shared/base.css")->type, "text/css; charset=utf-8");
    assert_string_equal(pages_find("/assets/shared/api.js")->type,
                        "text/javascript; charset=utf-8");
    assert_string_equal(pages_find("/assets/shared/icon.svg")->type, "image/svg+xml");
    assert_memory_equal(pages_find("/")->bytes, "<!doctype html>", 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_match_in_lists_and_weakly),
        cmocka_unit_test(every_page_is_found_by_its_path_alone),
        cmocka_unit_test(types_follow_from_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
