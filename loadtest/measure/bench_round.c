/*
 * Three kinds of rounds with one script. What wrk counted is never taken on its word: purchases are
 * held against the stock in Redis, refusals against the service's count of sold-out answers (wrk
 * only knows "400 and above"). One thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "bench.h"
#include "run/operator.h"

enum {
    LOOK_EVERY_MS = 100,
    WRK_EVERY_MS = 20,
    WRK_MARGIN_S = 10,
    SETTLE_LIMIT_MS = 10000,
    SALE_PATH_MAX = SALE_ID_MAX + 40,
    PAIR_WINDOW_MS = 600000
};

/* ---- wrk ---- */

/* wrk at the task's instance alone, or at all: from its start to its counts. All is watched. */
static bool run_wrk(const struct bench_field *field, const struct bench_task *task,
                    struct speed_round *round, struct bench_count *count, struct failure *failure)
{
    int64_t deadline_ms = clock_ms() + (task->duration_s + WRK_MARGIN_S) * 1000;
    struct service view = *field->service;
    struct drive_target target = {&view, field->options, field->run_dir};
    struct drive drive;

    round->tag = task->tag;
    round->connections = task->connections;
    round->duration_s = task->duration_s;
    if (!task->at_all) {
        view.instances[0] = field->service->instances[task->instance];
        view.count = 1;
    }
    if (!drive_speed(&drive, &target, round, failure)) return false;
    while (drive_is_running(&drive) && !interrupt_came() && clock_ms() < deadline_ms)
        clock_sleep_ms(WRK_EVERY_MS);
    drive_stop(&drive);
    if (interrupt_came()) return failure_set(failure, "interrupted");
    if (service_has_died(field->service, failure)) return false;
    return drive_went_well(&drive, failure) && drive_read_speed(&drive, &count->speed, failure);
}

/* Less was sent than was asked for. */
static void check_load(const struct bench_task *task, struct bench_count *count)
{
    const struct speed_count *speed = &count->speed;
    const struct load_count *load = &speed->load;

    if (!drive_is_established(load))
        bench_set_doubt(count->doubt, "%lld of %lld connections established", load->established,
                        load->asked);
    if (drive_load_errors(load))
        bench_set_doubt(
            count->doubt, "socket errors: connect %lld, read %lld, write %lld, time-out %lld",
            load->connect_errors, load->read_errors, load->write_errors, load->timeouts);
    if (speed->seconds < 0.99 * (double)task->duration_s)
        bench_set_doubt(count->doubt, "wrk ended after %.1f of %ld s", speed->seconds,
                        task->duration_s);
}

/* Of what wrk counted so much is as expected. */
static void take_speed(const struct bench_task *task, long long as_expected,
                       struct bench_count *count)
{
    const struct speed_count *speed = &count->speed;

    count->answered = as_expected;
    count->refused = speed->status_errors;
    if (speed->requests > 0)
        count->per_s = speed->per_s * ((double)as_expected / (double)speed->requests);
    check_load(task, count);
    if (speed->requests == 0) bench_set_doubt(count->doubt, "no answer at all");
}

static bool measure_page(const struct bench_field *field, const struct bench_task *task,
                         struct bench_count *count, struct failure *failure)
{
    struct speed_round round = {.path = task->page ? task->page : "/livez", .method = "GET"};

    if (!run_wrk(field, task, &round, count, failure)) return false;
    take_speed(task, count->speed.requests - count->speed.status_errors, count);
    if (count->refused)
        bench_set_doubt(count->doubt, "%lld pages answered with 400 and above", count->refused);
    return true;
}

/* " (lock-timeout 7, overloaded 2)": what came besides the outcome that was expected. */
static void name_others(const struct tally *outcomes, const char *expected, char *out, size_t size)
{
    size_t length = 0;

    out[0] = '\0';
    for (int i = 0; i < outcomes->count && length < size; i++) {
        const struct tally_entry *entry = &outcomes->list[i];
        if (strcmp(entry->name, expected) == 0) continue;
        length += (size_t)snprintf(out + length, size - length, "%s%s %lld", length ? ", " : " (",
                                   entry->name, entry->times);
    }
    if (length && length < size) (void)snprintf(out + length, size - length, ")");
}

