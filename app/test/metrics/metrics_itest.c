/*
 * /metrics of a real service: the format, which promtool judges too; the stock that is read from
 * Redis; and that scrapes neither wait for a Redis that is away or does not answer, nor load it.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lockkit/lockkit.h"

#include "base/clock.h"
#include "test/support/app_fixture.h"
#include "test/support/app_promtext.h"

enum { SHOWN_MAX = 200, FLOOD = 200, SOON_MS = 5000 /* a report is kept for a second */ };

static const char promtool[] = "build/tools/promtool";

static const char bought[] =
    "seckill_http_requests_total{method=\"POST\",route=\"/api/v1/sales/{id}/orders\",code=\"2xx\"}";

SET_UP(struct app_fixture, self)
{
    app_fixture_begin(self);
    app_fixture_start_on_redis(self, (const char *const[]){NULL});
}

TEAR_DOWN(struct app_fixture, self)
{
    (void)app_fixture_end(self); /* how it ends is service_itest's matter */
}

struct sample {
    struct app_fixture *fixture;
    const char *name;
    double value;
};

static bool is_shown(void *arg)
{
    const struct sample *sample = arg;

    return app_metric(sample->fixture, sample->name) == sample->value;
}

static void assert_soon(struct app_fixture *self, const char *name, double value)
{
    struct sample sample = {self, name, value};

    if (!app_eventually(is_shown, &sample, SOON_MS)) fail_msg("not %.0f: %s", value, name);
}

/* Whether promtool has nothing to say about a text; else it is in `out`. */
static bool promtool_is_content(const char *dir, const char *text, char *out, size_t size)
{
    char path[APP_PATH_SIZE + 16];
    char command[APP_PATH_SIZE + 80];

    if (access(promtool, X_OK) != 0) fail_msg("%s is not there: make promtool", promtool);
    (void)snprintf(path, sizeof path, "%s/metrics.txt", dir);
    (void)snprintf(command, sizeof command, "%s check metrics <%s 2>&1", promtool, path);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    FILE *said = popen(command, "re");
    assert_non_null(said);
    out[fread(out, 1, size - 1, said)] = '\0';
    int status = pclose(said);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 && !out[0];
}

static void assert_good_format(struct app_fixture *self)
{
    char fault[4096];

    (void)app_get(self, self->service.admin, "/metrics");
    if (!app_promtext_is_good(self->reply.body, fault, sizeof fault)) fail_msg("%s", fault);
    if (!promtool_is_content(self->dir, self->reply.body, fault, sizeof fault))
        fail_msg("promtool: %s", fault);
}

TEST(promtool_is_asked_and_heard, struct app_fixture *self)
{
    static const char misnamed[] =
        "# HELP purchases Counted.\n# TYPE purchases counter\npurchases 1\n";
    static const char malformed[] = "purchases{ 1\n";
    char said[512];

    assert_false(promtool_is_content(self->dir, misnamed, said, sizeof said));
    assert_non_null(strstr(said, "_total"));
    assert_false(promtool_is_content(self->dir, malformed, said, sizeof said));
}

TEST(a_purchase_is_seen_everywhere, struct app_fixture *self)
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

    assert_good_format(self);
    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"cup\",\"stock\":5}"));
    for (int i = 0; i < 2; i++)
        app_buy(self->service.buyers, "cup", "anna", NULL, &self->reply);
    (void)app_status(&(struct app_call){.base = self->service.buyers, .path = "/no/such/path"});

    assert_good_format(self);
    for (size_t i = 0; i < sizeof once / sizeof once[0]; i++) {
        if (app_metric(self, once[i]) != 1) fail_msg("not 1: %s", once[i]);
    }
    assert_soon(self, "seckill_stock_remaining_units{sale=\"cup\"}", 4);
    assert_true(app_metric(self, "seckill_stock_initial_units{sale=\"cup\"}") == 5);
    assert_true(app_metric(self, "seckill_oversold_units{sale=\"cup\"}") == 0);
    assert_true(app_metric(self, "seckill_batch_size_sum{guard=\"mutex\"}") == 2);
    assert_true(app_metric(self, "seckill_lock_hold_seconds_count{guard=\"mutex\"}") == 2);
    assert_true(app_metric(self, "seckill_lock_wait_seconds_count{guard=\"mutex\"}") == 2);
    /* The scrape. Another counts until its thread has come back from answering. */
    assert_soon(self, "seckill_http_requests_in_flight", 1);
    assert_true(app_metric(self, "seckill_http_connections{port=\"operators\"}") >= 1);
    assert_true(app_metric(self, "process_resident_memory_bytes") > 1e6);
    assert_true(app_metric(self, "process_open_fds") > 5);
    assert_in_range((uintmax_t)app_metric(self, "process_start_time_seconds"),
                    (uintmax_t)clock_unix_ms() / 1000 - 60, (uintmax_t)clock_unix_ms() / 1000 + 1);
}

