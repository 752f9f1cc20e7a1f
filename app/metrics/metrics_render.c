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

struct page {
    FILE *out;
    const struct metrics *self;
    const struct metrics_now *now;
};

/* A metric: its header, the function that prints its samples, and its data. */
struct metric {
    const char *name;
    const char *type;
    const char *help;
    void (*print)(const struct page *page, const struct metric *metric);
    size_t at;                         /* of its field, where one printer is for many */
    const struct metrics_scale *scale; /* of a histogram */
    int64_t (*of_sale)(const struct metrics_stock *stock);
};

static const char *guard_name(const struct metrics *self, size_t i)
{
    return i < self->guard_count ? guards_at(i)->name : "unknown";
}

/* ---- one number ------------------------------------------------------------------------------ */

static void print_counter(const struct page *page, const struct metric *metric)
{
    (void)fprintf(page->out, "%s %llu\n", metric->name,
                  metrics_read(&page->self->counters[metric->at]));
}

static void print_gauge(const struct page *page, const struct metric *metric)
{
    const void *field = (const char *)page->now + metric->at;

    (void)fprintf(page->out, "%s %u\n", metric->name, *(const unsigned *)field);
}

/* ---- HTTP ------------------------------------------------------------------------------------ */

static void print_route(const struct page *page, const char *name, size_t route)
{
    static const char *const labels[] = {METRICS_CLASS_LIST(LIST_NAME)};
    const char *method = "other";
    const char *path = "other";

    if (route > 0)
        (void)page->self->route_at(route - 1, &method, &path); /* it was there at the start */
    for (int i = 0; i < METRICS_CLASS_COUNT; i++)
        (void)fprintf(page->out, "%s{method=\"%s\",route=\"%s\",code=\"%s\"} %llu\n", name, method,
                      path, labels[i], metrics_read(&page->self->requests[route][i]));
}

static void print_requests(const struct page *page, const struct metric *metric)
{
    for (size_t route = 0; route <= page->self->route_count; route++)
        print_route(page, metric->name, route);
}

static void print_answers(const struct page *page, const struct metric *metric)
{
    for (size_t i = 0; i < METRICS_STATUSES; i++) {
        char code[12] = "other";

        if (metrics_statuses[i]) (void)snprintf(code, sizeof code, "%d", metrics_statuses[i]);
        (void)fprintf(page->out, "%s{code=\"%s\"} %llu\n", metric->name, code,
                      metrics_read(&page->self->answers[i]));
    }
}

static void print_connections(const struct page *page, const struct metric *metric)
{
    (void)fprintf(page->out, "%s{port=\"buyers\"} %u\n", metric->name,
                  page->now->buyer_connections);
    (void)fprintf(page->out, "%s{port=\"operators\"} %u\n", metric->name,
                  page->now->operator_connections);
}

/* ---- sales ----------------------------------------------------------------------------------- */

static void print_orders(const struct page *page, const struct metric *metric)
{
    for (size_t i = 0; i <= page->self->guard_count; i++) {
        for (int o = 0; o < OUTCOME_COUNT; o++)
            (void)fprintf(page->out, "%s{guard=\"%s\",outcome=\"%s\"} %llu\n", metric->name,
                          guard_name(page->self, i), sale_outcome_name((outcome)o),
                          metrics_read(&page->self->guards[i].orders[o]));
    }
}

static void print_payments(const struct page *page, const struct metric *metric)
{
    for (int i = 0; i < PAY_RESULT_COUNT; i++)
        (void)fprintf(page->out, "%s{result=\"%s\"} %llu\n", metric->name,
                      store_pay_result_name((pay_result)i), metrics_read(&page->self->payments[i]));
}

static void print_ready(const struct page *page, const struct metric *metric)
{
    if (page->now->is_readiness_known)
        (void)fprintf(page->out, "%s %d\n", metric->name, page->now->is_ready ? 1 : 0);
}

