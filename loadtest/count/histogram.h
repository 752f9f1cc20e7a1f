/*
 * A histogram of /metrics: reading and arithmetic. Pure.
 */
#ifndef LOADTEST_HISTOGRAM_H
#define LOADTEST_HISTOGRAM_H

enum { HISTOGRAM_BOUNDS_MAX = 24 };

/* As Prometheus has it: `counts[i]` samples took at most `bounds_s[i]` seconds. */
struct histogram {
    int bound_count;
    double bounds_s[HISTOGRAM_BOUNDS_MAX];
    long long counts[HISTOGRAM_BOUNDS_MAX];
    long long count; /* all samples */
    double sum_s;
};

/* The histogram NAME of a guard: "seckill_lock_wait_seconds". All zero when it is not there. */
void histogram_read(const char *metrics, const char *name, const char *guard,
                    struct histogram *out_histogram);
/* To and from histograms with the same bounds; one that is empty takes over the other's. */
void histogram_add(struct histogram *sum, const struct histogram *more);
void histogram_subtract(struct histogram *after, const struct histogram *before);
/*
 * The time that this share of the samples did not exceed, between two bounds in proportion.
 *
 * Units    share 0 .. 1; the result: ms. Beyond the last bound: that bound. No samples: 0.
 */
double histogram_quantile_ms(const struct histogram *histogram, double share);

#endif