/* ---- purchases ---- */

bool bench_round_await_rewrite(struct ledger *ledger, struct failure *failure)
{
    int64_t deadline_ms = clock_ms() + SETTLE_LIMIT_MS;

    for (;;) {
        long long is_busy = 0;
        if (!bench_counters_ask_number(ledger, "persistence", "aof_rewrite_in_progress", &is_busy,
                                       failure))
            return false;
        if (!is_busy || interrupt_came() || clock_ms() > deadline_ms) return true;
        clock_sleep_ms(LOOK_EVERY_MS);
    }
}

static long count_sales(const struct bench_task *task)
{
    return task->sales ? task->sales : 1;
}

/* The sale number `i`, from 1, of those with that stem. */
static void name_sale(const struct bench_task *task, const char *stem, long i,
                      char out[SALE_ID_MAX + 1])
{
    if (task->sales)
        (void)snprintf(out, SALE_ID_MAX + 1, "%.33s-%d", stem, (int)(i % 100000));
    else
        (void)snprintf(out, SALE_ID_MAX + 1, "%s", stem);
}

/* The units left of all sales. */
static bool sum_stock(const struct bench_field *field, const struct bench_task *task,
                      const char *stem, int64_t *out_left, struct failure *failure)
{
    int64_t sum = 0;

    for (long i = 1; i <= count_sales(task); i++) {
        char sale[SALE_ID_MAX + 1];
        int64_t left = 0;
        name_sale(task, stem, i, sale);
        if (!ledger_sale_stock(field->ledger, sale, &left, failure)) return false;
        sum += left;
    }
    *out_left = sum;
    return true;
}

/* Wait until the stock stands still: purchases of buyers who hung up are served all the same.
 * Returns how often we asked, since that is no cost of the guard; -1: no answer. */
static int settle(const struct bench_field *field, const struct bench_task *task, const char *stem,
                  int64_t *out_left, struct failure *failure)
{
    int64_t deadline_ms = clock_ms() + SETTLE_LIMIT_MS;
    int64_t before = -1;
    int asked = 0;

    do {
        if (asked) clock_sleep_ms(LOOK_EVERY_MS);
        before = asked ? *out_left : -1;
        asked++;
        if (!sum_stock(field, task, stem, out_left, failure)) return -1;
    } while (*out_left != before && !interrupt_came() && clock_ms() < deadline_ms);
    return asked * (int)count_sales(task);
}

/* What the instance and its Redis have counted before. */
struct tolls {
    struct service_costs costs;
    struct tally commands;
    int asked; /* how often we asked for the stock since: no cost of the guard */
};

static struct service_costs costs_of(const struct bench_field *field, const struct bench_task *task)
{
    return (struct service_costs){
        .service = field->service, .instance = task->instance, .guard = task->guard};
}

/* Answering /metrics costs the instance round trips: outside the two INFOs. */
static bool read_before(const struct bench_field *field, const struct bench_task *task,
                        struct tolls *out_tolls, struct failure *failure)
{
    out_tolls->costs = costs_of(field, task);
    return service_counts_begin(&out_tolls->costs, failure) &&
           bench_counters_ask_commands(field->ledger, &out_tolls->commands, failure);
}

static bool add_tolls(const struct bench_field *field, const struct tolls *before,
                      struct bench_count *count, struct failure *failure)
{
    struct tally commands;

    if (!bench_counters_ask_commands(field->ledger, &commands, failure)) return false;
    if (!service_counts_end(&before->costs, &count->since, failure)) return false;
    count->commands =
        bench_counters_add_calls(&before->commands, &commands, &count->sum) - before->asked;
    for (int i = 0; i < count->sum.count; i++)
        if (strcmp(count->sum.list[i].name, "get") == 0) count->sum.list[i].times -= before->asked;
    return true;
}

