/*
 * Every route and every problem of the service, on a real seckilld with its own Redis.
 */
#include "test/support/app_fixture.h"

#define SALES       "/api/v1/sales"
#define ADMIN_SALES "/api/v1/admin/sales"

APP_SELLS(NULL, NULL);

static long long left_of(struct app_fixture *self, const char *path)
{
    (void)app_get(self, self->service.buyers, path);
    return app_number(&self->reply, "remaining");
}

TEST(both_ports_answer_probes, struct app_fixture *self)
{
    const char *const bases[] = {self->service.buyers, self->service.admin};

    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(app_get(self, bases[i], "/livez"), 200);
        assert_string_equal(self->reply.body, "ok\n");
        assert_non_null(strstr(self->reply.headers, "Content-Type: text/plain"));
        assert_non_null(strstr(self->reply.headers, "Cache-Control: no-store\r\n"));
        assert_non_null(strstr(self->reply.headers, "X-Content-Type-Options: nosniff\r\n"));
        assert_int_equal(app_get(self, bases[i], "/readyz"), 200);
    }
}

/* What is told of the service itself, on this address; else, that nothing is there. */
static void tells(struct app_fixture *self, const char *base, bool is_all)
{
    (void)app_get(self, base, "/version");
    assert_string_equal(app_member(&self->reply, "version"), is_all ? SECKILL_VERSION : "");
    assert_int_equal(self->reply.status, is_all ? 200 : 404);
    assert_int_equal(app_get(self, base, "/metrics"), is_all ? 200 : 404);
    assert_int_equal(strstr(self->reply.body, "seckill_orders_total{guard=\"mutex\","
                                              "outcome=\"outcome-unknown\"} 0\n") != NULL,
                     is_all);
    assert_int_equal(strstr(self->reply.body, "seckill_build_info{version=\"") != NULL, is_all);
}

TEST(what_runs_is_for_operators_unless_it_is_made_public, struct app_fixture *self)
{
    tells(self, self->service.admin, true);
    tells(self, self->service.buyers, false);
    assert_int_equal(app_get(self, self->service.buyers, "/readyz"), 200);
    assert_string_equal(self->reply.body, "ready\n");
    assert_int_equal(app_stop(&self->service), 0);
    assert_true(
        app_start(&self->service, self->dir, (const char *const[]){"--public-metrics", NULL}));
    tells(self, self->service.admin, true);
    tells(self, self->service.buyers, true);
}

TEST(head_is_get_without_its_body, struct app_fixture *self)
{
    app_http(&(struct app_call){.method = "HEAD", .base = self->service.buyers, .path = "/livez"},
             &self->reply);

    assert_int_equal(self->reply.status, 200);
    assert_non_null(strstr(self->reply.headers, "Content-Length: 3\r\n"));
    assert_int_equal(self->reply.len, 0);
}

TEST(a_sale_is_created_shown_listed_and_ended, struct app_fixture *self)
{
    assert_int_equal(
        app_operate(self, NULL, ADMIN_SALES,
                    "{\"id\":\"tea\",\"stock\":7,\"title\":\"Grün \\\"T\\\"\",\"guard\":\"script\","
                    "\"startsAt\":\"2020-01-01T00:00:00Z\",\"endsAt\":\"2099-12-31T23:59:59.5Z\"}"),
        201);
    assert_non_null(strstr(self->reply.headers, "Location: /api/v1/admin/sales/tea\r\n"));
    assert_string_equal(app_member(&self->reply, "guard"), "script");
    (void)app_operate(self, NULL, ADMIN_SALES, "{\"id\":\"tea\",\"stock\":1}");
    assert_true(app_is_problem(&self->reply, 409, "conflict"));

    assert_int_equal(app_get(self, self->service.buyers, SALES "/tea"), 200);
    assert_string_equal(app_member(&self->reply, "title"), "Grün \"T\"");
    app_assert_answer(&self->reply, 200,
                      "{`state`:`active`,`startsAt`:`2020-01-01T00:00:00.000Z`,"
                      "`endsAt`:`2099-12-31T23:59:59.500Z`}");
    assert_string_equal(app_member(&self->reply, "guard"), "");
    app_assert_answer(&self->reply, 200, "{`initialStock`:7,`remaining`:7,`perUserLimit`:1}");

    (void)app_get(self, self->service.buyers, SALES);
    assert_non_null(strstr(self->reply.body, "{\"sales\":[{\"id\":\"tea\""));
    (void)app_operate(self, NULL, ADMIN_SALES, NULL);
    assert_non_null(strstr(self->reply.body, "\"guard\":\"script\""));

    (void)app_operate(self, NULL, ADMIN_SALES "/tea/end", "");
    app_assert_answer(&self->reply, 200, "{`state`:`ended`}");
    (void)app_order(self, "tea", "anna", NULL);
    assert_true(app_is_problem(&self->reply, 410, "sale-ended"));
}

