/*
 * The counters as text, in Prometheus' format. Runs on any thread, into memory of its own.
 *
 * Per metric: HELP, TYPE, then all of its samples together; every label value from the start. A
 * label never holds what a client chose: sales are the operator's, and a bounded number of them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/stack.h"
#include "guards/guards.h"
#include "metrics_state.h"
#include "process_usage.h"

static void print_head(FILE *out, const char *name, const char *type, const char *help)
{
    (void)fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static const char *guard_name(const struct metrics *self, size_t i)
{
    return i < self->guard_count ? guards_at(i)->name : "unknown";
}

/* ---- HTTP ------------------------------------------------------------------------------------ */

static void print_route(FILE *out, const struct metrics *self, size_t route)
{
    static const char *const labels[] = {
#define CLASS_LABEL(value, label) [value] = (label),
        METRICS_CLASS_LIST(CLASS_LABEL)
#undef CLASS_LABEL
    };
    const char *method = "other";
    const char *path = "other";

    if (route > 0) (void)self->route_at(route - 1, &method, &path); /* it was there at the start */
    for (int i = 0; i < METRICS_CLASS_COUNT; i++) {
        (void)fprintf(out,
                      "seckill_http_requests_total{method=\"%s\",route=\"%s\",code=\"%s\"} %llu\n",
                      method, path, labels[i], metrics_read(&self->requests[route][i]));
    }
}

static void print_requests(FILE *out, const struct metrics *self, const struct metrics_now *now)
{
    print_head(out, "seckill_http_requests_total", "counter",
               "Requests answered, by route and class of status; HEAD counts as GET.");
    for (size_t route = 0; route <= self->route_count; route++)
        print_route(out, self, route);
    print_head(out, "seckill_http_answers_total", "counter", "Requests answered, by status.");
    for (size_t i = 0; i < METRICS_STATUSES; i++) {
        char code[12] = "other";

        if (metrics_statuses[i]) (void)snprintf(code, sizeof code, "%d", metrics_statuses[i]);
        (void)fprintf(out, "seckill_http_answers_total{code=\"%s\"} %llu\n", code,
                      metrics_read(&self->answers[i]));
    }
    print_head(out, "seckill_http_requests_in_flight", "gauge", "Requests being answered now.");
    (void)fprintf(out, "seckill_http_requests_in_flight %u\n", now->requests);
    print_head(out, "seckill_http_connections", "gauge", "Connections open now.");
    (void)fprintf(out, "seckill_http_connections{port=\"buyers\"} %u\n", now->buyer_connections);
    (void)fprintf(out, "seckill_http_connections{port=\"operators\"} %u\n",
                  now->operator_connections);
    print_head(out, "seckill_rate_limited_total", "counter", "Requests of buyers over --rate.");
    (void)fprintf(out, "seckill_rate_limited_total %llu\n", metrics_read(&self->rate_limited));
    print_head(out, "seckill_address_limited_total", "counter",
               "Requests of addresses over --address-rate.");
    (void)fprintf(out, "seckill_address_limited_total %llu\n",
                  metrics_read(&self->address_limited));
}

/* ---- sales ----------------------------------------------------------------------------------- */

static void print_orders(FILE *out, const struct metrics *self)
{
    print_head(out, "seckill_orders_total", "counter", "Purchases by guard and outcome.");
    for (size_t i = 0; i <= self->guard_count; i++) {
        for (int o = 0; o < OUTCOME_COUNT; o++) {
            (void)fprintf(out, "seckill_orders_total{guard=\"%s\",outcome=\"%s\"} %llu\n",
                          guard_name(self, i), sale_outcome_name((outcome)o),
                          metrics_read(&self->guards[i].orders[o]));
        }
    }
}

/* Units sold beyond what was put up, by whichever of the two accounts says more. */
static int64_t oversold(const struct metrics_stock *stock)
{
    int64_t by_orders = stock->orders - stock->initial;
    int64_t by_stock = -stock->left;
    int64_t more = by_orders > by_stock ? by_orders : by_stock;

    return more > 0 ? more : 0;
}

static void print_stock_gauge(FILE *out, const struct metrics_now *now, const char *name,
                              const char *help, int64_t (*value)(const struct metrics_stock *stock))
{
    print_head(out, name, "gauge", help);
    for (size_t i = 0; i < now->stock_count; i++)
        (void)fprintf(out, "%s{sale=\"%s\"} %lld\n", name, now->stock[i].sale_id,
                      (long long)value(&now->stock[i]));
}

static int64_t left_of(const struct metrics_stock *stock)
{
    return stock->left - stock->cooling;
}

static int64_t cooling_of(const struct metrics_stock *stock)
{
    return stock->cooling;
}

static int64_t initial_of(const struct metrics_stock *stock)
{
    return stock->initial;
}

