/*
 * No input uses a thread's stack in proportion to itself: what is nested as deep as fits, in every
 * body and in tokens, and answers about a thousand sales, leave half of it untouched.
 */
#include <unistd.h>

#include "test/support/app_fixture.h"
#include "test/support/app_forge.h"
#include "test/support/app_stack.h"

#define KEY "0123456789abcdef0123456789abcdef"

enum { HALF = 50, BODY_SIZE = 4096, SALES = 1000, LAB_MS = 60000, SOON_MS = 5000 };

SET_UP(struct app_fixture, self)
{
    char key[APP_PATH_SIZE + 8];

    app_fixture_begin(self);
    (void)snprintf(key, sizeof key, "%s/key", self->dir);
    FILE *file = fopen(key, "we");
    assert_false(!file || fputs(KEY, file) < 0 || fclose(file) != 0);
    app_fixture_start(
        self,
        (const char *const[]){"--token-key", key, "--connections", "8", "--public-metrics", NULL},
        "cup");
}

TEAR_DOWN(struct app_fixture, self)
{
    assert_int_equal(app_fixture_end(self), 0); /* a crash, and what a sanitizer found, too */
}

static void assert_alive_with_margin(struct app_fixture *self)
{
    int percent = app_stack_percent(&self->service);

    print_message("# the deepest stack: %d %%\n", percent);
    assert_true(percent > 0);
    assert_true(percent <= HALF);
}

/* What is refused takes no more than a decent request does, give or take a page. */
static void assert_no_deeper_than(struct app_fixture *self, int usual)
{
    assert_alive_with_margin(self);
    assert_in_range(app_stack_percent(&self->service), 0, usual + 2);
}

static const char *const opens[] = {"[", "{\"a\":", "[{\"\":", "[\"]\",", "{\"qty\":[1,"};

static const size_t depths[] = {10, 17, 100, 700, 865, 2047, 2048, 2049, 4000};

static const size_t nestings = sizeof opens / sizeof opens[0] * (sizeof depths / sizeof depths[0]);

/* Each opening, again and again, to each depth; at most as large as a body may be. */
static void nest(size_t i, char out[BODY_SIZE])
{
    const char *open = opens[i % (sizeof opens / sizeof opens[0])];
    size_t depth = depths[i / (sizeof opens / sizeof opens[0])];
    size_t len = strlen(open);
    size_t used = 0;

    for (; depth > 0 && used + len < BODY_SIZE; depth--) {
        memcpy(out + used, open, len);
        used += len;
    }
    out[used] = '\0';
}

TEST(nested_bodies_are_refused_with_a_margin, struct app_fixture *self)
{
    static const struct {
        const char *method, *path;
        bool is_admin;
    } routes[] = {
        {"POST", "/api/v1/sales/cup/orders", false},
        {"POST", "/api/v1/lab/scenarios/lost-update/runs", false},
        {"PUT", "/api/v1/lab/sales/cup/guard", false},
        {"POST", "/api/v1/admin/sales", true},
        {"PATCH", "/api/v1/admin/sales/cup", true},
        {"POST", "/api/v1/admin/sales/cup/pause", true},
        {"POST", "/api/v1/admin/sales/cup/resume", true},
        {"POST", "/api/v1/admin/sales/cup/end", true},
        {"POST", "/api/v1/admin/sales/cup/restock", true},
    };
    int usual = app_stack_percent(&self->service);
    char body[BODY_SIZE];

    for (size_t r = 0; r < sizeof routes / sizeof routes[0]; r++) {
        for (size_t i = 0; i < nestings; i++) {
            nest(i, body);
            app_http(
                &(struct app_call){
                    .method = routes[r].method,
                    .base = routes[r].is_admin ? self->service.admin : self->service.buyers,
                    .path = routes[r].path,
                    .user = "anna",
                    .token = routes[r].is_admin ? app_token(self->dir) : NULL,
                    .headers = {"Content-Type: application/json", "Idempotency-Key: k"},
                    .body = body},
                &self->reply);
            if (self->reply.status != 400)
                fail_msg("%s %s %.20s: %ld %s", routes[r].method, routes[r].path, body,
                         self->reply.status, self->reply.body);
        }
    }
    assert_no_deeper_than(self, usual);
}

TEST(nested_tokens_are_refused_with_a_margin, struct app_fixture *self)
{
    static const char head[] = "{\"alg\":\"HS256\"}";
    int usual = app_stack_percent(&self->service);
    char *good = app_forge(&(struct forgery){KEY, .claims = "{\"sub\":\"a\",\"exp\":4000000000}"});
    char nested[BODY_SIZE];
    char header[BODY_SIZE];

    for (size_t i = 0; i < nestings; i++) {
        nest(i, nested);
        nested[700] = '\0'; /* a token is no longer than 1 KiB */
        char *tokens[] = {app_forge_parts(nested, "{}", good), app_forge_parts(head, nested, good)};

        for (size_t t = 0; t < 2; t++) {
            (void)snprintf(header, sizeof header, "Authorization: Bearer %s", tokens[t]);
            free(tokens[t]);
            assert_int_equal(app_status(&(struct app_call){.base = self->service.buyers,
                                                           .path = "/api/v1/sales/cup/orders/me",
                                                           .headers = {header}}),
                             401);
        }
    }
    free(good);
    assert_no_deeper_than(self, usual);
}

TEST(answers_about_many_sales_leave_a_margin, struct app_fixture *self)
{
    static const char *const paths[] = {"/metrics", "/api/v1/sales", "/openapi.json",
                                        "/",        "/lab",          "/api/v1/lab/scenarios"};
    char body[64];

    for (int i = 0; i < SALES; i++) {
        (void)snprintf(body, sizeof body, "{\"id\":\"sale-%d\",\"stock\":1}", i);
        assert_true(app_create_sale(&self->service, self->dir, body));
    }
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        assert_int_equal(
            app_status(&(struct app_call){.base = self->service.buyers, .path = paths[i]}), 200);
    assert_int_equal(app_status(&(struct app_call){.base = self->service.admin,
                                                   .path = "/api/v1/admin/sales/cup/audit",
                                                   .token = app_token(self->dir)}),
                     200);
    assert_alive_with_margin(self);
}

TEST(purchases_and_streams_leave_a_margin, struct app_fixture *self)
{
    static const char stream[] = "GET /api/v1/sales/cup/events HTTP/1.1\r\nHost: a\r\n\r\n";
    char seen[BODY_SIZE];
    int fd = app_connect(self->service.buyers);

    assert_true(app_send(fd, stream, sizeof stream - 1));
    for (int i = 0; i < 6; i++) {
        (void)snprintf(seen, sizeof seen, "buyer-%d", i);
        app_buy(self->service.buyers, "cup", seen, "k", &self->reply);
        assert_int_equal(self->reply.status, i < 5 ? 201 : 409);
    }
    (void)app_receive(fd, seen, sizeof seen, "sold_out", SOON_MS);
    assert_non_null(strstr(seen, "sold_out"));
    (void)close(fd);
    assert_int_equal(app_status(&(struct app_call){.base = self->service.admin,
                                                   .path = "/api/v1/admin/sales/cup/orders",
                                                   .token = app_token(self->dir)}),
                     200);
    assert_alive_with_margin(self);
}

TEST(a_run_of_the_lab_leaves_a_margin, struct app_fixture *self)
{
    assert_int_equal(app_status(&(struct app_call){.base = self->service.buyers,
                                                   .path = "/api/v1/lab/scenarios/lost-update/runs",
                                                   .body = "{}",
                                                   .limit_ms = LAB_MS}),
                     200);
    assert_alive_with_margin(self);
}
