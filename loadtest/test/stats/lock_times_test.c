/*
 * Histograms out of a text of /metrics, and what is computed from them.
 */
#include "stats/lock_times.h"
#include "test/support/testing.h"

static const char metrics[] =
    "# TYPE seckill_lock_wait_seconds histogram\n"
    "seckill_lock_wait_seconds_bucket{guard=\"mutex\",le=\"0.001\"} 2\n"
    "seckill_lock_wait_seconds_bucket{guard=\"mutex\",le=\"0.01\"} 10\n"
    "seckill_lock_wait_seconds_bucket{guard=\"mutex\",le=\"0.1\"} 10\n"
    "seckill_lock_wait_seconds_bucket{guard=\"mutex\",le=\"+Inf\"} 11\n"
    "seckill_lock_wait_seconds_sum{guard=\"mutex\"} 5.500000000\n"
    "seckill_lock_wait_seconds_count{guard=\"mutex\"} 11\n"
    "seckill_lock_wait_seconds_bucket{guard=\"mutex-watchdog\",le=\"0.001\"} 7\n"
    "seckill_lock_wait_seconds_bucket{guard=\"mutex-watchdog\",le=\"+Inf\"} 7\n"
    "seckill_lock_hold_seconds_bucket{guard=\"mutex\",le=\"0.001\"} 4\n"
    "seckill_lock_hold_seconds_bucket{guard=\"mutex\",le=\"+Inf\"} 4\n"
    "seckill_lock_hold_seconds_sum{guard=\"mutex\"} 0.002000000\n";

static bool is_near(double value, double wanted)
{
    return value > wanted - 1e-9 && value < wanted + 1e-9;
}

TEST(a_guards_histograms_are_read)
{
    struct lock_times times;

    lock_times_read(metrics, "mutex", &times);
    assert_int_equal(3, times.wait.bound_count);
    assert_true(is_near(times.wait.bounds_s[1], 0.01));
    assert_int_equal(10, times.wait.counts[1]);
    assert_int_equal(11, times.wait.count);
    assert_true(is_near(times.wait.sum_s, 5.5));
    assert_int_equal(4, times.hold.count);
    lock_times_read(metrics, "script", &times);
    assert_int_equal(0, times.wait.count);
    assert_int_equal(0, times.wait.bound_count);
}

TEST(a_quantile_lies_between_two_bounds_in_proportion)
{
    struct lock_times times;

    lock_times_read(metrics, "mutex", &times);
    assert_true(is_near(lock_times_quantile_ms(&times.wait, 1.0 / 11), 0.5));
    assert_true(is_near(lock_times_quantile_ms(&times.wait, 2.0 / 11), 1));
    assert_true(is_near(lock_times_quantile_ms(&times.wait, 6.0 / 11), 5.5));
    assert_true(is_near(lock_times_quantile_ms(&times.wait, 1), 100)); /* it is not known better */
    lock_times_read(metrics, "script", &times);
    assert_true(is_near(lock_times_quantile_ms(&times.wait, 0.5), 0));
}

TEST(histograms_add_up_and_subtract)
{
    struct lock_times times;
    struct histogram sum = {.count = 0};

    lock_times_read(metrics, "mutex", &times);
    lock_times_add(&sum, &times.wait);
    lock_times_add(&sum, &times.wait);
    assert_int_equal(22, sum.count);
    assert_int_equal(20, sum.counts[2]);
    assert_true(
        is_near(lock_times_quantile_ms(&sum, 0.5), lock_times_quantile_ms(&times.wait, 0.5)));
    lock_times_subtract_one(&sum, &times.wait);
    assert_int_equal(11, sum.count);
    assert_int_equal(2, sum.counts[0]);
    assert_true(is_near(sum.sum_s, 5.5));
}

TEST(json_has_count_quantiles_and_buckets)
{
    struct lock_times times;

    lock_times_read(metrics, "mutex", &times);
    json_t *object = lock_times_json(&times);
    const json_t *wait = json_object_get(object, "wait");
    assert_int_equal(11, json_integer_value(json_object_get(wait, "count")));
    assert_true(is_near(json_real_value(json_object_get(wait, "mean_ms")), 500));
    assert_true(is_near(json_real_value(json_object_get(wait, "p99_ms")), 100));
    assert_int_equal(10,
                     json_integer_value(json_object_get(json_object_get(wait, "buckets"), "0.01")));
    assert_int_equal(4,
                     json_integer_value(json_object_get(json_object_get(object, "hold"), "count")));
    json_decref(object);
}
