/*
 * Two tables with spreads, then a line for each void row; and the same as JSON. One thread.
 */
#include "bench_report.h"

#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "base/json_file.h"

struct spread bench_report_spread(const double values[ROUNDS_MAX], int count)
{
    double sorted[ROUNDS_MAX];

    memcpy(sorted, values, sizeof sorted);
    return spread_of(sorted, count);
}

/* ---- screen ---- */

/* printf counts bytes, and "÷" has two. */
static int padding(const char *text, int width)
{
    int wide = 0;

    for (const char *at = text; *at; at++)
        if (((unsigned char)*at & 0xC0) == 0x80) wide++;
    return width + wide;
}

static void print_row(FILE *to, const struct bench_row *row)
{
    const struct bench_figure *figure = row->figure;
    bool is_ratio = !*figure->unit;
    int digits = is_ratio ? 3 : 1;
    char value[64];

    (void)snprintf(value, sizeof value, "%.*f (%.*f .. %.*f)", digits, row->spread.median, digits,
                   row->spread.least, digits, row->spread.most);
    (void)fprintf(to, "  %-*s %-26s %s%-7g %s%-7g %s\n", padding(figure->figure, 62),
                  figure->figure, value,
                  figure->better == BENCH_HIGHER ? ">= " : "<= ", figure->must,
                  figure->better == BENCH_HIGHER ? ">= " : "<= ", figure->aim,
                  row->doubt[0] ? "VOID" : (row->is_ok ? "ok" : "NOT REACHED"));
}

static void print_cost(FILE *to, const struct bench_point *cost)
{
    if (cost->count == 0) {
        (void)fprintf(to, "  %-16s %5ld  not measured\n", cost->guard, cost->batch);
        return;
    }
    struct spread trip = bench_report_spread(cost->round_trips, cost->count);
    struct spread command = bench_report_spread(cost->commands, cost->count);
    struct spread rate = bench_report_spread(cost->per_s, cost->count);
    (void)fprintf(to, "  %-16s %5ld  %7.3f (%.3f .. %.3f)  %8.3f (%.3f .. %.3f)  %8.0f  %8lld%s\n",
                  cost->guard, cost->batch, trip.median, trip.least, trip.most, command.median,
                  command.least, command.most, rate.median, cost->refused,
                  cost->doubt[0] ? "  VOID" : "");
}

static void print_void(FILE *to, const struct bench *bench)
{
    for (int i = 0; i < BENCH_FIGURE_COUNT; i++)
        if (bench->rows[i].doubt[0])
            (void)fprintf(to, "VOID %s: %s\n", bench->rows[i].figure->name, bench->rows[i].doubt);
    for (int i = 0; i < bench->point_count; i++) {
        const struct bench_point *cost = &bench->points[i];
        if (cost->doubt[0] || cost->count == 0)
            (void)fprintf(to, "VOID cost-%s batch %ld: %s\n", cost->guard, cost->batch,
                          cost->doubt[0] ? cost->doubt : "no order was accepted");
    }
}

void bench_report_screen(FILE *to, const struct bench *bench)
{
    const struct bench_machine *machine = &bench->machine;

    (void)fprintf(to, "\n%s, %ld cores, %s; seckilld %s, Redis %s (appendonly %s, fsync %s)\n",
                  machine->cpu, machine->cores, machine->kernel, machine->service, machine->redis,
                  machine->appendonly, machine->appendfsync);
    (void)fprintf(to, "disk: 4 KiB appended and synced in %.3f ms (median)\n", machine->append_ms);
    (void)fprintf(to, "commit %s; seed %" PRIu64 "; load %.2f before, %.2f after; %.0f s in all\n",
                  machine->commit, bench->seed, machine->load_before, machine->load_after,
                  bench->seconds);
    (void)fprintf(to, "\n  %-62s %-26s %-10s %-10s\n", "figure", "median (least .. most)", "must",
                  "aim");
    for (int i = 0; i < BENCH_FIGURE_COUNT; i++)
        if (bench->rows[i].is_wanted) print_row(to, &bench->rows[i]);
    if (bench->orders > 0)
        (void)fprintf(to, "  (Redis: %" PRId64 " orders in %.1f MiB more than before)\n",
                      bench->orders,
                      (double)(bench->used_after - bench->used_before) / (1024 * 1024));
    if (bench->point_count)
        (void)fprintf(to, "\n  %-16s %5s  %-25s  %-26s  %8s  %8s\n", "guard", "batch",
                      "round trips per order", "Redis commands per order", "orders/s", "refused");
    for (int i = 0; i < bench->point_count; i++)
        print_cost(to, &bench->points[i]);
    (void)fputc('\n', to);
    print_void(to, bench);
}

/* ---- JSON ---- */

static json_t *numbers(const double *values, int count)
{
    json_t *array = json_array();

    for (int i = 0; i < count; i++)
        (void)json_array_append_new(array, json_real(values[i]));
    return array;
}

static json_t *words_or_null(const char *words)
{
    return *words ? json_string(words) : json_null();
}

