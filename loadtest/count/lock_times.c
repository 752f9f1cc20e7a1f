/*
 * Two histograms of /metrics. One thread.
 */
#include "lock_times.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json_file.h"
#include "bench_counters.h"

static const char wait_metric[] = "seckill_lock_wait_seconds";
static const char hold_metric[] = "seckill_lock_hold_seconds";

void lock_times_read(const char *metrics, const char *guard, struct lock_times *out_times)
{
    histogram_read(metrics, wait_metric, guard, &out_times->wait);
    histogram_read(metrics, hold_metric, guard, &out_times->hold);
}

void lock_times_subtract(struct lock_times *after, const struct lock_times *before)
{
    histogram_subtract(&after->wait, &before->wait);
    histogram_subtract(&after->hold, &before->hold);
}

bool lock_times_ask(const struct service *service, const char *guard, struct lock_times *out_times)
{
    *out_times = (struct lock_times){.wait = {.count = 0}};
    for (int i = 0; i < service->count; i++) {
        struct lock_times one;
        char *metrics = counters_fetch(service->http, service->instances[i].url, NULL);
        if (!metrics) return false;
        lock_times_read(metrics, guard, &one);
        free(metrics);
        histogram_add(&out_times->wait, &one.wait);
        histogram_add(&out_times->hold, &one.hold);
    }
    return true;
}

static json_t *histogram_json(const struct histogram *histogram)
{
    json_t *buckets = json_object();
    double mean_s = histogram->count > 0 ? histogram->sum_s / (double)histogram->count : 0;

    for (int i = 0; i < histogram->bound_count; i++) {
        char bound[32];
        (void)snprintf(bound, sizeof bound, "%g", histogram->bounds_s[i]);
        json_file_put(buckets, bound, json_integer((json_int_t)histogram->counts[i]));
    }
    return json_pack("{s:I,s:f,s:f,s:f,s:f,s:o}", "count", (json_int_t)histogram->count, "mean_ms",
                     1000 * mean_s, "p50_ms", histogram_quantile_ms(histogram, 0.50), "p90_ms",
                     histogram_quantile_ms(histogram, 0.90), "p99_ms",
                     histogram_quantile_ms(histogram, 0.99), "buckets", buckets);
}

json_t *lock_times_json(const struct lock_times *times)
{
    return json_pack("{s:o,s:o}", "wait", histogram_json(&times->wait), "hold",
                     histogram_json(&times->hold));
}
