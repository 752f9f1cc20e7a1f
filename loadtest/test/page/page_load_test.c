/*
 * Which files a report takes, and what it says of the others.
 */
#include <unistd.h>

#include "page/page.h"
#include "test/support/testing.h"

static char path[] = "/tmp/page-load-XXXXXX";

static int make_file(void **state)
{
    (void)state;
    (void)strcpy(path, "/tmp/page-load-XXXXXX");
    int fd = mkstemp(path);
    return fd >= 0 ? close(fd) : -1;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static bool load(struct page_results *results, const char *text, struct failure *failure)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(0, fclose(file));
    return page_load(results, path, failure);
}

static const char sweep[] = "{\"mode\":\"sweep\",\"points\":[{\"guard\":\"mutex\","
                            "\"purchases_per_s\":{\"repeats\":[1]}}]}";

TEST(a_file_is_known_by_its_mode)
{
    struct page_results results = {.roots = {NULL}};

    assert_true(load(&results, sweep, NULL));
    assert_non_null(results.roots[PAGE_SWEEP]);
    assert_ptr_equal(path, results.files[PAGE_SWEEP]);
    page_unload(&results);
    assert_null(results.roots[PAGE_SWEEP]);
}

TEST(a_second_of_its_kind_is_refused)
{
    struct page_results results = {.roots = {NULL}};
    struct failure failure = {.text = ""};

    assert_true(load(&results, sweep, NULL));
    assert_false(page_load(&results, path, &failure));
    assert_non_null(strstr(failure.text, "is a sweep, and so is"));
    page_unload(&results);
}

TEST(what_is_wrong_is_said)
{
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"", "is no JSON"},
        {"{\"mode\":\"sweep\",", "is no JSON"},
        {"[]", "is no result of loadtest or lockbench"},
        {"{\"mode\":7}", "is no result of loadtest or lockbench"},
        {"{\"mode\":\"vegeta\"}", "is no result of loadtest or lockbench"},
        {"{\"mode\":\"sweep\"}", "without \"guard\" in \"points\""},
        {"{\"mode\":\"sweep\",\"points\":[]}", "loadtest --sweep all"},
        {"{\"mode\":\"sweep\",\"points\":[{\"guard\":7}]}", "without \"guard\" in \"points\""},
        {"{\"mode\":\"verify\",\"runs\":[{}]}", "without \"load\" in \"runs\""},
        {"{\"mode\":\"compare\"}", "make it anew: loadtest --guard all"},
        {"{\"mode\":\"locks\",\"rows\":[]}", "make it anew: lockbench --json FILE"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct page_results results = {.roots = {NULL}};
        struct failure failure = {.text = ""};
        assert_false(load(&results, cases[i].text, &failure));
        assert_non_null(strstr(failure.text, path));
        if (!strstr(failure.text, cases[i].said)) print_message("%s\n", failure.text);
        assert_non_null(strstr(failure.text, cases[i].said));
        page_unload(&results);
    }
}

TEST_WITH(a_file_that_is_not_there_is_named, NULL, NULL)
{
    struct page_results results = {.roots = {NULL}};
    struct failure failure = {.text = ""};

    assert_false(page_load(&results, "/nonexistent/x.json", &failure));
    assert_non_null(strstr(failure.text, "/nonexistent/x.json"));
    assert_non_null(strstr(failure.text, "No such file"));
}

FIXTURE(make_file, remove_file);
