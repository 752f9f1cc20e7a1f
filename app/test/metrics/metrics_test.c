/*
 * Counters: all there from the start, in the right place afterwards, none lost between threads, in
 * a format that Prometheus reads.
 */
#include <pthread.h>

#include "metrics/metrics.h"
#include "test/support/app_promtext.h"
#include "test/support/app_texts.h"
#include "test/support/testing.h"

enum { THREADS = 4, ROUNDS = 5000 };

#define MS INT64_C(1000000)
static const char build_info[] = "seckill_build_info{version=\"" SECKILL_VERSION "\",compiler=\"";

#define SALE_LOCK "seckill:{cup}:lock"

static const struct metrics_stock stock[] = {{"cup", 12, 5, 7, 2, 0, 0, 0, 0},
                                             {"tea", 5, -2, 6, 0, 4, 2, 0, 0}};

static bool two_routes(size_t index, const char **out_method, const char **out_path)
{
    static const char *const paths[] = {"/a", "/b/{id}"};

    if (index >= 2) return false;
    *out_method = index == 0 ? "GET" : "POST";
    *out_path = paths[index];
    return true;
}

static int set_up(void **state)
{
    *state = metrics_new(two_routes);
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    metrics_free(*state);
    return 0;
}

static char *render(const struct metrics *metrics, bool is_store_up)
{
    size_t len = 0;
    char *text = metrics_render(metrics,
                                &(struct metrics_now){.queue_depth = 3,
                                                      .requests = 4,
                                                      .streams = 2,
                                                      .buyer_connections = 5,
                                                      .operator_connections = 1,
                                                      .redis = {5, 2, 16, 4},
                                                      .is_store_up = is_store_up,
                                                      .stock = stock,
                                                      .stock_count = 2},
                                &len);

    assert_non_null(text);
    assert_int_equal(strlen(text), len);
    return text;
}

/* Each of these lines, without their prefix. */
static void shows(const struct metrics *metrics, const char *lines)
{
    char *text = render(metrics, true);
    const char *line = NULL;

    for (size_t i = 0; (line = texts_at(lines, i)); i++) {
        char whole[160];

        (void)snprintf(whole, sizeof whole, "\nseckill_%s\n", line);
        if (!strstr(text, whole)) fail_msg("missing: %s", line);
    }
    free(text);
}

TEST(everything_is_there_from_the_start, struct metrics *metrics)
{
    static const char *const lines[] = {build_info, "\nprocess_cpu_seconds_total ",
                                        "\nprocess_resident_memory_bytes ", "\nprocess_open_fds ",
                                        "\nprocess_start_time_seconds "};
    char *text = render(metrics, true);

    shows(metrics,
          "sse_clients 2|sse_events_total{event=`snapshot`} 0|sse_events_total{event=`stock`} 0|"
          "sse_events_total{event=`orders`} 0|sse_events_total{event=`state`} 0|"
          "sse_dropped_total{reason=`full`} 0|sse_dropped_total{reason=`slow`} 0|"
          "sse_dropped_total{reason=`stopping`} 0|"
          "http_requests_total{method=`GET`,route=`/a`,code=`2xx`} 0|"
          "http_requests_total{method=`POST`,route=`/b/{id}`,code=`5xx`} 0|"
          "http_requests_total{method=`other`,route=`other`,code=`4xx`} 0|"
          "http_answers_total{code=`503`} 0|http_answers_total{code=`429`} 0|"
          "http_requests_in_flight 4|http_connections{port=`buyers`} 5|rate_limited_total 0|"
          "address_limited_total 0|purchase_seconds_bucket{le=`0.001`} 0|"
          "purchase_seconds_count 0|orders_total{guard=`mutex`,outcome=`created`} 0|"
          "orders_total{guard=`none`,outcome=`outcome-unknown`} 0|"
          "orders_total{guard=`unknown`,outcome=`no-such-sale`} 0|queue_depth 3|"
          "queue_wait_seconds_bucket{guard=`mutex`,le=`0.001`} 0|"
          "lock_wait_seconds_bucket{guard=`mutex`,le=`+Inf`} 0|"
          "lock_hold_seconds_sum{guard=`mutex`} 0.000000000|"
          "batch_seconds_count{guard=`script`} 0|batch_size_bucket{guard=`script`,le=`1024`} 0|"
          "lock_acquire_total{result=`busy`} 0|lock_release_total{result=`not-owner`} 0|"
          "lock_renewals_total{result=`lost`} 0|redis_round_trips_total{result=`unknown`} 0|"
          "redis_round_trip_seconds_count 0|redis_connects_total{result=`unreachable`} 0|"
          "redis_connections{state=`idle`} 3|redis_connections{state=`busy`} 2|"
          "redis_connections_max 16|redis_reconnects_total 4");
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (!strstr(text, lines[i])) fail_msg("missing: %s", lines[i]);
    free(text);
}