static json_t *row_json(const struct bench_row *row)
{
    const struct bench_figure *figure = row->figure;
    bool is_ratio = !*figure->unit;
    json_t *object =
        json_pack("{s:s,s:s,s:s,s:f,s:f,s:f,s:s,s:b,s:f,s:f,s:I}", "name", figure->name, "figure",
                  figure->figure, "unit", is_ratio ? "ratio" : figure->unit, "value",
                  row->spread.median, "must", figure->must, "aim", figure->aim, "better",
                  figure->better == BENCH_HIGHER ? "higher" : "lower", "ok", row->is_ok, "least",
                  row->spread.least, "most", row->spread.most, "connections",
                  (json_int_t)figure->connections);

    json_file_put(object, "repeats", numbers(row->repeats, row->count));
    if (is_ratio) {
        json_file_put(object, "over_per_s", numbers(row->over_per_s, row->count));
        json_file_put(object, "under_per_s", numbers(row->under_per_s, row->count));
    }
    json_file_put(object, "accepted", json_integer(row->accepted));
    json_file_put(object, "refused", json_integer(row->refused));
    json_file_put(object, "void", words_or_null(row->doubt));
    return object;
}

static json_t *calls_json(const struct bench_point *cost)
{
    json_t *object = json_object();

    for (int i = 0; i < cost->sum.count && cost->accepted > 0; i++)
        json_file_put(object, cost->sum.list[i].name,
                      json_real((double)cost->sum.list[i].times / (double)cost->accepted));
    return object;
}

json_t *bench_report_repeats(const double *values, int count)
{
    if (count == 0) return json_null();
    struct spread spread = bench_report_spread(values, count);
    json_t *object = json_file_spread(&spread);
    json_file_put(object, "repeats", numbers(values, count));
    return object;
}

static json_t *cost_json(const struct bench_point *cost)
{
    json_t *object =
        json_pack("{s:s,s:I,s:I,s:I,s:I}", "guard", cost->guard, "batch", (json_int_t)cost->batch,
                  "connections", (json_int_t)BENCH_COST_CONNECTIONS, "accepted",
                  (json_int_t)cost->accepted, "refused", (json_int_t)cost->refused);

    json_file_put(object, "round_trips_per_order",
                  bench_report_repeats(cost->round_trips, cost->count));
    json_file_put(object, "commands_per_order", bench_report_repeats(cost->commands, cost->count));
    json_file_put(object, "orders_per_s", bench_report_repeats(cost->per_s, cost->count));
    json_file_put(object, "commands", calls_json(cost));
    json_file_put(object, "void", words_or_null(cost->doubt));
    return object;
}

json_t *bench_report_machine(const struct bench_machine *machine)
{
    json_t *versions =
        json_pack("{s:s,s:s,s:s,s:s,s:s}", "seckilld", machine->service, "redis", machine->redis,
                  "wrk", machine->wrk, "civetweb", machine->civetweb, "hiredis", machine->hiredis);
    json_t *aof = json_pack("{s:s,s:s}", "appendonly", machine->appendonly, "appendfsync",
                            machine->appendfsync);

    return json_pack("{s:s,s:I,s:I,s:s,s:f,s:f,s:o,s:s,s:o,s:f}", "cpu", machine->cpu, "cores",
                     (json_int_t)machine->cores, "memory_mib", (json_int_t)machine->memory_mib,
                     "kernel", machine->kernel, "load_before", machine->load_before, "load_after",
                     machine->load_after, "versions", versions, "commit", machine->commit, "aof",
                     aof, "append_ms", machine->append_ms);
}

static json_t *settings_json(const struct options *options, const struct bench *bench)
{
    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:s}", "seed", (json_int_t)bench->seed, "repeat",
                     (json_int_t)options->repeat, "duration_s", (json_int_t)options->duration_s,
                     "cost_repeat", (json_int_t)bench->cost_repeat, "cost_duration_s",
                     (json_int_t)bench->cost_duration_s, "batch", (json_int_t)bench->guards.batch,
                     "orders", (json_int_t)options->orders, "instances",
                     "ratios and costs: default batch and --batch 1 side by side on one Redis; "
                     "purchase-sync: with and without --sync-replicas 1 side by side on a primary "
                     "with one replica; cluster-sales: one on three masters, one on one Redis; "
                     "purchase-tls: one over "
                     "TLS, one without, at the same Redis; "
                     "memory: a fresh default instance per repeat on another");
}

bool bench_report_write(const char *path, const struct options *options, const struct bench *bench,
                        struct failure *failure)
{
    json_t *object = json_object();
    json_t *rows = json_array();
    json_t *costs = json_array();

    for (int i = 0; i < BENCH_FIGURE_COUNT; i++)
        if (bench->rows[i].is_wanted) (void)json_array_append_new(rows, row_json(&bench->rows[i]));
    for (int i = 0; i < bench->point_count; i++)
        (void)json_array_append_new(costs, cost_json(&bench->points[i]));
    json_file_put(object, "mode", json_string("bench"));
    json_file_put(object, "void", json_boolean(bench_run_is_void(bench)));
    json_file_put(object, "rows", rows);
    json_file_put(object, "costs", costs);
    json_file_put(object, "redis_memory",
                  json_pack("{s:I,s:I,s:I}", "orders", (json_int_t)bench->orders, "used_before",
                            (json_int_t)bench->used_before, "used_after",
                            (json_int_t)bench->used_after));
    json_file_put(object, "machine", bench_report_machine(&bench->machine));
    json_file_put(object, "settings", settings_json(options, bench));
    json_file_put(object, "seconds", json_real(bench->seconds));
    return json_file_write(path, object, failure);
}