/* Units put up that are neither left nor anybody's, or, negative, that are both. */
static int64_t drift_of(const struct metrics_stock *stock)
{
    return stock->initial - stock->orders - stock->left;
}

static void print_readiness(FILE *out, const struct metrics_now *now)
{
    print_head(out, "seckill_ready", "gauge",
               "What /readyz says; left out when nobody has asked it for 15 s.");
    if (now->is_readiness_known) (void)fprintf(out, "seckill_ready %d\n", now->is_ready ? 1 : 0);
}

static void print_stock(FILE *out, const struct metrics_now *now)
{
    print_head(out, "seckill_store_up", "gauge",
               "Whether Redis told the stock, a second ago at most; 0: it is left out below.");
    (void)fprintf(out, "seckill_store_up %d\n", now->is_store_up ? 1 : 0);
    if (!now->is_store_up) return;
    print_stock_gauge(out, now, "seckill_stock_remaining_units",
                      "Units left, of the first 50 sales by id.", left_of);
    print_stock_gauge(out, now, "seckill_stock_cooling_units",
                      "Units of a restock that are for sale a moment later.", cooling_of);
    print_stock_gauge(out, now, "seckill_stock_initial_units",
                      "Units put up for sale, restocks included.", initial_of);
    print_stock_gauge(out, now, "seckill_oversold_units",
                      "Units sold beyond those put up; anything but 0 is a fault.", oversold);
    print_stock_gauge(out, now, "seckill_stock_drift_units",
                      "Units put up less orders less units in stock; anything but 0 is a fault.",
                      drift_of);
}

/* ---- streams of events ----------------------------------------------------------------------- */

static void print_streams(FILE *out, const struct metrics *self, const struct metrics_now *now)
{
    static const char *const reasons[] = {
#define DROP_LABEL(value, label) [value] = (label),
        METRICS_DROP_LIST(DROP_LABEL)
#undef DROP_LABEL
    };

    print_head(out, "seckill_sse_clients", "gauge", "Streams of events open now.");
    (void)fprintf(out, "seckill_sse_clients %u\n", now->streams);
    print_head(out, "seckill_sse_events_total", "counter", "Events written to streams.");
    for (int i = 0; i < EVENT_KIND_COUNT; i++)
        (void)fprintf(out, "seckill_sse_events_total{event=\"%s\"} %llu\n",
                      events_kind_name((event_kind)i), metrics_read(&self->events[i]));
    print_head(out, "seckill_sse_dropped_total", "counter",
               "Streams that were refused, or ended by the service.");
    for (int i = 0; i < METRICS_DROP_COUNT; i++)
        (void)fprintf(out, "seckill_sse_dropped_total{reason=\"%s\"} %llu\n", reasons[i],
                      metrics_read(&self->drops[i]));
}

/* ---- histograms ------------------------------------------------------------------------------ */

/* `label` is `guard="mutex"` or "". */
static void print_samples(FILE *out, const char *name, const char *label,
                          const struct metrics_histogram *histogram,
                          const struct metrics_scale *scale)
{
    const char *comma = *label ? "," : "";
    const char *open = *label ? "{" : "";
    const char *close = *label ? "}" : "";
    unsigned long long count = 0;

    for (size_t i = 0; i < scale->count; i++) {
        count += metrics_read(&histogram->bucket[i]);
        (void)fprintf(out, "%s_bucket{%s%sle=\"%s\"} %llu\n", name, label, comma, scale->at[i].text,
                      count);
    }
    count += metrics_read(&histogram->bucket[scale->count]);
    (void)fprintf(out, "%s_bucket{%s%sle=\"+Inf\"} %llu\n", name, label, comma, count);
    (void)fprintf(out, "%s_sum%s%s%s %.9f\n", name, open, label, close,
                  (double)metrics_read(&histogram->sum) / scale->unit);
    (void)fprintf(out, "%s_count%s%s%s %llu\n", name, open, label, close, count);
}

struct guard_histogram {
    const char *name;
    const char *help;
    size_t offset; /* in struct metrics_of_guard */
    const struct metrics_scale *scale;
};

#define OF_GUARD(member) offsetof(struct metrics_of_guard, member)

static const struct guard_histogram guard_histograms[] = {
    {"seckill_queue_wait_seconds", "How long a batch's first purchase waited until its batch ran.",
     OF_GUARD(queue_wait), &metrics_seconds},
    {"seckill_lock_wait_seconds", "How long a batch waited for its lock.", OF_GUARD(lock_wait),
     &metrics_seconds},
    {"seckill_lock_hold_seconds", "How long a batch held its lock, at most.", OF_GUARD(lock_hold),
     &metrics_seconds},
    {"seckill_batch_seconds", "How long a guard ran.", OF_GUARD(batch_time), &metrics_seconds},
    {"seckill_batch_size", "Purchases served together by one run of a guard.", OF_GUARD(batch_size),
     &metrics_sizes},
};

