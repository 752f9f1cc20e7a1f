/*
 * Counters: all there from the start, in the right place afterwards, none lost between threads.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "metrics.h"

#define BUILD_INFO "seckill_build_info{version=\"" SECKILL_VERSION "\"} 1\n"

enum { THREADS = 4, ROUNDS = 5000 };

static int set_up(void **state)
{
    *state = metrics_new();
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    metrics_free(*state);
    return 0;
}

static bool shows(const struct metrics *metrics, const char *line)
{
    size_t len = 0;
    char *text = metrics_render(metrics, 3, &len);
    bool is_there = text && strlen(text) == len && strstr(text, line);

    free(text);
    return is_there;
}

static void everything_is_there_from_the_start(void **state)
{
    static const char *const lines[] = {
        "seckill_http_requests_total{code=\"503\"} 0\n",
        "seckill_orders_total{guard=\"mutex\",outcome=\"created\"} 0\n",
        "seckill_orders_total{guard=\"none\",outcome=\"outcome-unknown\"} 0\n",
        "seckill_batches_total{guard=\"script\"} 0\n",
        "seckill_batch_purchases_total{guard=\"script\"} 0\n",
        "seckill_queue_depth 3\n",
        "seckill_lock_wait_seconds_bucket{guard=\"mutex\",le=\"0.001\"} 0\n",
        "seckill_lock_wait_seconds_bucket{guard=\"mutex\",le=\"+Inf\"} 0\n",
        "seckill_lock_wait_seconds_sum{guard=\"mutex\"} 0.000000000\n",
        "seckill_batch_seconds_count 0\n",
        "seckill_lock_acquire_total{result=\"busy\"} 0\n",
        "seckill_lock_release_total{result=\"not-owner\"} 0\n",
        "seckill_lock_renewals_total{result=\"lost\"} 0\n",
        "seckill_redis_round_trips_total{result=\"unknown\"} 0\n",
        "seckill_redis_connects_total{result=\"unreachable\"} 0\n",
    };

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        assert_true(shows(*state, lines[i]));
    assert_true(shows(*state, BUILD_INFO));
}

static void each_thing_is_counted_in_its_place(void **state)
{
    struct metrics *metrics = *state;

    metrics_count_request(metrics, 201);
    metrics_count_request(metrics, 418);
    metrics_count_order(metrics, "mutex", OUTCOME_CREATED);
    metrics_count_order(metrics, "", OUTCOME_NO_SALE);
    metrics_on_event(&(struct lk_event){.type = LK_EVENT_RUN, .status = LK_BUSY}, metrics);
    metrics_on_event(&(struct lk_event){.type = LK_EVENT_RELEASE, .status = LK_NOT_OWNER}, metrics);

    assert_true(shows(metrics, "seckill_http_requests_total{code=\"201\"} 1\n"));
    assert_true(shows(metrics, "seckill_http_requests_total{code=\"other\"} 1\n"));
    assert_true(shows(metrics, "seckill_orders_total{guard=\"mutex\",outcome=\"created\"} 1\n"));
    assert_true(
        shows(metrics, "seckill_orders_total{guard=\"unknown\",outcome=\"no-such-sale\"} 1\n"));
    assert_true(shows(metrics, "seckill_lock_acquire_total{result=\"busy\"} 1\n"));
    assert_true(shows(metrics, "seckill_lock_release_total{result=\"not-owner\"} 1\n"));
}

static void histograms_add_up(void **state)
{
    struct metrics *metrics = *state;

    metrics_on_batch("mutex", 10, 1000000, 600000, metrics);    /* on a bound: in it */
    metrics_on_batch("mutex", 5, 20000000000, 600000, metrics); /* beyond the last */

    assert_true(shows(metrics, "seckill_batches_total{guard=\"mutex\"} 2\n"));
    assert_true(shows(metrics, "seckill_batch_purchases_total{guard=\"mutex\"} 15\n"));
    assert_true(
        shows(metrics, "seckill_lock_wait_seconds_bucket{guard=\"mutex\",le=\"0.0005\"} 0\n"));
    assert_true(
        shows(metrics, "seckill_lock_wait_seconds_bucket{guard=\"mutex\",le=\"0.001\"} 1\n"));
    assert_true(shows(metrics, "seckill_lock_wait_seconds_bucket{guard=\"mutex\",le=\"10\"} 1\n"));
    assert_true(
        shows(metrics, "seckill_lock_wait_seconds_bucket{guard=\"mutex\",le=\"+Inf\"} 2\n"));
    assert_true(shows(metrics, "seckill_lock_wait_seconds_count{guard=\"mutex\"} 2\n"));
    assert_true(shows(metrics, "seckill_lock_wait_seconds_sum{guard=\"mutex\"} 20.001000000\n"));
    assert_true(shows(metrics, "seckill_batch_seconds_count 2\n"));
}

static void *count_much(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        metrics_count_request(arg, 409);
        metrics_count_order(arg, "script", OUTCOME_SOLD_OUT);
    }
    return NULL;
}

static void no_count_is_lost_between_threads(void **state)
{
    pthread_t threads[THREADS];

    for (size_t i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, count_much, *state) != 0) abort();
    }
    for (size_t i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);

    assert_true(shows(*state, "seckill_http_requests_total{code=\"409\"} 20000\n"));
    assert_true(
        shows(*state, "seckill_orders_total{guard=\"script\",outcome=\"sold-out\"} 20000\n"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(everything_is_there_from_the_start),
        TEST(each_thing_is_counted_in_its_place),
        TEST(histograms_add_up),
        TEST(no_count_is_lost_between_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
