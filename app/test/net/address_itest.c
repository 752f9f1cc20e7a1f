/*
 * Whose request it is by its address, over real HTTP: the rate of one address, with and without a
 * proxy that is believed, and the address in the operators' log.
 */
#include <signal.h>

#include "test/support/app_fixture.h"

enum { LINE_SIZE = 64, LONG_LINE = 9000 };

#define FROM "X-Forwarded-For: "

APP_FOLDER();

#define START(self, ...)                                                                           \
    assert_true(app_start(&(self)->service, (self)->dir, (const char *const[]){__VA_ARGS__, NULL}))

/* GET with these header lines (NULL: none); the status. */
static long get(struct app_fixture *self, const char *path, const char *first, const char *second)
{
    return app_http(
        &(struct app_call){.base = self->service.buyers, .path = path, .headers = {first, second}},
        &self->reply);
}

static long get_sales(struct app_fixture *self, const char *header)
{
    return get(self, "/api/v1/sales", header, NULL);
}

/* Ask until refused: a bucket of 3 is refilled by one a second. */
static void assert_limited(struct app_fixture *self, const char *header)
{
    for (int i = 0; i < 10; i++) {
        if (get_sales(self, header) == 429) return;
    }
    fail_msg("%s is not limited", header ? header : "the peer");
}

static long long count_of(struct app_fixture *self, const char *sample)
{
    const char *at = NULL;

    (void)app_get(self, self->service.admin, "/metrics");
    at = strstr(self->reply.body, sample);
    return at ? strtoll(at + strlen(sample), NULL, 10) : -1;
}

TEST(an_address_over_its_rate_is_refused_first_of_all, struct app_fixture *self)
{
    long status = 0;

    START(self, "no-lab", "--address-rate", "1:3");
    assert_limited(self, NULL);
    assert_true(app_is_problem(&self->reply, 429, "quota-exceeded"));
    assert_non_null(strstr(self->reply.headers, "Retry-After: "));
    app_http(&(struct app_call){.base = self->service.buyers, /* no token: it is not looked for */
                                .path = "/api/v1/sales/cup/orders",
                                .body = "{}"},
             &self->reply);
    status = self->reply.status;
    assert_true(status == 429 || status == 401); /* it may have been refilled */
    assert_int_equal(get(self, "/readyz", NULL, NULL), 200);
    assert_int_equal(get(self, "/livez", NULL, NULL), 200);
    assert_int_equal(get(self, "/", NULL, NULL), 200);
    assert_true(count_of(self, "\nseckill_address_limited_total ") > 0);
    assert_int_equal(count_of(self, "\nseckill_rate_limited_total "), 0);
}

TEST(without_a_rate_nobody_is_limited, struct app_fixture *self)
{
    START(self, "--rate", "0");
    for (int i = 0; i < 50; i++)
        assert_int_equal(get_sales(self, NULL), 200);
}

TEST(operators_are_not_limited, struct app_fixture *self)
{
    START(self, "--address-rate", "1:1");
    for (int i = 0; i < 20; i++)
        assert_int_equal(app_status(&(struct app_call){.base = self->service.admin,
                                                       .path = "/api/v1/admin/sales",
                                                       .token = app_token(self->dir)}),
                         200);
}

TEST(nobody_is_believed_unless_trusted, struct app_fixture *self)
{
    char header[LINE_SIZE];
    int refused = 0;

    START(self, "--address-rate", "1:3", "--trusted-proxy", "10.0.0.0/8,::1");
    for (int i = 0; i < 20; i++) {
        (void)snprintf(header, sizeof header, FROM "1.2.3.%d", i);
        if (get_sales(self, header) == 429) refused++;
    }
    assert_true(refused >= 10); /* all are one client */
}

TEST(behind_a_trusted_proxy_each_client_counts, struct app_fixture *self)
{
    char header[LINE_SIZE];

    START(self, "--address-rate", "1:3", "--trusted-proxy", "127.0.0.1,10.0.0.0/8");
    assert_limited(self, FROM "1.2.3.4");
    for (int i = 0; i < 20; i++) {
        (void)snprintf(header, sizeof header, FROM "1.2.4.%d", i);
        assert_int_equal(get_sales(self, header), 200);
    }
    /* who writes names of his own left of his address stays who he is */
    assert_limited(self, FROM "5.6.7.8, 1.2.3.4");
    assert_limited(self, FROM "9.9.9.9, 1.2.3.4:1234, 10.0.0.2");
    assert_int_equal(get(self, "/api/v1/sales", FROM "1.2.3.4", FROM "4.4.4.4"), 200);
}

TEST(a_header_that_is_none_is_the_proxy, struct app_fixture *self)
{
    static char header[LONG_LINE];

    START(self, "--address-rate", "1:3", "--trusted-proxy", "127.0.0.0/8");
    assert_limited(self, FROM "unknown");
    assert_limited(self, NULL); /* the same bucket */
    (void)stpcpy(header, FROM);
    memset(header + strlen(FROM), 'x', sizeof header - strlen(FROM) - 1);
    assert_limited(self, header);
    (void)stpcpy(header + sizeof header - 9, ",1.2.3.4");
    assert_int_equal(get_sales(self, header), 200);
}

TEST(an_ipv6_client_is_its_64, struct app_fixture *self)
{
    char header[LINE_SIZE];
    int refused = 0;

    START(self, "--address-rate", "1:3", "--trusted-proxy", "127.0.0.1");
    for (int i = 0; i < 20; i++) {
        (void)snprintf(header, sizeof header, FROM "[2001:db8:0:1::%x]:443", i);
        if (get_sales(self, header) == 429) refused++;
    }
    assert_true(refused >= 10);
    assert_int_equal(get_sales(self, FROM "2001:db8:0:2::1"), 200);
}

static bool log_says(struct app_fixture *self, const char *words)
{
    return strstr(app_file(self->dir, "seckilld.log"), words);
}

static void operate(struct app_fixture *self, const char *path, const char *body,
                    const char *header)
{
    app_http(&(struct app_call){.method = body ? "POST" : "GET",
                                .base = self->service.admin,
                                .path = path,
                                .token = app_token(self->dir),
                                .body = body,
                                .headers = {"Content-Type: application/json", header}},
             &self->reply);
}

TEST(the_log_names_the_operators_address, struct app_fixture *self)
{
    START(self, "--trusted-proxy", "127.0.0.1", "--log-level", "debug");
    operate(self, "/api/v1/admin/sales", "{\"id\":\"cup\",\"stock\":5}", FROM "6.6.6.6, 1.2.3.4");
    assert_true(
        log_says(self, "sale cup: created, 5 units, guard mutex, by operator at 1.2.3.4\n"));
    operate(self, "/api/v1/admin/sales/cup/pause", "{}", FROM "2001:db8::7");
    assert_true(log_says(self, "sale cup: pause: done, by operator at 2001:db8::7\n"));
    operate(self, "/api/v1/admin/sales/cup/audit", NULL, NULL);
    assert_true(log_says(self, "sale cup: audit: pass, by operator at 127.0.0.1\n"));
    assert_false(log_says(self, "6.6.6.6"));
}