/* One purchase through the task's instance, which knows the sale from then on. */
static bool buy_one(const struct bench_field *field, const struct bench_task *task,
                    const char *sale, struct failure *failure)
{
    struct http_reply reply = {.status = 0};
    char url[URL_MAX + SALE_PATH_MAX];
    char buyer[64];

    (void)snprintf(url, sizeof url, "%s/api/v1/sales/%s/orders",
                   field->service->instances[task->instance].url, sale);
    (void)snprintf(buyer, sizeof buyer, "%.40s-first", task->tag);
    struct http_request request = {.url = url, .json = "{}", .buyer = buyer};
    if (!http_client_send(field->service->http, &request, &reply, failure)) return false;
    return reply.status == 201 ||
           failure_set(failure, "nothing was sold: %ld %.200s", reply.status, reply.body);
}

/* Every answer that wrk saw is a unit gone, and every unit gone was asked for. */
static void check_sold(const struct bench_task *task, struct bench_count *count)
{
    long long paid = bench_counters_times(&count->since.payments, "paid");
    char others[BENCH_DOUBT_MAX / 2];

    name_others(&count->since.orders, "created", others, sizeof others);
    if (count->refused && !task->may_refuse)
        bench_set_doubt(count->doubt, "%lld purchases answered with 400 and above%s",
                        count->refused, others);
    if (task->kind == BENCH_PAIR &&
        (paid < count->answered || paid > count->answered + task->connections))
        bench_set_doubt(count->doubt, "wrk counted %lld paid, the service %lld", count->answered,
                        paid);
    if (count->accepted < count->answered ||
        count->accepted > count->answered + 2 * task->connections)
        bench_set_doubt(count->doubt, "wrk counted %lld accepted, Redis %lld", count->answered,
                        count->accepted);
}

/* Put the sales up, unless there is one, and make the instance know them. */
static bool open_sales(const struct bench_field *field, const struct bench_task *task,
                       const char *stem, struct failure *failure)
{
    for (long i = 1; i <= count_sales(task); i++) {
        char sale[SALE_ID_MAX + 1];
        name_sale(task, stem, i, sale);
        field->service->window_ms = task->kind == BENCH_PAIR ? PAIR_WINDOW_MS : 0;
        field->service->segments = task->segments;
        bool is_there = task->sale || operator_create_sale(field->service, sale, task->guard,
                                                           field->options->stock, failure);
        field->service->window_ms = field->service->segments = 0;
        if (!is_there) return false;
        if (!buy_one(field, task, sale, failure)) return false;
    }
    return true;
}

static bool measure_purchases(const struct bench_field *field, const struct bench_task *task,
                              const char *stem, struct bench_count *count, struct failure *failure)
{
    char path[SALE_PATH_MAX];
    bool is_pair = task->kind == BENCH_PAIR;
    struct speed_round round = {.path = path,
                                .method = "POST",
                                .sales = task->sales,
                                .script = task->kind == BENCH_PURCHASE ? NULL : "pairs.lua",
                                .key = is_pair ? field->service->pay_key : NULL};
    struct tolls before;
    int64_t left_before = 0;
    int64_t left = 0;

    (void)snprintf(path, sizeof path, "/api/v1/sales/%.*s%s/orders", task->sales ? 33 : 40, stem,
                   task->sales ? "-*" : "");
    if (!open_sales(field, task, stem, failure)) return false;
    if (!sum_stock(field, task, stem, &left_before, failure)) return false;
    if (!task->at_all && !read_before(field, task, &before, failure)) return false;
    if (!run_wrk(field, task, &round, count, failure)) return false;
    before.asked = settle(field, task, stem, &left, failure);
    if (before.asked < 0) return false;
    if (!task->at_all && !add_tolls(field, &before, count, failure)) return false;
    count->accepted = left_before - left;
    take_speed(task, count->speed.requests - count->speed.status_errors, count);
    check_sold(task, count);
    return task->at_all || bench_round_await_rewrite(field->ledger, failure);
}

/* ---- refusals ---- */