TEST(an_oversold_sale_is_seen, struct app_fixture *self)
{
    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"cup\",\"stock\":5}"));
    (void)app_ask_redis(self->redis.redis, "DECR", "seckill:{tea}:stock"); /* somebody else's key */
    for (int i = 0; i < 7; i++)
        (void)app_ask_redis(self->redis.redis, "DECR", "seckill:{cup}:stock");

    assert_true(app_metric(self, "seckill_oversold_units{sale=\"cup\"}") == 2);
    assert_true(app_metric(self, "seckill_stock_remaining_units{sale=\"cup\"}") == -2);
    assert_true(app_metric(self, "seckill_stock_drift_units{sale=\"cup\"}") == 7);
}

TEST(a_sale_under_load_does_not_drift, struct app_fixture *self)
{
    char user[16];
    int sold = 0;

    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"cup\",\"stock\":50}"));
    for (int i = 0; i < 60; i++) {
        (void)snprintf(user, sizeof user, "u%d", i);
        app_buy(self->service.buyers, "cup", user, NULL, &self->reply);
        if (self->reply.status == 201) sold++;
        if (i % 10 == 0)
            assert_true(app_metric(self, "seckill_stock_drift_units{sale=\"cup\"}") == 0);
    }
    assert_int_equal(sold, 50);
    assert_soon(self, "seckill_stock_remaining_units{sale=\"cup\"}", 0);
    assert_true(app_metric(self, "seckill_stock_drift_units{sale=\"cup\"}") == 0);
    assert_true(app_metric(self, "seckill_purchase_seconds_count") == 60);
    assert_true(app_metric(self, "seckill_purchase_seconds_sum") > 0);
    assert_true(app_metric(self, "seckill_purchase_seconds_bucket{le=\"10\"}") == 60);
}

/* A unit that is neither left nor anybody's. */
TEST(a_lost_unit_is_drift, struct app_fixture *self)
{
    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"cup\",\"stock\":5}"));
    app_buy(self->service.buyers, "cup", "anna", NULL, &self->reply);
    (void)app_ask_redis(self->redis.redis, "DECR", "seckill:{cup}:stock");
    assert_true(app_metric(self, "seckill_stock_drift_units{sale=\"cup\"}") == 1);
    assert_true(app_metric(self, "seckill_oversold_units{sale=\"cup\"}") == 0);
}

TEST(restocked_units_count_as_put_up, struct app_fixture *self)
{
    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"cup\",\"stock\":5}"));
    assert_int_equal(app_status(&(struct app_call){
                         .base = self->service.admin,
                         .path = "/api/v1/admin/sales/cup/restock",
                         .token = app_token(self->dir),
                         .body = "{\"units\":3}",
                         .headers = {"Content-Type: application/json", "Idempotency-Key: k"}}),
                     200);

    assert_true(app_metric(self, "seckill_stock_initial_units{sale=\"cup\"}") == 8);
    assert_true(app_metric(self, "seckill_stock_drift_units{sale=\"cup\"}") == 0);
    assert_soon(self, "seckill_stock_remaining_units{sale=\"cup\"}", 8); /* nobody has bought */
    assert_soon(self, "seckill_stock_cooling_units{sale=\"cup\"}", 0);
    assert_true(app_metric(self, "seckill_oversold_units{sale=\"cup\"}") == 0);
}

TEST(only_so_many_sales_are_shown, struct app_fixture *self)
{
    char body[64];
    size_t shown = 0;

    for (int i = 0; i < SHOWN_MAX + 5; i++) {
        (void)snprintf(body, sizeof body, "{\"id\":\"s-%03d\",\"stock\":1}", i);
        assert_true(app_create_sale(&self->service, self->dir, body));
    }
    assert_good_format(self);
    for (const char *at = self->reply.body; (at = strstr(at, "seckill_oversold_units{")); at++)
        shown++;
    assert_int_equal(shown, SHOWN_MAX);
    assert_true(app_metric(self, "seckill_oversold_units{sale=\"s-000\"}") == 0);
    assert_true(app_metric(self, "seckill_oversold_units{sale=\"s-204\"}") == -1);
    assert_true(app_metric(self, "seckill_sales_left_out") == 5);
    lk_reply_free(app_redis_command(self->redis.redis, "SET seckill:{s-204}:stock 3"));
    assert_soon(self, "seckill_stock_drift_units{sale=\"s-204\"}", -2); /* what is wrong is seen */
    assert_true(app_metric(self, "seckill_sales_left_out") == 5);
}

