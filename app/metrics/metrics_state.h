/*
 * The counters: metrics.c updates them, metrics_render.c prints them. No other file includes this header.
 *
 * The counters of the hot path (requests, orders) sit on their own cache lines.
 */
#ifndef SECKILL_METRICS_STATE_H
#define SECKILL_METRICS_STATE_H

#include <stdatomic.h>

#include "base/list.h"
#include "metrics.h"

enum {
    METRICS_CACHE_LINE = 64,
    METRICS_GUARDS_MAX = 32,
    METRICS_ROUTES_MAX = 64,
    METRICS_BUCKETS_MAX = 12,
    METRICS_STATUSES = 18, /* the last place is for those that are not in the list */
};

extern const int metrics_statuses[METRICS_STATUSES]; /* 0 at the end */

/* X(value, label) */
#define METRICS_CLASS_LIST(X)                                                                      \
    X(METRICS_2XX, "2xx") X(METRICS_4XX, "4xx") X(METRICS_5XX, "5xx") X(METRICS_OTHER, "other")

typedef enum metrics_class { METRICS_CLASS_LIST(LIST_VALUE) METRICS_CLASS_COUNT } metrics_class;

/* The upper bounds of a histogram; the bucket after them is +Inf. */
struct metrics_scale {
    size_t count;
    double unit; /* how many of our units make one of what is shown */
    int64_t bound[METRICS_BUCKETS_MAX];
};

extern const struct metrics_scale metrics_seconds; /* our units: ns */
extern const struct metrics_scale metrics_waits;   /* the same, of what a buyer waits for */
extern const struct metrics_scale metrics_sizes;

struct metrics_histogram {
    atomic_ullong bucket[METRICS_BUCKETS_MAX + 1]; /* each on its own; summed up when rendered */
    atomic_ullong sum;
};

/* One counter per status of lockkit. */
struct metrics_by_status {
    atomic_ullong count[LK_STATUS_COUNT];
};

struct metrics_of_guard {
    atomic_ullong orders[OUTCOME_COUNT];
    struct metrics_histogram queue_wait;
    struct metrics_histogram lock_wait;
    struct metrics_histogram lock_hold;
    struct metrics_histogram batch_size;
    struct metrics_histogram batch_time;
} __attribute__((aligned(METRICS_CACHE_LINE)));

struct metrics {
    struct metrics_of_guard guards[METRICS_GUARDS_MAX + 1]; /* as guards_at(); last: not known */
    atomic_ullong answers[METRICS_STATUSES] __attribute__((aligned(METRICS_CACHE_LINE)));
    atomic_ullong events[EVENT_KIND_COUNT];
    atomic_ullong drops[METRICS_DROP_COUNT];
    atomic_ullong payments[PAY_RESULT_COUNT];
    /* As metrics_new() was told, from 1 on; [0]: requests that fit no route. */
    atomic_ullong requests[METRICS_ROUTES_MAX + 1][METRICS_CLASS_COUNT]
        __attribute__((aligned(METRICS_CACHE_LINE)));
    atomic_ullong counters[METRICS_COUNTER_COUNT];
    metrics_route_at route_at;
    size_t guard_count;
    size_t route_count;
    struct metrics_histogram round_trip_time;
    struct metrics_by_status acquires;
    struct metrics_by_status releases;
    struct metrics_by_status renewals;
    struct metrics_by_status round_trips;
    struct metrics_by_status connects;
    struct metrics_histogram purchase_time;
};

static inline unsigned long long metrics_read(const atomic_ullong *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

#endif