TEST(each_thing_is_counted_in_its_place, struct metrics *metrics)
{
    metrics_count_request(metrics, 2, 201);
    metrics_count_request(metrics, 0, 418);
    metrics_count_request(metrics, 99, 302);
    metrics_count(metrics, METRICS_RATE_LIMITED);
    metrics_count(metrics, METRICS_ADDRESS_LIMITED);
    metrics_count(metrics, METRICS_ADDRESS_LIMITED);
    metrics_count_events(metrics, EVENT_ORDERS, 3);
    metrics_count_drop(metrics, METRICS_DROP_SLOW);
    metrics_count_order(metrics, "mutex", OUTCOME_CREATED);
    metrics_count_order(metrics, "", OUTCOME_NO_SALE);
    metrics_on_event(&(struct lk_event){.type = LK_EVENT_RUN, .status = LK_BUSY}, metrics);
    metrics_on_event(&(struct lk_event){.type = LK_EVENT_RELEASE, .status = LK_NOT_OWNER}, metrics);

    shows(metrics,
          "http_requests_total{method=`POST`,route=`/b/{id}`,code=`2xx`} 1|"
          "http_requests_total{method=`other`,route=`other`,code=`4xx`} 1|"
          "http_requests_total{method=`other`,route=`other`,code=`other`} 1|"
          "http_answers_total{code=`201`} 1|http_answers_total{code=`other`} 2|"
          "rate_limited_total 1|address_limited_total 2|sse_events_total{event=`orders`} 3|"
          "sse_dropped_total{reason=`slow`} 1|orders_total{guard=`mutex`,outcome=`created`} 1|"
          "orders_total{guard=`unknown`,outcome=`no-such-sale`} 1|"
          "lock_acquire_total{result=`busy`} 1|lock_release_total{result=`not-owner`} 1");
}

TEST(histograms_add_up, struct metrics *metrics)
{
    metrics_time_purchase(metrics, 2 * MS);
    metrics_time_purchase(metrics, 300 * MS);
    metrics_time_purchase(metrics, 11000 * MS);
    metrics_on_batch("mutex", 8, 1 * MS, 600000, metrics);        /* on a bound: in it */
    metrics_on_batch("mutex", 2000, 20000 * MS, 600000, metrics); /* beyond the last */

    shows(metrics,
          "purchase_seconds_bucket{le=`0.001`} 0|purchase_seconds_bucket{le=`0.0025`} 1|"
          "purchase_seconds_bucket{le=`0.5`} 2|purchase_seconds_bucket{le=`10`} 2|"
          "purchase_seconds_bucket{le=`+Inf`} 3|purchase_seconds_sum 11.302000000|"
          "queue_wait_seconds_bucket{guard=`mutex`,le=`0.0005`} 0|"
          "queue_wait_seconds_bucket{guard=`mutex`,le=`0.001`} 1|"
          "queue_wait_seconds_bucket{guard=`mutex`,le=`10`} 1|"
          "queue_wait_seconds_bucket{guard=`mutex`,le=`+Inf`} 2|"
          "queue_wait_seconds_sum{guard=`mutex`} 20.001000000|"
          "batch_seconds_count{guard=`mutex`} 2|batch_seconds_sum{guard=`mutex`} 0.001200000|"
          "batch_size_bucket{guard=`mutex`,le=`4`} 0|batch_size_bucket{guard=`mutex`,le=`8`} 1|"
          "batch_size_sum{guard=`mutex`} 2008.000000000|lock_wait_seconds_count{guard=`mutex`} 0");
}

static void tell(struct metrics *metrics, lk_event_type type, int64_t at_ms, int64_t duration_ms,
                 const char *key)
{
    metrics_on_event(&(struct lk_event){.type = type,
                                        .status = LK_OK,
                                        .at_ns = at_ms * MS,
                                        .duration_ns = duration_ms * MS,
                                        .key = key,
                                        .token = key ? "token-1" : NULL},
                     metrics);
}

TEST(a_run_waits_until_its_last_round_trip_and_holds_within_it, struct metrics *metrics)
{
    tell(metrics, LK_EVENT_ROUND_TRIP, 1, 1, NULL); /* busy */
    tell(metrics, LK_EVENT_ROUND_TRIP, 9, 2, NULL);
    tell(metrics, LK_EVENT_RUN, 9, 9, SALE_LOCK);
    tell(metrics, LK_EVENT_RELEASE, 9, 9, SALE_LOCK);
    metrics_on_batch("mutex", 1, 0, 9 * MS, metrics);

    shows(metrics, "lock_wait_seconds_sum{guard=`mutex`} 0.007000000|"
                   "lock_wait_seconds_count{guard=`mutex`} 1|"
                   "lock_hold_seconds_sum{guard=`mutex`} 0.002000000|"
                   "redis_round_trip_seconds_sum 0.003000000");
    metrics_on_batch("script", 1, 0, 0, metrics); /* the next batch on this thread has no lock */
    shows(metrics, "lock_wait_seconds_count{guard=`script`} 0");
}