TEST(the_time_is_told, struct app_fixture *self)
{
    (void)app_get(self, self->service.buyers, "/api/v1/time");

    assert_int_equal(self->reply.status, 200);
    assert_int_equal(strlen(app_member(&self->reply, "serverTime")), 24);
    assert_true(app_number(&self->reply, "epochMs") > 1700000000000);
    assert_non_null(strstr(self->reply.body, "\"lab\":true"));
}

TEST(a_purchase_gets_the_answer_it_deserves, struct app_fixture *self)
{
    char order[32];

    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"cup\",\"stock\":1}"));
    assert_int_equal(app_order(self, "cup", "anna", "\"key-1\""), 201);
    assert_non_null(strstr(self->reply.headers, "Location: /api/v1/sales/cup/orders/me\r\n"));
    app_assert_answer(&self->reply, 201, "{`saleId`:`cup`,`buyer`:`anna`,`state`:`held`}");
    assert_int_equal(strlen(app_member(&self->reply, "createdAt")), 24);
    (void)snprintf(order, sizeof order, "%s", app_member(&self->reply, "id"));
    assert_true(strlen(order) > 10);

    assert_int_equal(app_order(self, "cup", "anna", "key-1"), 201);
    assert_non_null(strstr(self->reply.headers, "Idempotency-Replayed: true\r\n"));
    assert_string_equal(app_member(&self->reply, "id"), order);

    (void)app_order(self, "cup", "anna", "key-2");
    assert_true(app_is_problem(&self->reply, 409, "already-ordered"));
    assert_string_equal(app_member(&self->reply, "orderId"), order);
    assert_string_equal(app_member(&self->reply, "order"), "/api/v1/sales/cup/orders/me");

    (void)app_order(self, "cup", "bert", NULL);
    assert_true(app_is_problem(&self->reply, 409, "sold-out"));
    (void)app_order(self, "cup", "anna", NULL);
    assert_true(app_is_problem(&self->reply, 409, "already-ordered"));
}

TEST(a_buyer_finds_the_own_order_only, struct app_fixture *self)
{
    struct app_call call = {
        .base = self->service.buyers, .path = SALES "/cup/orders/me", .user = "anna"};

    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"cup\",\"stock\":5}"));
    app_http(&call, &self->reply);
    assert_true(app_is_problem(&self->reply, 404, "not-found"));
    (void)app_order(self, "cup", "anna", NULL);

    app_http(&call, &self->reply);
    app_assert_answer(&self->reply, 200, "{`buyer`:`anna`}");
    call.user = "bert";
    app_http(&call, &self->reply);
    assert_true(app_is_problem(&self->reply, 404, "not-found"));
    call.user = NULL;
    app_http(&call, &self->reply);
    assert_true(app_is_problem(&self->reply, 401, "unauthenticated"));
}

TEST(a_sale_that_has_not_begun_says_when, struct app_fixture *self)
{
    assert_true(
        app_create_sale(&self->service, self->dir,
                        "{\"id\":\"far\",\"stock\":5,\"startsAt\":\"2199-01-01T00:00:00Z\"}"));
    (void)app_order(self, "far", "anna", NULL);

    assert_true(app_is_problem(&self->reply, 409, "sale-not-started"));
    assert_true(app_number(&self->reply, "retryAfterMs") > 1000000);
    assert_non_null(strstr(self->reply.headers, "Retry-After: "));
    (void)app_get(self, self->service.buyers, SALES "/far");
    assert_string_equal(app_member(&self->reply, "state"), "upcoming");
}