/* wrk knows "400 and above"; that all of it was sold-out, the instance must say. */
static void check_refused(struct bench_count *count)
{
    const struct speed_count *speed = &count->speed;
    long long all = bench_counters_all(&count->since.orders);
    long long sold_out = bench_counters_times(&count->since.orders, "sold-out");
    char others[BENCH_DOUBT_MAX / 2];

    name_others(&count->since.orders, "sold-out", others, sizeof others);
    if (speed->requests != speed->status_errors)
        bench_set_doubt(count->doubt, "%lld requests were not refused",
                        speed->requests - speed->status_errors);
    if (all != sold_out)
        bench_set_doubt(count->doubt, "%lld purchases did not end as sold-out%s", all - sold_out,
                        others);
    if (sold_out < speed->status_errors)
        bench_set_doubt(count->doubt, "wrk counted %lld refusals, the service %lld sold-out",
                        speed->status_errors, sold_out);
}

static bool measure_refusals(const struct bench_field *field, const struct bench_task *task,
                             const char *sale, struct bench_count *count, struct failure *failure)
{
    char path[SALE_PATH_MAX];
    struct speed_round round = {.path = path, .method = "POST"};
    struct service_costs costs = costs_of(field, task);

    (void)snprintf(path, sizeof path, "/api/v1/sales/%s/orders", sale);
    if (!operator_create_sale(field->service, sale, "mutex", 1, failure)) return false;
    if (!buy_one(field, task, sale, failure)) return false;
    if (!service_counts_begin(&costs, failure)) return false;
    if (!run_wrk(field, task, &round, count, failure)) return false;
    if (!service_counts_end(&costs, &count->since, failure)) return false;
    take_speed(task, count->speed.status_errors, count);
    check_refused(count);
    return true;
}

bool bench_round_measure(const struct bench_field *field, const struct bench_task *task,
                         struct bench_count *out_count, struct failure *failure)
{
    char sale[SALE_ID_MAX + 1];

    *out_count = (struct bench_count){.per_s = 0};
    (void)snprintf(sale, sizeof sale, "bench-%.30s", task->tag);
    switch (task->kind) {
    case BENCH_PAGE:
        return measure_page(field, task, out_count, failure);
    case BENCH_PURCHASE:
    case BENCH_READ:
    case BENCH_PAIR:
        return measure_purchases(field, task, task->sale ? task->sale : sale, out_count, failure);
    case BENCH_REFUSAL:
        return measure_refusals(field, task, sale, out_count, failure);
    }
    return false;
}

void bench_round_name_point(const struct bench_point *point, char out[BENCH_NAME_MAX])
{
    (void)snprintf(out, BENCH_NAME_MAX, "%s%s-%s", point->place ? "ladder-" : "cost",
                   point->place ? point->place->name : "", point->guard);
}

const char *bench_round_doubt(const struct bench_point *point)
{
    if (point->doubt[0] || point->per_s.count) return point->doubt;
    return "no order was accepted";
}

static void add_lock(struct bench_lock *lock, const struct histogram *times)
{
    spread_add(&lock->count, (double)times->count);
    spread_add(&lock->p50_ms, lock_times_quantile_ms(times, 0.5));
    spread_add(&lock->p90_ms, lock_times_quantile_ms(times, 0.9));
    spread_add(&lock->p99_ms, lock_times_quantile_ms(times, 0.99));
}

void bench_round_add_point(struct bench_point *point, const struct bench_count *count)
{
    static const struct tally none;
    double orders = (double)count->accepted;

    bench_set_doubt(point->doubt, "%s", count->doubt);
    point->refused += count->refused;
    if (count->accepted <= 0) return;
    add_lock(&point->wait, &count->since.locks.wait);
    add_lock(&point->hold, &count->since.locks.hold);
    spread_add(&point->round_trips, count->since.round_trips / orders);
    spread_add(&point->commands, (double)count->commands / orders);
    spread_add(&point->per_s, count->per_s);
    spread_add(&point->p99_ms, (double)count->speed.p99_us / 1000);
    point->accepted += count->accepted;
    (void)bench_counters_add_calls(&none, &count->sum, &point->sum);
}