static void print_guard_histogram(FILE *out, const struct metrics *self,
                                  const struct guard_histogram *row)
{
    char label[SALE_GUARD_MAX + 16];

    print_head(out, row->name, "histogram", row->help);
    for (size_t i = 0; i < self->guard_count; i++) {
        const char *of_guard = (const char *)&self->guards[i];

        (void)snprintf(label, sizeof label, "guard=\"%s\"", guard_name(self, i));
        print_samples(out, row->name, label,
                      (const struct metrics_histogram *)(const void *)(of_guard + row->offset),
                      row->scale);
    }
}

/* ---- Redis ----------------------------------------------------------------------------------- */

static void print_by_status(FILE *out, const char *name, const char *help,
                            const struct metrics_by_status *counters)
{
    print_head(out, name, "counter", help);
    for (int status = 0; status < LK_STATUS_COUNT; status++)
        (void)fprintf(out, "%s{result=\"%s\"} %llu\n", name, lk_status_name((lk_status)status),
                      metrics_read(&counters->count[status]));
}

static void print_connections(FILE *out, const struct lk_pool_usage *usage)
{
    print_head(out, "seckill_redis_connections", "gauge", "Connections to Redis in the pool now.");
    (void)fprintf(out, "seckill_redis_connections{state=\"idle\"} %u\n", usage->open - usage->busy);
    (void)fprintf(out, "seckill_redis_connections{state=\"busy\"} %u\n", usage->busy);
    print_head(out, "seckill_redis_connections_max", "gauge",
               "Connections in the pool at most; with as many busy, calls wait.");
    (void)fprintf(out, "seckill_redis_connections_max %u\n", usage->max);
    print_head(out, "seckill_redis_reconnects_total", "counter",
               "Connections of the pool made in place of one that broke.");
    (void)fprintf(out, "seckill_redis_reconnects_total %" PRIu64 "\n", usage->reconnects);
}

static void print_redis(FILE *out, const struct metrics *self, const struct metrics_now *now)
{
    print_by_status(out, "seckill_lock_acquire_total", "Acquires of locks.", &self->acquires);
    print_by_status(out, "seckill_lock_release_total",
                    "Releases; not-owner: a lease was too short.", &self->releases);
    print_by_status(out, "seckill_lock_renewals_total", "Renewals of leases.", &self->renewals);
    print_by_status(out, "seckill_redis_round_trips_total", "Pipelines sent to Redis.",
                    &self->round_trips);
    print_head(out, "seckill_redis_round_trip_seconds", "histogram",
               "How long Redis took to answer a pipeline.");
    print_samples(out, "seckill_redis_round_trip_seconds", "", &self->round_trip_time,
                  &metrics_seconds);
    print_by_status(out, "seckill_redis_connects_total", "Connections made to Redis, or tried.",
                    &self->connects);
    print_head(out, "seckill_topology_changes_total", "counter",
               "Times that another server became the primary, or slots moved.");
    (void)fprintf(out, "seckill_topology_changes_total %llu\n",
                  metrics_read(&self->deployment_changes));
    print_connections(out, &now->redis);
}

static void print_all(FILE *out, const struct metrics *self, const struct metrics_now *now)
{
    print_requests(out, self, now);
    print_orders(out, self);
    print_readiness(out, now);
    print_stock(out, now);
    print_streams(out, self, now);
    print_head(out, "seckill_purchase_seconds", "histogram",
               "How long a purchase took, from its request to its answer, whatever that was.");
    print_samples(out, "seckill_purchase_seconds", "", &self->purchase_time, &metrics_waits);
    print_head(out, "seckill_queue_depth", "gauge", "Purchases waiting or running now.");
    (void)fprintf(out, "seckill_queue_depth %u\n", now->queue_depth);
    for (size_t i = 0; i < sizeof guard_histograms / sizeof guard_histograms[0]; i++)
        print_guard_histogram(out, self, &guard_histograms[i]);
    print_redis(out, self, now);
    print_head(out, "seckill_build_info", "gauge", "The version that runs.");
    (void)fprintf(out, "seckill_build_info{version=\"%s\",compiler=\"%s\"} 1\n", SECKILL_VERSION,
                  __VERSION__);
    print_head(out, "seckill_thread_stack_bytes", "gauge", "Stack of a thread that serves HTTP.");
    (void)fprintf(out, "seckill_thread_stack_bytes %d\n", STACK_BYTES);
    print_head(out, "seckill_thread_stack_deepest_bytes", "gauge",
               "The most that one of them has used, told when its connection ends.");
    (void)fprintf(out, "seckill_thread_stack_deepest_bytes %zu\n", stack_deepest());
    process_usage_print(out);
}

char *metrics_render(const struct metrics *self, const struct metrics_now *now, size_t *out_len)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, out_len);

    if (!out) return NULL;
    print_all(out, self, now);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}
