/*
 * Every route and every problem of the service, on a real seckilld with its own Redis.
 */
#include "test/support/app_fixture.h"

#define SALES       "/api/v1/sales"
#define ADMIN_SALES "/api/v1/admin/sales"

APP_SELLS(NULL, NULL);

static void get(struct app_fixture *self, const char *base, const char *path)
{
    app_http(&(struct app_call){.base = base, .path = path}, &self->reply);
}

static void as_operator(struct app_fixture *self, const char *path, const char *body)
{
    app_http(
        &(struct app_call){
            .base = self->service.admin, .path = path, .token = app_token(self->dir), .body = body},
        &self->reply);
}

static void buy(struct app_fixture *self, const char *sale, const char *user, const char *key)
{
    app_buy(self->service.buyers, sale, user, key, &self->reply);
}

static long long left_of(struct app_fixture *self, const char *path)
{
    get(self, self->service.buyers, path);
    return app_number(&self->reply, "remaining");
}

TEST(both_ports_answer_probes, struct app_fixture *self)
{
    const char *const bases[] = {self->service.buyers, self->service.admin};

    for (size_t i = 0; i < 2; i++) {
        get(self, bases[i], "/livez");
        assert_int_equal(self->reply.status, 200);
        assert_string_equal(self->reply.body, "ok\n");
        assert_non_null(strstr(self->reply.headers, "Content-Type: text/plain"));
        assert_non_null(strstr(self->reply.headers, "Cache-Control: no-store\r\n"));
        assert_non_null(strstr(self->reply.headers, "X-Content-Type-Options: nosniff\r\n"));
        get(self, bases[i], "/readyz");
        assert_int_equal(self->reply.status, 200);
        get(self, bases[i], "/version");
        assert_string_equal(app_member(&self->reply, "version"), SECKILL_VERSION);
        get(self, bases[i], "/metrics");
        assert_non_null(strstr(self->reply.body, "seckill_orders_total{guard=\"mutex\","
                                                 "outcome=\"outcome-unknown\"} 0\n"));
        assert_non_null(strstr(self->reply.body, "seckill_build_info{version=\""));
    }
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
    as_operator(self, ADMIN_SALES,
                "{\"id\":\"tea\",\"stock\":7,\"title\":\"Grün \\\"T\\\"\",\"guard\":\"script\","
                "\"startsAt\":\"2020-01-01T00:00:00Z\",\"endsAt\":\"2099-12-31T23:59:59.5Z\"}");
    assert_int_equal(self->reply.status, 201);
    assert_non_null(strstr(self->reply.headers, "Location: /api/v1/admin/sales/tea\r\n"));
    assert_string_equal(app_member(&self->reply, "guard"), "script");
    as_operator(self, ADMIN_SALES, "{\"id\":\"tea\",\"stock\":1}");
    assert_true(app_is_problem(&self->reply, 409, "conflict"));

    get(self, self->service.buyers, SALES "/tea");
    assert_int_equal(self->reply.status, 200);
    assert_string_equal(app_member(&self->reply, "title"), "Grün \"T\"");
    assert_string_equal(app_member(&self->reply, "state"), "active");
    assert_string_equal(app_member(&self->reply, "startsAt"), "2020-01-01T00:00:00.000Z");
    assert_string_equal(app_member(&self->reply, "endsAt"), "2099-12-31T23:59:59.500Z");
    assert_string_equal(app_member(&self->reply, "guard"), "");
    assert_int_equal(app_number(&self->reply, "initialStock"), 7);
    assert_int_equal(app_number(&self->reply, "remaining"), 7);
    assert_int_equal(app_number(&self->reply, "perUserLimit"), 1);

    get(self, self->service.buyers, SALES);
    assert_non_null(strstr(self->reply.body, "{\"sales\":[{\"id\":\"tea\""));
    as_operator(self, ADMIN_SALES, NULL);
    assert_non_null(strstr(self->reply.body, "\"guard\":\"script\""));

    as_operator(self, ADMIN_SALES "/tea/end", "");
    assert_int_equal(self->reply.status, 200);
    assert_string_equal(app_member(&self->reply, "state"), "ended");
    buy(self, "tea", "anna", NULL);
    assert_true(app_is_problem(&self->reply, 410, "sale-ended"));
}

TEST(the_time_is_told, struct app_fixture *self)
{
    get(self, self->service.buyers, "/api/v1/time");

    assert_int_equal(self->reply.status, 200);
    assert_int_equal(strlen(app_member(&self->reply, "serverTime")), 24);
    assert_true(app_number(&self->reply, "epochMs") > 1700000000000);
}

