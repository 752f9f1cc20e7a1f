/*
 * How long the batches of one guard waited for their lock and held it, as the instances' histograms
 * in /metrics tell. Reading and arithmetic are pure.
 */
#ifndef LOADTEST_LOCK_TIMES_H
#define LOADTEST_LOCK_TIMES_H

#include <jansson.h>

#include "histogram.h"
#include "under_test.h"

struct lock_times {
    struct histogram wait, hold;
};

void lock_times_read(const char *metrics, const char *guard, struct lock_times *out_times);
void lock_times_subtract(struct lock_times *after, const struct lock_times *before);

/* Of all instances together. false: one did not answer. */
bool lock_times_ask(const struct service *service, const char *guard, struct lock_times *out_times);

/* {"wait":{"count","mean_ms","p50_ms","p90_ms","p99_ms","buckets":{"0.001":N,...}},"hold":...} */
json_t *lock_times_json(const struct lock_times *times);

#endif