static void print_store_up(const struct page *page, const struct metric *metric)
{
    (void)fprintf(page->out, "%s %d\n", metric->name, page->now->is_store_up ? 1 : 0);
}

static void print_stock(const struct page *page, const struct metric *metric)
{
    for (size_t i = 0; i < page->now->stock_count; i++)
        (void)fprintf(page->out, "%s{sale=\"%s\"} %lld\n", metric->name,
                      page->now->stock[i].sale_id,
                      (long long)metric->of_sale(&page->now->stock[i]));
}

/* Oversold units, by orders or by stock: the greater of the two. */
static int64_t oversold(const struct metrics_stock *stock)
{
    int64_t by_orders = stock->orders - stock->initial;
    int64_t by_stock = -stock->left;
    int64_t more = by_orders > by_stock ? by_orders : by_stock;

    return more > 0 ? more : 0;
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
static int64_t held_of(const struct metrics_stock *stock)
{
    return stock->held;
}

static int64_t paid_of(const struct metrics_stock *stock)
{
    return stock->paid;
}

static int64_t book_entries_of(const struct metrics_stock *stock)
{
    return stock->book_entries;
}

static int64_t book_s_of(const struct metrics_stock *stock)
{
    return stock->book_s;
}

static int64_t drift_of(const struct metrics_stock *stock)
{
    return stock->initial - stock->orders - stock->left;
}

/* ---- streams of events ----------------------------------------------------------------------- */

static void print_events(const struct page *page, const struct metric *metric)
{
    for (int i = 0; i < EVENT_KIND_COUNT; i++)
        (void)fprintf(page->out, "%s{event=\"%s\"} %llu\n", metric->name,
                      events_kind_name((event_kind)i), metrics_read(&page->self->events[i]));
}

static void print_drops(const struct page *page, const struct metric *metric)
{
    static const char *const reasons[] = {METRICS_DROP_LIST(LIST_NAME)};

    for (int i = 0; i < METRICS_DROP_COUNT; i++)
        (void)fprintf(page->out, "%s{reason=\"%s\"} %llu\n", metric->name, reasons[i],
                      metrics_read(&page->self->drops[i]));
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
        (void)fprintf(out, "%s_bucket{%s%sle=\"%g\"} %llu\n", name, label, comma,
                      (double)scale->bound[i] / scale->unit, count);
    }
    count += metrics_read(&histogram->bucket[scale->count]);
    (void)fprintf(out, "%s_bucket{%s%sle=\"+Inf\"} %llu\n", name, label, comma, count);
    (void)fprintf(out, "%s_sum%s%s%s %.9f\n", name, open, label, close,
                  (double)metrics_read(&histogram->sum) / scale->unit);
    (void)fprintf(out, "%s_count%s%s%s %llu\n", name, open, label, close, count);
}

static void print_histogram(const struct page *page, const struct metric *metric)
{
    const void *histogram = (const char *)page->self + metric->at;

    print_samples(page->out, metric->name, "", histogram, metric->scale);
}

static void print_by_guard(const struct page *page, const struct metric *metric)
{
    char label[SALE_GUARD_MAX + 16];

    for (size_t i = 0; i < page->self->guard_count; i++) {
        const void *histogram = (const char *)&page->self->guards[i] + metric->at;

        (void)snprintf(label, sizeof label, "guard=\"%s\"", guard_name(page->self, i));
        print_samples(page->out, metric->name, label, histogram, metric->scale);
    }
}

/* ---- Redis, and this process ------------------------------------------------------------------- */

static void print_by_status(const struct page *page, const struct metric *metric)
{
    const void *field = (const char *)page->self + metric->at;
    const struct metrics_by_status *counters = field;

    for (int status = 0; status < LK_STATUS_COUNT; status++)
        (void)fprintf(page->out, "%s{result=\"%s\"} %llu\n", metric->name,
                      lk_status_name((lk_status)status), metrics_read(&counters->count[status]));
}