/* However many were before it. */
TEST(who_sells_is_seen_and_who_was_over_an_hour_ago_is_not, struct app_fixture *self)
{
    char words[96];

    for (int i = 0; i < SHOWN_MAX + 5; i++) {
        (void)snprintf(words, sizeof words, "{\"id\":\"s-%03d\",\"stock\":1}", i);
        assert_true(app_create_sale(&self->service, self->dir, words));
        (void)snprintf(words, sizeof words, "HSET seckill:{s-%03d}:sale %s", i,
                       i % 2 ? "state ended ended_ms 1000" : "ends_ms 1000");
        lk_reply_free(app_redis_command(self->redis.redis, words));
    }
    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"z\",\"stock\":1}"));
    assert_soon(self, "seckill_stock_remaining_units{sale=\"z\"}", 1);
    assert_true(app_metric(self, "seckill_oversold_units{sale=\"s-000\"}") == -1);
    assert_true(app_metric(self, "seckill_sales_left_out") == 0);
    lk_reply_free(app_redis_command(self->redis.redis, "SET seckill:{s-007}:stock 3"));
    assert_soon(self, "seckill_stock_drift_units{sale=\"s-007\"}",
                -2); /* wrong: until it is archived */
    assert_int_equal(app_operate(self, "POST", "/api/v1/admin/sales/z/end", ""), 200);
    lk_reply_free(app_redis_command(self->redis.redis, "SET seckill:{z}:stock 3"));
    assert_soon(self, "seckill_stock_drift_units{sale=\"z\"}", -2); /* it was just now */
}

static void assert_does_not_wait(struct app_fixture *self)
{
    int64_t began_ms = clock_mono_ms();

    assert_true(app_metric(self, "seckill_store_up") == 0);
    /* Less than two round trips with the client's own limit, of 1 s, would take. */
    assert_in_range(clock_mono_ms() - began_ms, 0, 1900);
    assert_true(app_metric(self, "seckill_stock_remaining_units{sale=\"cup\"}") == -1);
    assert_good_format(self);
}

TEST(a_scrape_does_not_wait_for_a_redis_that_hangs, struct app_fixture *self)
{
    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"cup\",\"stock\":5}"));
    assert_int_equal(kill(self->redis.pid, SIGSTOP), 0);
    assert_does_not_wait(self);
    assert_int_equal(kill(self->redis.pid, SIGCONT), 0);
    assert_soon(self, "seckill_stock_remaining_units{sale=\"cup\"}", 5);
}

TEST(a_scrape_does_not_wait_for_a_redis_that_is_gone, struct app_fixture *self)
{
    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"cup\",\"stock\":5}"));
    app_kill(&self->redis);
    assert_does_not_wait(self);
}

TEST(a_flood_of_scrapes_does_not_load_redis, struct app_fixture *self)
{
    static const char trips[] = "seckill_redis_round_trips_total{result=\"ok\"}";

    assert_true(app_create_sale(&self->service, self->dir, "{\"id\":\"cup\",\"stock\":5}"));
    double before = app_metric(self, trips);
    for (int i = 0; i < FLOOD; i++)
        (void)app_get(self, self->service.admin, "/metrics");
    assert_true(app_metric(self, trips) - before < FLOOD); /* each alone would take two */
}

static bool has_reconnected(void *arg)
{
    return app_metric(arg, "seckill_redis_reconnects_total") >= 1;
}

TEST(connections_to_redis_are_seen, struct app_fixture *self)
{
    double max = app_metric(self, "seckill_redis_connections_max");
    double idle = app_promtext_value(self->reply.body, "seckill_redis_connections{state=\"idle\"}");
    double busy = app_promtext_value(self->reply.body, "seckill_redis_connections{state=\"busy\"}");

    assert_true(max == 16 && idle >= 0 && busy >= 0);
    assert_in_range((uintmax_t)(idle + busy), 1, 16);
    assert_false(has_reconnected(self));
    app_kill(&self->redis);
    assert_true(app_start_redis(&self->redis, self->dir));
    assert_true(app_eventually(has_reconnected, self, SOON_MS));
}