TEST(a_purchase_gets_the_answer_it_deserves, struct app_fixture *self)
{
    char order[32];

    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"cup\",\"stock\":1}"));
    buy(self, "cup", "anna", "\"key-1\"");
    assert_int_equal(self->reply.status, 201);
    assert_non_null(strstr(self->reply.headers, "Location: /api/v1/sales/cup/orders/me\r\n"));
    assert_string_equal(app_member(&self->reply, "saleId"), "cup");
    assert_string_equal(app_member(&self->reply, "buyer"), "anna");
    assert_string_equal(app_member(&self->reply, "state"), "held");
    assert_int_equal(strlen(app_member(&self->reply, "createdAt")), 24);
    (void)snprintf(order, sizeof order, "%s", app_member(&self->reply, "id"));
    assert_true(strlen(order) > 10);

    buy(self, "cup", "anna", "key-1");
    assert_int_equal(self->reply.status, 201);
    assert_non_null(strstr(self->reply.headers, "Idempotency-Replayed: true\r\n"));
    assert_string_equal(app_member(&self->reply, "id"), order);

    buy(self, "cup", "anna", "key-2");
    assert_true(app_is_problem(&self->reply, 409, "already-ordered"));
    assert_string_equal(app_member(&self->reply, "orderId"), order);
    assert_string_equal(app_member(&self->reply, "order"), "/api/v1/sales/cup/orders/me");

    buy(self, "cup", "bert", NULL);
    assert_true(app_is_problem(&self->reply, 409, "sold-out"));
    buy(self, "cup", "anna", NULL);
    assert_true(app_is_problem(&self->reply, 409, "already-ordered"));
}

TEST(a_buyer_finds_the_own_order_only, struct app_fixture *self)
{
    struct app_call call = {
        .base = self->service.buyers, .path = SALES "/cup/orders/me", .user = "anna"};

    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"cup\",\"stock\":5}"));
    app_http(&call, &self->reply);
    assert_true(app_is_problem(&self->reply, 404, "not-found"));
    buy(self, "cup", "anna", NULL);

    app_http(&call, &self->reply);
    assert_int_equal(self->reply.status, 200);
    assert_string_equal(app_member(&self->reply, "buyer"), "anna");
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
    buy(self, "far", "anna", NULL);

    assert_true(app_is_problem(&self->reply, 409, "sale-not-started"));
    assert_true(app_number(&self->reply, "retryAfterMs") > 1000000);
    assert_non_null(strstr(self->reply.headers, "Retry-After: "));
    get(self, self->service.buyers, SALES "/far");
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
    app_http(&call, &self->reply);
    assert_int_equal(self->reply.status, 201);
}

TEST(operators_list_orders_line_by_line, struct app_fixture *self)
{
    enum { ORDERS = 120 };
    char user[16];
    size_t lines = 0;

    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"cup\",\"stock\":500}"));
    for (int i = 0; i < ORDERS; i++) {
        (void)snprintf(user, sizeof user, "user-%d", i);
        buy(self, "cup", user, "k");
        assert_int_equal(self->reply.status, 201);
    }
    as_operator(self, ADMIN_SALES "/cup/orders", NULL);

    assert_int_equal(self->reply.status, 200);
    assert_non_null(strstr(self->reply.headers, "Content-Type: application/x-ndjson\r\n"));
    for (const char *at = self->reply.body; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, ORDERS);
    assert_non_null(
        strstr(self->reply.body, "\"buyer\":\"user-77\",\"state\":\"held\",\"key\":\"k\"}\n"));
    as_operator(self, ADMIN_SALES "/nothing/orders", NULL);
    assert_true(app_is_problem(&self->reply, 404, "not-found"));
}

TEST(without_lab_user_ids_and_flawed_guards_are_refused, struct app_fixture *self)
{
    assert_int_equal(app_stop(&self->service), 0);
    app_fixture_start(self, (const char *const[]){"no-lab", NULL}, NULL);
    as_operator(self, ADMIN_SALES, "{\"id\":\"cup\",\"stock\":5,\"guard\":\"none\"}");
    assert_true(app_is_problem(&self->reply, 403, "forbidden"));
    as_operator(self, ADMIN_SALES, "{\"id\":\"cup\",\"stock\":5}");
    assert_int_equal(self->reply.status, 201);
    buy(self, "cup", "anna", NULL);
    assert_true(app_is_problem(&self->reply, 401, "unauthenticated"));
    assert_int_equal(left_of(self, SALES "/cup"), 5);
}
