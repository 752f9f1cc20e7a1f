/*
 * Histograms of /metrics: text in, sums and quantiles out. One thread.
 */
#include "lock_times.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_file.h"
#include "bench_counters.h"

/* Behind NAME_bucket{guard="GUARD",le="; NULL when the line is another one. */
static const char *bound_of(const char *line, const char *head)
{
    size_t length = strlen(head);
    return strncmp(line, head, length) == 0 ? line + length : NULL;
}

/* The histogram NAME of a guard: "seckill_lock_wait_seconds". All zero when it is not there. */
static void histogram_read(const char *metrics, const char *name, const char *guard,
                           struct histogram *out_histogram)
{
    struct histogram histogram = {.bound_count = 0};
    char head[128], sum[64], label[64];

    (void)snprintf(head, sizeof head, "%s_bucket{guard=\"%s\",le=\"", name, guard);
    (void)snprintf(sum, sizeof sum, "%s_sum", name);
    (void)snprintf(label, sizeof label, "guard=\"%s\"", guard);
    for (const char *line = metrics; *line; line = bench_counters_next_line(line)) {
        const char *bound = bound_of(line, head);
        const char *value = bound ? strstr(bound, "} ") : NULL;
        if (!value || value > bench_counters_next_line(line)) continue;
        long long count = strtoll(value + 2, NULL, 10);
        if (*bound == '+') histogram.count = count;
        if (*bound == '+' || histogram.bound_count == HISTOGRAM_BOUNDS_MAX) continue;
        histogram.bounds_s[histogram.bound_count] = strtod(bound, NULL);
        histogram.counts[histogram.bound_count++] = count;
    }
    histogram.sum_s = bench_counters_sum(metrics, sum, label);
    *out_histogram = histogram;
}

/* sum + sign * more */
static void combine(struct histogram *sum, const struct histogram *more, int sign)
{
    if (sum->bound_count == 0) {
        sum->bound_count = more->bound_count;
        memcpy(sum->bounds_s, more->bounds_s, sizeof sum->bounds_s);
    }
    for (int i = 0; i < sum->bound_count && i < more->bound_count; i++)
        sum->counts[i] += sign * more->counts[i];
    sum->count += sign * more->count;
    sum->sum_s += sign * more->sum_s;
}

void lock_times_add(struct histogram *sum, const struct histogram *more)
{
    combine(sum, more, 1);
}

void lock_times_subtract_one(struct histogram *after, const struct histogram *before)
{
    combine(after, before, -1);
}

double lock_times_quantile_ms(const struct histogram *histogram, double share)
{
    double rank = share * (double)histogram->count;
    double from_s = 0;
    long long below = 0;

    if (histogram->count <= 0) return 0;
    for (int i = 0; i < histogram->bound_count; i++) {
        long long inside = histogram->counts[i] - below;
        double to_s = histogram->bounds_s[i];
        if (inside > 0 && (double)histogram->counts[i] >= rank)
            return 1000 * (from_s + (to_s - from_s) * (rank - (double)below) / (double)inside);
        below = histogram->counts[i];
        from_s = to_s;
    }
    return 1000 * from_s;
}

/* ---- of a guard ---- */

static const char wait_metric[] = "seckill_lock_wait_seconds";
static const char hold_metric[] = "seckill_lock_hold_seconds";

void lock_times_read(const char *metrics, const char *guard, struct lock_times *out_times)
{
    histogram_read(metrics, wait_metric, guard, &out_times->wait);
    histogram_read(metrics, hold_metric, guard, &out_times->hold);
}

void lock_times_subtract(struct lock_times *after, const struct lock_times *before)
{
    lock_times_subtract_one(&after->wait, &before->wait);
    lock_times_subtract_one(&after->hold, &before->hold);
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
                     1000 * mean_s, "p50_ms", lock_times_quantile_ms(histogram, 0.50), "p90_ms",
                     lock_times_quantile_ms(histogram, 0.90), "p99_ms",
                     lock_times_quantile_ms(histogram, 0.99), "buckets", buckets);
}

json_t *lock_times_json(const struct lock_times *times)
{
    return json_pack("{s:o,s:o}", "wait", histogram_json(&times->wait), "hold",
                     histogram_json(&times->hold));
}