TEST(an_acquired_lock_is_held_until_its_release, struct metrics *metrics)
{
    tell(metrics, LK_EVENT_ACQUIRE, 100, 50, "seckill:node:7"); /* nobody's batch */
    tell(metrics, LK_EVENT_ACQUIRE, 105, 5, SALE_LOCK);
    tell(metrics, LK_EVENT_RELEASE, 117, 1, SALE_LOCK);
    metrics_on_batch("mutex", 1, 0, 20 * MS, metrics);

    shows(metrics, "lock_wait_seconds_sum{guard=`mutex`} 0.005000000|"
                   "lock_hold_seconds_sum{guard=`mutex`} 0.012000000");
}

TEST(stock_is_shown_while_redis_tells_it)
{
    char *text = render(*state, true);

    assert_true(app_promtext_value(text, "seckill_store_up") == 1);
    assert_true(app_promtext_value(text, "seckill_stock_remaining_units{sale=\"cup\"}") == 3);
    assert_true(app_promtext_value(text, "seckill_stock_initial_units{sale=\"cup\"}") == 12);
    assert_true(app_promtext_value(text, "seckill_stock_cooling_units{sale=\"cup\"}") == 2);
    assert_true(app_promtext_value(text, "seckill_oversold_units{sale=\"cup\"}") == 0);
    assert_true(app_promtext_value(text, "seckill_oversold_units{sale=\"tea\"}") == 2);
    free(text);
    text = render(*state, false);
    assert_true(app_promtext_value(text, "seckill_store_up") == 0);
    assert_null(strstr(text, "{sale="));
    free(text);
}

TEST(prometheus_can_read_it)
{
    for (int up = 0; up < 2; up++) {
        char *text = render(*state, up);
        char fault[512];

        if (!app_promtext_is_good(text, fault, sizeof fault)) fail_msg("%s", fault);
        free(text);
    }
}

TEST(faults_in_the_format_are_found)
{
    static const char *const faults[] = {
        "up 1\n",                                                 /* no HELP, no TYPE */
        "# HELP up \n# TYPE up gauge\nup 1\n",                    /* no text */
        "# HELP up x\n# TYPE up gouge\nup 1\n",                   /* no such type */
        "# HELP up x\n# TYPE up gauge\nup 1\nup 2\n",             /* twice */
        "# HELP up x\n# TYPE up gauge\nup one\n",                 /* no number */
        "# HELP up x\n# TYPE up gauge\nup 1",                     /* no end of line */
        "# HELP up x\n# TYPE up gauge\ndown 1\n",                 /* another name */
        "# HELP up x\n# TYPE up gauge\nup{a=1} 1\n",              /* no quotes */
        "# HELP up x\n# TYPE up gauge\nup{a=\"\\x\"} 1\n",        /* no such escape */
        "# HELP up x\n# TYPE up gauge\nup{a=\"1\" 1\n",           /* no brace */
        "# HELP up x\n# TYPE up gauge\nup{le=\"1\"} 1\n",         /* no histogram */
        "# HELP upTime x\n# TYPE upTime gauge\nupTime 1\n",       /* capitals */
        "# HELP up x\n# TYPE up counter\nup 1\n",                 /* not _total */
        "# HELP up_total x\n# TYPE up_total gauge\nup_total 1\n", /* no counter */
        "# HELP u x\n# TYPE u gauge\n# HELP u x\n# TYPE u gauge\n",
        "# HELP h x\n# TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_sum 1\nh_count 1\n", /* no +Inf */
        "# HELP h x\n# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 1\n",
        "# HELP h x\n# TYPE h histogram\nh_bucket{le=\"2\"} 1\nh_bucket{le=\"1\"} 1\n",
        "# HELP h x\n# TYPE h histogram\nh_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 2\n",
        "# HELP h x\n# TYPE h histogram\nh_bucket{le=\"+Inf\"} 1\n",
        "# HELP h x\n# TYPE h histogram\nh_sum 1\nh_count 1\n",
    };

    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        char fault[512];

        if (app_promtext_is_good(faults[i], fault, sizeof fault)) fail_msg("%s", faults[i]);
    }
}

static void *count_many(void *metrics)
{
    for (int i = 0; i < ROUNDS; i++) {
        metrics_count_request(metrics, 1, 200);
        metrics_count_order(metrics, "none", OUTCOME_SOLD_OUT);
        metrics_on_batch("none", 1, 0, 0, metrics);
    }
    return NULL;
}

TEST(threads_lose_no_count)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_many, *state), 0);
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);

    shows(*state, "http_answers_total{code=`200`} 20000|"
                  "orders_total{guard=`none`,outcome=`sold-out`} 20000|"
                  "batch_size_count{guard=`none`} 20000");
}

FIXTURE(set_up, tear_down);
