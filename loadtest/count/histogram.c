/*
 * Text in, sums and quantiles out. Pure.
 */
#include "histogram.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_counters.h"

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

/* Behind NAME_bucket{guard="GUARD",le="; NULL when the line is another one. */
static const char *bound_of(const char *line, const char *head)
{
    size_t length = strlen(head);
    return strncmp(line, head, length) == 0 ? line + length : NULL;
}

void histogram_read(const char *metrics, const char *name, const char *guard,
                    struct histogram *out_histogram)
{
    struct histogram histogram = {.bound_count = 0};
    char head[128], sum[64], label[64];

    (void)snprintf(head, sizeof head, "%s_bucket{guard=\"%s\",le=\"", name, guard);
    (void)snprintf(sum, sizeof sum, "%s_sum", name);
    (void)snprintf(label, sizeof label, "guard=\"%s\"", guard);
    for (const char *line = metrics; *line; line = next_line(line)) {
        const char *bound = bound_of(line, head);
        const char *value = bound ? strstr(bound, "} ") : NULL;
        if (!value || value > next_line(line)) continue;
        long long count = strtoll(value + 2, NULL, 10);
        if (*bound == '+') histogram.count = count;
        if (*bound == '+' || histogram.bound_count == HISTOGRAM_BOUNDS_MAX) continue;
        histogram.bounds_s[histogram.bound_count] = strtod(bound, NULL);
        histogram.counts[histogram.bound_count++] = count;
    }
    histogram.sum_s = counters_sum(metrics, sum, label);
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

void histogram_add(struct histogram *sum, const struct histogram *more)
{
    combine(sum, more, 1);
}

void histogram_subtract(struct histogram *after, const struct histogram *before)
{
    combine(after, before, -1);
}

double histogram_quantile_ms(const struct histogram *histogram, double share)
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