static void print_pool(const struct page *page, const struct metric *metric)
{
    (void)fprintf(page->out, "%s{state=\"idle\"} %u\n", metric->name,
                  page->now->redis.open - page->now->redis.busy);
    (void)fprintf(page->out, "%s{state=\"busy\"} %u\n", metric->name, page->now->redis.busy);
}

static void print_reconnects(const struct page *page, const struct metric *metric)
{
    (void)fprintf(page->out, "%s %" PRIu64 "\n", metric->name, page->now->redis.reconnects);
}

static void print_build(const struct page *page, const struct metric *metric)
{
    (void)fprintf(page->out, "%s{version=\"%s\",compiler=\"%s\"} 1\n", metric->name,
                  SECKILL_VERSION, __VERSION__);
}

static void print_stack(const struct page *page, const struct metric *metric)
{
    (void)fprintf(page->out, "%s %d\n", metric->name, STACK_BYTES);
}

static void print_deepest(const struct page *page, const struct metric *metric)
{
    (void)fprintf(page->out, "%s %zu\n", metric->name, stack_deepest());
}

/* ---- all of them ----------------------------------------------------------------------------- */

#define OURS(member)     .at = offsetof(struct metrics, member)
#define OF_GUARD(member) .at = offsetof(struct metrics_of_guard, member)
#define OF_NOW(member)   .at = offsetof(struct metrics_now, member)

