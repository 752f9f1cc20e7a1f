/*
 * How long the batches of one guard waited for their lock and held it, as the instances' histograms
 * in /metrics tell. Reading and arithmetic are pure.
 */
#ifndef LOADTEST_LOCK_TIMES_H
#define LOADTEST_LOCK_TIMES_H

#include <stdbool.h>

#include <jansson.h>

enum { HISTOGRAM_BOUNDS_MAX = 24 };

/* As Prometheus has it: `counts[i]` samples took at most `bounds_s[i]` seconds. */
struct histogram {
    int bound_count;
    double bounds_s[HISTOGRAM_BOUNDS_MAX];
    long long counts[HISTOGRAM_BOUNDS_MAX];
    long long count; /* all samples */
    double sum_s;
};

/* To and from histograms with the same bounds; one that is empty takes over the other's. */
void lock_times_add(struct histogram *sum, const struct histogram *more);
void lock_times_subtract_one(struct histogram *after, const struct histogram *before);
/*
 * The time that this share of the samples did not exceed, between two bounds in proportion.
 *
 * Units    share 0 .. 1; the result: ms. Beyond the last bound: that bound. No samples: 0.
 */
double lock_times_quantile_ms(const struct histogram *histogram, double share);

struct lock_times {
    struct histogram wait, hold;
};

void lock_times_read(const char *metrics, const char *guard, struct lock_times *out_times);
void lock_times_subtract(struct lock_times *after, const struct lock_times *before);

/* {"wait":{"count","mean_ms","p50_ms","p90_ms","p99_ms","buckets":{"0.001":N,...}},"hold":...} */
json_t *lock_times_json(const struct lock_times *times);

#endif
