/*
 * Counters and histograms as relaxed atomics: a reader may see one counter a moment before another,
 * never a torn or a shrinking one. Counted on any thread, rendered on whichever serves /metrics.
 *
 * The counters of the hot path (requests, orders) sit on their own cache lines.
 */
#include "metrics.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"

enum { CACHE_LINE = 64, GUARDS_MAX = 32, BUCKETS = 12 };

/* The last place is for statuses that are not in the list. */
static const int statuses[] = {200, 201, 400, 401, 403, 404, 405, 408,
                               409, 410, 411, 413, 415, 500, 503, 0};
enum { STATUS_COUNT = sizeof statuses / sizeof statuses[0] };

/* Upper bounds; the bucket after them is +Inf. */
static const struct {
    int64_t ns;
    const char *seconds;
} bounds[BUCKETS] = {
    {100000, "0.0001"},  {250000, "0.00025"}, {500000, "0.0005"}, {1000000, "0.001"},
    {2500000, "0.0025"}, {5000000, "0.005"},  {10000000, "0.01"}, {25000000, "0.025"},
    {50000000, "0.05"},  {100000000, "0.1"},  {1000000000, "1"},  {10000000000, "10"},
};

/* One counter per status of lockkit; only those that can occur are shown, plus what did. */
struct by_status {
    atomic_ullong count[LK_STATUS_COUNT];
};

struct histogram {
    atomic_ullong bucket[BUCKETS + 1]; /* each on its own; summed up when rendered */
    atomic_ullong sum_ns;
};

struct guard_metrics {
    atomic_ullong orders[OUTCOME_COUNT];
    atomic_ullong batches;
    atomic_ullong purchases;
    struct histogram wait;
} __attribute__((aligned(CACHE_LINE)));

struct metrics {
    atomic_ullong requests[STATUS_COUNT] __attribute__((aligned(CACHE_LINE)));
    struct guard_metrics guards[GUARDS_MAX + 1]; /* as guard_at(); [guard_count]: not known */
    struct histogram batch_time;
    struct by_status acquires;
    struct by_status releases;
    struct by_status renewals;
    struct by_status round_trips;
    struct by_status connects;
    size_t guard_count;
};

static void add(atomic_ullong *counter, unsigned long long count)
{
    atomic_fetch_add_explicit(counter, count, memory_order_relaxed);
}

