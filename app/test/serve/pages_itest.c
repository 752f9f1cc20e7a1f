/*
 * The pages as a service with its own Redis serves them: types, tags, what a browser is allowed, and
 * which methods there are.
 */
#include "serve/pages.h"
#include "test/support/app_fixture.h"

APP_SELLS(NULL, "--class", "1", NULL);

/* The port that has this path. */
static const char *base_of(const struct app_fixture *self, const char *path)
{
    bool is_for_operators = strcmp(path, "/dashboard") == 0 || strcmp(path, "/classroom") == 0;

    return is_for_operators ? self->service.admin : self->service.buyers;
}

static void ask(struct app_fixture *self, const char *method, const char *path,
                const char *none_match)
{
    char header[128] = "";

    if (none_match) (void)snprintf(header, sizeof header, "If-None-Match: %s", none_match);
    app_http(&(struct app_call){.method = method,
                                .base = base_of(self, path),
                                .path = path,
                                .headers = {none_match ? header : NULL}},
             &self->reply);
}

static void assert_header(const struct app_fixture *self, const char *name, const char *value)
{
    char line[512];

    (void)snprintf(line, sizeof line, "\r\n%s: %s\r\n", name, value);
    if (!strstr(self->reply.headers, line)) fail_msg("no%sin\n%s", line, self->reply.headers);
}

TEST(every_page_comes_with_its_type_and_its_bytes, struct app_fixture *self)
{
    for (const struct page *page = pages; page->path; page++) {
        char len[24];
        size_t seen = page->len < APP_REPLY_SIZE - 1 ? page->len : APP_REPLY_SIZE - 1;

        ask(self, "GET", page->path, NULL);
        (void)snprintf(len, sizeof len, "%zu", page->len);
        assert_int_equal(self->reply.status, 200);
        assert_header(self, "Content-Type", page->type);
        assert_header(self, "Content-Length", len);
        assert_header(self, "ETag", page->etag);
        assert_header(self, "Cache-Control", "no-cache");
        assert_header(self, "X-Content-Type-Options", "nosniff");
        assert_memory_equal(self->reply.body, page->bytes, seen);
    }
}

TEST(a_page_may_load_from_here_alone, struct app_fixture *self)
{
    static const char *const addresses[] = {"/?sale=cup", "/dashboard"};

    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        ask(self, "GET", addresses[i], NULL);

        assert_int_equal(self->reply.status, 200);
        assert_header(self, "Content-Security-Policy",
                      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
                      "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors "
                      "'none'");
        assert_header(self, "Referrer-Policy", "no-referrer");
    }
}

TEST(what_a_browser_has_already_is_not_sent_again, struct app_fixture *self)
{
    const char *etag = pages_find("/assets/shared/api.js")->etag;

    ask(self, "GET", "/assets/shared/api.js", etag);
    assert_int_equal(self->reply.status, 304);
    assert_int_equal(self->reply.len, 0);
    assert_header(self, "ETag", etag);
    assert_null(strstr(self->reply.headers, "Content-Length"));

    ask(self, "GET", "/assets/shared/api.js", "\"of-another-version\"");
    assert_int_equal(self->reply.status, 200);
}

TEST(other_methods_get_nothing, struct app_fixture *self)
{
    ask(self, "HEAD", "/", NULL);
    assert_int_equal(self->reply.status, 200);
    assert_int_equal(self->reply.len, 0);
    assert_header(self, "Content-Type", "text/html; charset=utf-8");
    ask(self, "POST", "/", NULL);
    assert_true(app_is_problem(&self->reply, 405, "method-not-allowed"));
    assert_header(self, "Allow", "GET, HEAD");
    ask(self, "DELETE", "/assets/shared/api.js", NULL);
    assert_true(app_is_problem(&self->reply, 405, "method-not-allowed"));
    ask(self, "GET", "/assets/shared/none.js", NULL);
    assert_true(app_is_problem(&self->reply, 404, "not-found"));
}
