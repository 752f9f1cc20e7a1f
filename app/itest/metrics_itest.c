/*
 * /metrics of a real service: the format, the stock that is read from Redis, and that a scrape does
 * not wait for a Redis that is away or does not answer.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "app_promtext.h"
#include "app_support.h"
#include "clock.h"

enum { SHOWN_MAX = 50 };

static const char bought[] =
    "seckill_http_requests_total{method=\"POST\",route=\"/api/v1/sales/{id}/orders\",code=\"2xx\"}";

struct fixture {
    char dir[APP_PATH_SIZE];
    struct app_process redis;
    struct app_process service;
    struct app_reply reply;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    const char *args[] = {"--redis", NULL, NULL};

    if (!fixture) return -1;
    *state = fixture;
    app_folder_make(fixture->dir);
    if (!app_start_redis(&fixture->redis, fixture->dir)) return -1;
    args[1] = fixture->redis.redis;
    return app_start(&fixture->service, fixture->dir, args) ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    (void)app_stop(&fixture->service); /* how it ends is service_itest's matter */
    (void)app_stop(&fixture->redis);
    app_folder_remove(fixture->dir);
    free(fixture);
    return 0;
}

static void scrape(struct fixture *self)
{
    app_http(&(struct app_call){.base = self->service.admin, .path = "/metrics"}, &self->reply);
    assert_int_equal(self->reply.status, 200);
}

/* Scrape; the value of a sample. */
static double value_of(struct fixture *self, const char *sample)
{
    scrape(self);
    return app_promtext_value(self->reply.body, sample);
}

static void assert_good_format(struct fixture *self)
{
    char fault[512];

    scrape(self);
    if (!app_promtext_is_good(self->reply.body, fault, sizeof fault)) fail_msg("%s", fault);
}

static void a_purchase_is_seen_everywhere(void **state)
{
    static const char *const once[] = {
        "seckill_orders_total{guard=\"mutex\",outcome=\"created\"}",
        "seckill_orders_total{guard=\"mutex\",outcome=\"already-ordered\"}",
        "seckill_http_answers_total{code=\"409\"}",
        bought,
        "seckill_http_requests_total{method=\"POST\",route=\"/api/v1/admin/sales\",code=\"2xx\"}",
        "seckill_http_requests_total{method=\"other\",route=\"other\",code=\"4xx\"}",
        "seckill_store_up",
    };
    struct fixture *self = *state;

    assert_good_format(self);
    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"cup\",\"stock\":5}"));
    for (int i = 0; i < 2; i++)
        app_buy(self->service.buyers, "cup", "anna", NULL, &self->reply);
    (void)app_status(&(struct app_call){.base = self->service.buyers, .path = "/no/such/path"});

    assert_good_format(self);
    for (size_t i = 0; i < sizeof once / sizeof once[0]; i++) {
        if (value_of(self, once[i]) != 1) fail_msg("not 1: %s", once[i]);
    }
    assert_true(value_of(self, "seckill_stock_initial_units{sale=\"cup\"}") == 5);
    assert_true(value_of(self, "seckill_stock_remaining_units{sale=\"cup\"}") == 4);
    assert_true(value_of(self, "seckill_oversold_units{sale=\"cup\"}") == 0);
    assert_true(value_of(self, "seckill_batch_size_sum{guard=\"mutex\"}") == 2);
    assert_true(value_of(self, "seckill_lock_hold_seconds_count{guard=\"mutex\"}") == 2);
    assert_true(value_of(self, "seckill_lock_wait_seconds_count{guard=\"mutex\"}") == 2);
    assert_true(value_of(self, "seckill_http_requests_in_flight") == 1); /* the scrape */
    assert_true(value_of(self, "seckill_http_connections{port=\"operators\"}") >= 1);
    assert_true(value_of(self, "process_resident_memory_bytes") > 1e6);
    assert_true(value_of(self, "process_open_fds") > 5);
    assert_in_range((uintmax_t)value_of(self, "process_start_time_seconds"),
                    (uintmax_t)clock_unix_ms() / 1000 - 60, (uintmax_t)clock_unix_ms() / 1000 + 1);
}

static void an_oversold_sale_is_seen(void **state)
{
    struct fixture *self = *state;

    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"cup\",\"stock\":5}"));
    (void)app_ask_redis(self->redis.redis, "DECR", "seckill:{tea}:stock"); /* somebody else's key */
    for (int i = 0; i < 7; i++)
        (void)app_ask_redis(self->redis.redis, "DECR", "seckill:{cup}:stock");

    assert_true(value_of(self, "seckill_oversold_units{sale=\"cup\"}") == 2);
    assert_true(value_of(self, "seckill_stock_remaining_units{sale=\"cup\"}") == -2);
}

static void restocked_units_count_as_put_up(void **state)
{
    struct fixture *self = *state;

    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"cup\",\"stock\":5}"));
    assert_int_equal(app_status(&(struct app_call){.base = self->service.admin,
                                                   .path = "/api/v1/admin/sales/cup/restock",
                                                   .token = app_token(self->dir),
                                                   .body = "{\"units\":3}"}),
                     200);

    assert_true(value_of(self, "seckill_stock_initial_units{sale=\"cup\"}") == 8);
    assert_true(value_of(self, "seckill_oversold_units{sale=\"cup\"}") == 0);
}

static void only_so_many_sales_are_shown(void **state)
{
    struct fixture *self = *state;
    char body[64];
    size_t shown = 0;

    for (int i = 0; i < SHOWN_MAX + 5; i++) {
        (void)snprintf(body, sizeof body, "{\"id\":\"s-%02d\",\"stock\":1}", i);
        assert_true(app_create_sale(&self->service, self->dir, body));
    }
    assert_good_format(self);
    for (const char *at = self->reply.body; (at = strstr(at, "seckill_oversold_units{")); at++)
        shown++;
    assert_int_equal(shown, SHOWN_MAX);
    assert_true(value_of(self, "seckill_oversold_units{sale=\"s-00\"}") == 0);
    assert_true(value_of(self, "seckill_oversold_units{sale=\"s-54\"}") == -1);
}

static void a_scrape_does_not_wait_for_redis(void **state)
{
    struct fixture *self = *state;
    int64_t began_ms = 0;

    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"cup\",\"stock\":5}"));
    assert_int_equal(kill(self->redis.pid, SIGSTOP), 0);
    began_ms = clock_mono_ms();
    assert_true(value_of(self, "seckill_store_up") == 0);
    assert_in_range(clock_mono_ms() - began_ms, 0, 1000);
    assert_true(value_of(self, "seckill_stock_remaining_units{sale=\"cup\"}") == -1);
    assert_int_equal(kill(self->redis.pid, SIGCONT), 0);
    app_kill(&self->redis);
    began_ms = clock_mono_ms();
    assert_true(value_of(self, "seckill_store_up") == 0);
    assert_in_range(clock_mono_ms() - began_ms, 0, 1000);
    assert_good_format(self);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_purchase_is_seen_everywhere),    TEST(an_oversold_sale_is_seen),
        TEST(restocked_units_count_as_put_up),  TEST(only_so_many_sales_are_shown),
        TEST(a_scrape_does_not_wait_for_redis),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
