/*
 * Which tags match, and what the table of pages holds.
 */
#include "serve/pages.h"
#include "test/support/testing.h"

TEST(tags_match_in_lists_and_weakly)
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

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(pages_tag_matches(cases[i].none_match, "\"a\""), cases[i].matches);
}

TEST(every_page_is_found_by_its_path_alone)
{
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

TEST(types_follow_from_names)
{
    assert_string_equal(pages_find("/")->type, "text/html; charset=utf-8");
    assert_string_equal(pages_find("/assets/shared/base.css")->type, "text/css; charset=utf-8");
    assert_string_equal(pages_find("/assets/shared/api.js")->type,
                        "text/javascript; charset=utf-8");
    assert_string_equal(pages_find("/assets/shared/icon.svg")->type, "image/svg+xml");
    assert_memory_equal(pages_find("/")->bytes, "<!doctype html>", 15);
}