static unsigned long long read_count(const atomic_ullong *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

struct metrics *metrics_new(void)
{
    struct metrics *self = aligned_alloc(CACHE_LINE, sizeof *self);

    if (!self) return NULL;
    memset(self, 0, sizeof *self);
    while (self->guard_count < GUARDS_MAX && guard_at(self->guard_count))
        self->guard_count++;
    return self;
}

void metrics_free(struct metrics *self)
{
    free(self);
}

void metrics_count_request(struct metrics *self, int status)
{
    size_t i = 0;

    while (i < STATUS_COUNT - 1 && statuses[i] != status)
        i++;
    add(&self->requests[i], 1);
}

static struct guard_metrics *guard_metrics_of(struct metrics *self, const char *guard)
{
    size_t i = 0;

    while (i < self->guard_count && strcmp(guard_at(i)->name, guard) != 0)
        i++;
    return &self->guards[i];
}

void metrics_count_order(struct metrics *self, const char *guard, outcome result)
{
    add(&guard_metrics_of(self, guard)->orders[result], 1);
}

static void observe(struct histogram *histogram, int64_t ns)
{
    size_t i = 0;

    while (i < BUCKETS && ns > bounds[i].ns)
        i++;
    add(&histogram->bucket[i], 1);
    if (ns > 0) add(&histogram->sum_ns, (unsigned long long)ns);
}

void metrics_on_batch(const char *guard, size_t count, int64_t waited_ns, int64_t ran_ns, void *arg)
{
    struct metrics *self = arg;
    struct guard_metrics *of_guard = guard_metrics_of(self, guard);

    add(&of_guard->batches, 1);
    add(&of_guard->purchases, count);
    observe(&of_guard->wait, waited_ns);
    observe(&self->batch_time, ran_ns);
}

void metrics_on_event(const struct lk_event *event, void *arg)
{
    struct metrics *self = arg;
    struct by_status *of_event = NULL;

    switch (event->type) {
    case LK_EVENT_ACQUIRE:
    case LK_EVENT_RUN:
        of_event = &self->acquires;
        break;
    case LK_EVENT_RELEASE:
        of_event = &self->releases;
        break;
    case LK_EVENT_RENEW:
        of_event = &self->renewals;
        break;
    case LK_EVENT_ROUND_TRIP:
        of_event = &self->round_trips;
        break;
    case LK_EVENT_CONNECT:
        of_event = &self->connects;
        break;
    case LK_EVENT_LOST: /* its renewal or release has said so */
    case LK_EVENT_COUNT:
        return;
    }
    add(&of_event->count[event->status], 1);
}

/* ---- rendering: any thread, into memory of its own ------------------------------------------- */

static void print_head(FILE *out, const char *name, const char *type, const char *help)
{
    (void)fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static const char *guard_name(const struct metrics *self, size_t i)
{
    return i < self->guard_count ? guard_at(i)->name : "unknown";
}

static void print_requests(FILE *out, const struct metrics *self)
{
    print_head(out, "seckill_http_requests_total", "counter", "Requests answered.");
    for (size_t i = 0; i < STATUS_COUNT; i++) {
        char code[12] = "other";

        if (statuses[i]) (void)snprintf(code, sizeof code, "%d", statuses[i]);
        (void)fprintf(out, "seckill_http_requests_total{code=\"%s\"} %llu\n", code,
                      read_count(&self->requests[i]));
    }
}

static void print_orders(FILE *out, const struct metrics *self)
{
    print_head(out, "seckill_orders_total", "counter", "Purchases by guard and outcome.");
    for (size_t i = 0; i <= self->guard_count; i++) {
        for (int o = 0; o < OUTCOME_COUNT; o++) {
            (void)fprintf(out, "seckill_orders_total{guard=\"%s\",outcome=\"%s\"} %llu\n",
                          guard_name(self, i), outcome_name((outcome)o),
                          read_count(&self->guards[i].orders[o]));
        }
    }
}

static void print_batches(FILE *out, const struct metrics *self)
{
    print_head(out, "seckill_batches_total", "counter", "Runs of a guard.");
    for (size_t i = 0; i < self->guard_count; i++)
        (void)fprintf(out, "seckill_batches_total{guard=\"%s\"} %llu\n", guard_name(self, i),
                      read_count(&self->guards[i].batches));
    print_head(out, "seckill_batch_purchases_total", "counter", "Purchases in these runs.");
    for (size_t i = 0; i < self->guard_count; i++)
        (void)fprintf(out, "seckill_batch_purchases_total{guard=\"%s\"} %llu\n",
                      guard_name(self, i), read_count(&self->guards[i].purchases));
}

/* `label` is `guard="mutex"` or "". */
static void print_histogram(FILE *out, const char *name, const char *label,
                            const struct histogram *histogram)
{
    const char *comma = *label ? "," : "";
    const char *open = *label ? "{" : "";
    const char *close = *label ? "}" : "";
    unsigned long long count = 0;

    for (size_t i = 0; i < BUCKETS; i++) {
        count += read_count(&histogram->bucket[i]);
        (void)fprintf(out, "%s_bucket{%s%sle=\"%s\"} %llu\n", name, label, comma, bounds[i].seconds,
                      count);
    }
    count += read_count(&histogram->bucket[BUCKETS]);
    (void)fprintf(out, "%s_bucket{%s%sle=\"+Inf\"} %llu\n", name, label, comma, count);
    (void)fprintf(out, "%s_sum%s%s%s %.9f\n", name, open, label, close,
                  (double)read_count(&histogram->sum_ns) / 1e9);
    (void)fprintf(out, "%s_count%s%s%s %llu\n", name, open, label, close, count);
}

static void print_histograms(FILE *out, const struct metrics *self)
{
    char label[SALE_GUARD_MAX + 16];

    print_head(out, "seckill_lock_wait_seconds", "histogram",
               "How long a batch's first purchase waited until its batch ran.");
    for (size_t i = 0; i < self->guard_count; i++) {
        (void)snprintf(label, sizeof label, "guard=\"%s\"", guard_name(self, i));
        print_histogram(out, "seckill_lock_wait_seconds", label, &self->guards[i].wait);
    }
    print_head(out, "seckill_batch_seconds", "histogram", "How long a guard ran.");
    print_histogram(out, "seckill_batch_seconds", "", &self->batch_time);
}

static void print_by_status(FILE *out, const char *name, const char *help,
                            const struct by_status *counters)
{
    print_head(out, name, "counter", help);
    for (int status = 0; status < LK_STATUS_COUNT; status++)
        (void)fprintf(out, "%s{result=\"%s\"} %llu\n", name, lk_status_name((lk_status)status),
                      read_count(&counters->count[status]));
}

static void print_all(FILE *out, const struct metrics *self, unsigned queue_depth)
{
    print_requests(out, self);
    print_orders(out, self);
    print_batches(out, self);
    print_head(out, "seckill_queue_depth", "gauge", "Purchases waiting or running now.");
    (void)fprintf(out, "seckill_queue_depth %u\n", queue_depth);
    print_histograms(out, self);
    print_by_status(out, "seckill_lock_acquire_total", "Acquires of locks.", &self->acquires);
    print_by_status(out, "seckill_lock_release_total",
                    "Releases; not-owner: a lease was too short.", &self->releases);
    print_by_status(out, "seckill_lock_renewals_total", "Renewals of leases.", &self->renewals);
    print_by_status(out, "seckill_redis_round_trips_total", "Pipelines sent to Redis.",
                    &self->round_trips);
    print_by_status(out, "seckill_redis_connects_total", "Connections to Redis.", &self->connects);
    print_head(out, "seckill_build_info", "gauge", "The version that runs.");
    (void)fprintf(out, "seckill_build_info{version=\"%s\"} 1\n", SECKILL_VERSION);
}

char *metrics_render(const struct metrics *self, unsigned queue_depth, size_t *out_len)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, out_len);

    if (!out) return NULL;
    print_all(out, self, queue_depth);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}