TEST(other_paths_and_methods_are_told_apart, struct app_fixture *self)
{
    static const struct {
        const char *method, *path, *allow;
        long status;
    } cases[] = {
        {"GET", "/nothing", NULL, 404},
        {"POST", "/livez", "Allow: GET, HEAD\r\n", 405},
        {"DELETE", SALES "/cup", "Allow: GET, HEAD\r\n", 405},
        {"GET", SALES "/cup/orders", "Allow: POST\r\n", 405},
        {"PUT", SALES "/cup/orders", "Allow: POST\r\n", 405},
        {"PROPFIND", SALES, "Allow: GET, HEAD\r\n", 405},
        {"OPTIONS", SALES "/cup/orders", "Allow: POST\r\n", 405},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        app_http(&(struct app_call){.method = cases[i].method,
                                    .base = self->service.buyers,
                                    .path = cases[i].path,
                                    .headers = {"Origin: http://elsewhere",
                                                "Access-Control-Request-Method: POST"}},
                 &self->reply);
        if (!app_is_problem(&self->reply, cases[i].status,
                            cases[i].status == 404 ? "not-found" : "method-not-allowed"))
            fail_msg("%s %s: %ld %s", cases[i].method, cases[i].path, self->reply.status,
                     self->reply.headers);
        if (cases[i].allow) assert_non_null(strstr(self->reply.headers, cases[i].allow));
        assert_null(strstr(self->reply.headers, "Access-Control-Allow"));
    }
}

TEST(request_ids_come_back_when_they_are_harmless, struct app_fixture *self)
{
    struct app_call call = {
        .base = self->service.buyers, .path = "/nothing", .headers = {"X-Request-Id: abc.DEF_1-2"}};

    app_http(&call, &self->reply);
    assert_non_null(strstr(self->reply.headers, "X-Request-Id: abc.DEF_1-2\r\n"));
    call.headers[0] = "X-Request-Id: a b";
    app_http(&call, &self->reply);
    assert_null(strstr(self->reply.headers, "X-Request-Id"));
}

TEST(the_admin_port_wants_its_token, struct app_fixture *self)
{
    struct app_call call = {.base = self->service.admin, .path = ADMIN_SALES};

    app_http(&call, &self->reply);
    assert_true(app_is_problem(&self->reply, 401, "unauthenticated"));
    assert_non_null(strstr(self->reply.headers, "WWW-Authenticate: Bearer\r\n"));
    call.token = "0123456789abcdef0123456789abcdef";
    app_http(&call, &self->reply);
    assert_true(app_is_problem(&self->reply, 403, "forbidden"));
    call.body = "{\"id\":\"a\",\"stock\":1}";
    app_http(&call, &self->reply);
    assert_true(app_is_problem(&self->reply, 403, "forbidden"));
    call.token = app_token(self->dir);
    assert_int_equal(app_http(&call, &self->reply), 201);
}

TEST(operators_list_orders_line_by_line, struct app_fixture *self)
{
    enum { ORDERS = 120 };
    char user[16];
    size_t lines = 0;

    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"cup\",\"stock\":500}"));
    for (int i = 0; i < ORDERS; i++) {
        (void)snprintf(user, sizeof user, "user-%d", i);
        assert_int_equal(app_order(self, "cup", user, "k"), 201);
    }
    (void)app_operate(self, NULL, ADMIN_SALES "/cup/orders", NULL);

    assert_int_equal(self->reply.status, 200);
    assert_non_null(strstr(self->reply.headers, "Content-Type: application/x-ndjson\r\n"));
    for (const char *at = self->reply.body; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, ORDERS);
    assert_non_null(
        strstr(self->reply.body, "\"buyer\":\"user-77\",\"state\":\"held\",\"key\":\"k\"}\n"));
    (void)app_operate(self, NULL, ADMIN_SALES "/nothing/orders", NULL);
    assert_true(app_is_problem(&self->reply, 404, "not-found"));
}

TEST(without_lab_user_ids_and_flawed_guards_are_refused, struct app_fixture *self)
{
    assert_int_equal(app_stop(&self->service), 0);
    app_fixture_start(self, (const char *const[]){"no-lab", NULL}, NULL);
    (void)app_operate(self, NULL, ADMIN_SALES, "{\"id\":\"cup\",\"stock\":5,\"guard\":\"none\"}");
    assert_true(app_is_problem(&self->reply, 403, "forbidden"));
    assert_int_equal(app_operate(self, NULL, ADMIN_SALES, "{\"id\":\"cup\",\"stock\":5}"), 201);
    (void)app_order(self, "cup", "anna", NULL);
    assert_true(app_is_problem(&self->reply, 401, "unauthenticated"));
    assert_int_equal(left_of(self, SALES "/cup"), 5);
}