static const struct metric metrics[] = {
    {"seckill_http_requests_total", "counter",
     "Requests answered, by route and class of status; HEAD counts as GET.",
     .print = print_requests},
    {"seckill_http_answers_total", "counter", "Requests answered, by status.",
     .print = print_answers},
    {"seckill_http_requests_in_flight", "gauge", "Requests being answered now.",
     .print = print_gauge, OF_NOW(requests)},
    {"seckill_http_connections", "gauge", "Connections open now.", .print = print_connections},
#define COUNTER_ROW(value, name, help)                                                             \
    {name, "counter", help, .print = print_counter, .at = (value)},
    METRICS_COUNTER_LIST(COUNTER_ROW)
#undef COUNTER_ROW
        {"seckill_orders_total", "counter", "Purchases by guard and outcome.",
         .print = print_orders},
    {"seckill_payment_events_total", "counter",
     "What payment providers said, by what came of it; late, mismatch, double, unknown: owed back.",
     .print = print_payments},
    {"seckill_ready", "gauge", "What /readyz says; left out when nobody has asked it for 15 s.",
     .print = print_ready},
    {"seckill_store_up", "gauge",
     "Whether Redis told the stock, a second ago at most; 0: it is left out below.",
     .print = print_store_up},
    {"seckill_sales_left_out", "gauge",
     "Sales that should be told of below, and for which there is no room; nothing is wrong with "
     "them.",
     .print = print_gauge, OF_NOW(left_out)},
    {"seckill_stock_remaining_units", "gauge", "Units left, of sales not over for an hour.",
     .print = print_stock, .of_sale = left_of},
    {"seckill_stock_cooling_units", "gauge", "Units of a restock that are for sale a moment later.",
     .print = print_stock, .of_sale = cooling_of},
    {"seckill_orders_held", "gauge", "Orders that are to be paid yet.", .print = print_stock,
     .of_sale = held_of},
    {"seckill_orders_paid", "gauge", "Orders that were paid.", .print = print_stock,
     .of_sale = paid_of},
    {"seckill_stock_initial_units", "gauge", "Units put up for sale, restocks included.",
     .print = print_stock, .of_sale = initial_of},
    {"seckill_oversold_units", "gauge",
     "Units sold beyond those put up; anything but 0 is a fault.", .print = print_stock,
     .of_sale = oversold},
    {"seckill_stock_drift_units", "gauge",
     "Units put up less orders less units in stock; anything but 0 is a fault.",
     .print = print_stock, .of_sale = drift_of},
    {"seckill_book_lag_entries", "gauge",
     "Entries of the sale's ledger that are not in the book yet; 0 without --book.",
     .print = print_stock, .of_sale = book_entries_of},
    {"seckill_book_lag_seconds", "gauge", "Since the first of them was written.",
     .print = print_stock, .of_sale = book_s_of},
    {"seckill_sse_clients", "gauge", "Streams of events open now.", .print = print_gauge,
     OF_NOW(streams)},
    {"seckill_sse_events_total", "counter", "Events written to streams.", .print = print_events},
    {"seckill_sse_dropped_total", "counter", "Streams that were refused, or ended by the service.",
     .print = print_drops},
    {"seckill_purchase_seconds", "histogram",
     "How long a purchase took, from its request to its answer, whatever that was.",
     .print = print_histogram, OURS(purchase_time), .scale = &metrics_waits},
    {"seckill_queue_depth", "gauge", "Purchases waiting or running now.", .print = print_gauge,
     OF_NOW(queue_depth)},
    {"seckill_queue_wait_seconds", "histogram",
     "How long a batch's first purchase waited until its batch ran.", .print = print_by_guard,
     OF_GUARD(queue_wait), .scale = &metrics_seconds},
    {"seckill_lock_wait_seconds", "histogram", "How long a batch waited for its lock.",
     .print = print_by_guard, OF_GUARD(lock_wait), .scale = &metrics_seconds},
    {"seckill_lock_hold_seconds", "histogram", "How long a batch held its lock, at most.",
     .print = print_by_guard, OF_GUARD(lock_hold), .scale = &metrics_seconds},
    {"seckill_batch_seconds", "histogram", "How long a guard ran.", .print = print_by_guard,
     OF_GUARD(batch_time), .scale = &metrics_seconds},
    {"seckill_batch_size", "histogram", "Purchases served together by one run of a guard.",
     .print = print_by_guard, OF_GUARD(batch_size), .scale = &metrics_sizes},
    {"seckill_lock_acquire_total", "counter", "Acquires of locks.", .print = print_by_status,
     OURS(acquires)},
    {"seckill_lock_release_total", "counter", "Releases; not-owner: a lease was too short.",
     .print = print_by_status, OURS(releases)},
    {"seckill_lock_renewals_total", "counter", "Renewals of leases.", .print = print_by_status,
     OURS(renewals)},
    {"seckill_redis_round_trips_total", "counter", "Pipelines sent to Redis.",
     .print = print_by_status, OURS(round_trips)},
    {"seckill_redis_round_trip_seconds", "histogram", "How long Redis took to answer a pipeline.",
     .print = print_histogram, OURS(round_trip_time), .scale = &metrics_seconds},
    {"seckill_redis_connects_total", "counter", "Connections made to Redis, or tried.",
     .print = print_by_status, OURS(connects)},
    {"seckill_redis_connections", "gauge", "Connections to Redis in the pool now.",
     .print = print_pool},
    {"seckill_redis_connections_max", "gauge",
     "Connections in the pool at most; with as many busy, calls wait.", .print = print_gauge,
     OF_NOW(redis.max)},
    {"seckill_redis_reconnects_total", "counter",
     "Connections of the pool made in place of one that broke.", .print = print_reconnects},
    {"seckill_build_info", "gauge", "The version that runs.", .print = print_build},
    {"seckill_thread_stack_bytes", "gauge", "Stack of a thread that serves HTTP.",
     .print = print_stack},
    {"seckill_thread_stack_deepest_bytes", "gauge",
     "The most that one of them has used, told when its connection ends.", .print = print_deepest},
};

static void print_all(const struct page *page)
{
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++) {
        const struct metric *metric = &metrics[i];

        if (metric->of_sale && !page->now->is_store_up) continue;
        (void)fprintf(page->out, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help,
                      metric->name, metric->type);
        metric->print(page, metric);
    }
    process_usage_print(page->out);
}

char *metrics_render(const struct metrics *self, const struct metrics_now *now, size_t *out_len)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, out_len);

    if (!out) return NULL;
    print_all(&(struct page){out, self, now});
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}
