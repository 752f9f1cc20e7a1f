/*
 * Two tables with spreads, then a line for each void row; and the same as JSON. One thread.
 */
#include "bench_report.h"

#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "base/json_file.h"
#include "measure/scaling.h"

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
    char name[BENCH_NAME_MAX];

    bench_round_name_point(cost, name);
    if (cost->count == 0) {
        (void)fprintf(to, "  %-31s %5ld  not measured\n", name, cost->batch);
        return;
    }
    struct spread trip = bench_report_spread(cost->round_trips, cost->count);
    struct spread command = bench_report_spread(cost->commands, cost->count);
    struct spread rate = bench_report_spread(cost->per_s, cost->count);
    struct spread p99 = bench_report_spread(cost->p99_ms, cost->count);
    (void)fprintf(
        to, "  %-31s %5ld  %7.3f (%.3f .. %.3f)  %8.3f (%.3f .. %.3f)  %8.0f  %7.1f  %8lld%s\n",
        name, cost->batch, trip.median, trip.least, trip.most, command.median, command.least,
        command.most, rate.median, p99.median, cost->refused, cost->doubt[0] ? "  VOID" : "");
}

static void print_void(FILE *to, const struct bench *bench)
{
    for (int i = 0; i < BENCH_FIGURE_COUNT; i++)
        if (bench->rows[i].doubt[0])
            (void)fprintf(to, "VOID %s: %s\n", bench->rows[i].figure->name, bench->rows[i].doubt);
    for (int i = 0; i < bench->point_count; i++) {
        const struct bench_point *cost = &bench->points[i];
        char name[BENCH_NAME_MAX];
        bench_round_name_point(cost, name);
        if (cost->doubt[0] || cost->count == 0)
            (void)fprintf(to, "VOID %s batch %ld: %s\n", name, cost->batch,
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
        (void)fprintf(to, "\n  %-31s %5s  %-25s  %-26s  %8s  %7s  %8s\n", "guard", "batch",
                      "round trips per order", "Redis commands per order", "orders/s", "p99, ms",
                      "refused");
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
    json_file_put(object, "p99_ms", bench_report_repeats(cost->p99_ms, cost->count));
    json_file_put(object, "commands", calls_json(cost));
    json_file_put(object, "void", words_or_null(cost->doubt));
    return object;
}

/* The cost, where, and what is promised there. */
static json_t *step_json(const struct bench *bench, const struct bench_point *step)
{
    const struct bench_place *place = step->place;
    const struct guard_entry *guard = guard_list_find(&bench->guards, step->guard);
    json_t *object = cost_json(step);
    json_t *more = json_pack("{s:s,s:s,s:s,s:s,s:b,s:s,s:s,s:s}", "place", place->name, "servers",
                             place->servers, "stores", place->stores, "crash", place->crash,
                             "keeps_orders", place->keeps_orders, "needs", guard->needs, "expected",
                             guard_list_finding_name(guard->finding), "flaw", guard->flaw);

    (void)json_object_update(object, more);
    json_decref(more);
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

/* ---- more masters, by simulation ---- */

/* row NULL: with few connections, of which no rate is told. */
static json_t *take_json(const struct bench_take *take, const struct bench_row *row, int masters)
{
    json_t *object = json_pack("{s:i}", "masters", masters);

    if (row)
        json_file_put(
            object, "orders_per_s",
            bench_report_repeats(masters == 1 ? row->under_per_s : row->over_per_s, row->count));
    json_file_put(object, "service_us", bench_report_repeats(take->service_us, take->count));
    json_file_put(object, "redis_us", bench_report_repeats(take->redis_us, take->count));
    json_file_put(object, "batch", bench_report_repeats(take->batch, take->count));
    return object;
}

static double middle_of(const double values[ROUNDS_MAX], const struct bench_take *take)
{
    return bench_report_spread(values, take->count).median;
}

/* Redis' processor at two sizes of batches tells what it does for each batch and for each purchase in it. */
static struct scaling_times times_of(const struct bench *bench)
{
    const struct bench_take *many = &bench->takes[BENCH_TAKE_ONE];
    const struct bench_take *few = &bench->takes[BENCH_TAKE_FEW];
    double size = middle_of(many->batch, many);
    double many_us = middle_of(many->redis_us, many);
    double more_us = middle_of(few->redis_us, few) - many_us;
    double more_batches = 1 / middle_of(few->batch, few) - 1 / size;
    double batch_us = more_us > 0 && more_batches > 0 ? more_us / more_batches : 0;

    if (batch_us > many_us * size) batch_us = many_us * size;
    return (struct scaling_times){
        .purchase_us = middle_of(many->service_us, many),
        .batch_us = batch_us,
        .each_us = many_us - batch_us / size,
        .round_us = bench->machine.append_ms * 1000,
        .batch_most = (int)bench->guards.batch,
    };
}

static json_t *point_json(const struct scaling_times *times, int masters, uint64_t seed)
{
    double per_s[ROUNDS_MAX], early[ROUNDS_MAX], moves[ROUNDS_MAX];
    int count = 0;

    for (struct scaling_run run; count < SCALING_SEEDS; count++) {
        if (!scaling_simulate(times, masters, seed + (uint64_t)count, &run)) break;
        per_s[count] = run.per_s;
        early[count] = run.early_per_s;
        moves[count] = (double)run.moves;
    }
    json_t *object =
        json_pack("{s:i,s:i}", "masters", masters, "instances", scaling_instances(times, masters));
    json_file_put(object, "orders_per_s", bench_report_repeats(per_s, count));
    json_file_put(object, "early_per_s", bench_report_repeats(early, count));
    json_file_put(object, "moves", bench_report_repeats(moves, count));
    return object;
}

/* null: not measured. */
static json_t *scaling_json(const struct bench *bench)
{
    const struct bench_row *row = &bench->rows[BENCH_SEGMENTS];
    json_t *points = NULL;

    for (int i = 0; i < BENCH_TAKE_COUNT; i++)
        if (bench->takes[i].count == 0) return json_null();
    struct scaling_times times = times_of(bench);
    points = json_array();
    for (int masters = 1; masters <= SCALING_MASTERS_MAX; masters *= 2)
        (void)json_array_append_new(points, point_json(&times, masters, bench->seed));
    return json_pack("{s:[o,o,o],s:{s:f,s:f,s:f,s:f,s:i},s:o}", "measured",
                     take_json(&bench->takes[BENCH_TAKE_ONE], row, 1),
                     take_json(&bench->takes[BENCH_TAKE_THREE], row, 3),
                     take_json(&bench->takes[BENCH_TAKE_FEW], NULL, 1), "times", "purchase_us",
                     times.purchase_us, "batch_us", times.batch_us, "each_us", times.each_us,
                     "round_us", times.round_us, "batch_most", times.batch_most, "simulated",
                     points);
}

static json_t *settings_json(const struct options *options, const struct bench *bench)
{
    return json_pack(
        "{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:s}", "seed", (json_int_t)bench->seed, "repeat",
        (json_int_t)options->repeat, "duration_s", (json_int_t)options->duration_s, "cost_repeat",
        (json_int_t)bench->cost_repeat, "cost_duration_s", (json_int_t)bench->cost_duration_s,
        "batch", (json_int_t)bench->guards.batch, "orders", (json_int_t)options->orders,
        "instances",
        "ratios and costs: default batch and --batch 1 side by side on one Redis; "
        "purchase-sync: with and without --sync-replicas 1 side by side on a primary "
        "with one replica; cluster-sales: one on three masters, one on one Redis; segments: "
        "the same, each master with a replica that is waited for; "
        "purchase-tls: one over "
        "TLS, one without, at the same Redis; ladder: one on each place, all by TCP; "
        "memory: a fresh default instance per repeat on another");
}

bool bench_report_write(const char *path, const struct options *options, const struct bench *bench,
                        struct failure *failure)
{
    json_t *object = json_object();
    json_t *rows = json_array();
    json_t *costs = json_array();
    json_t *ladder = json_array();

    for (int i = 0; i < BENCH_FIGURE_COUNT; i++)
        if (bench->rows[i].is_wanted) (void)json_array_append_new(rows, row_json(&bench->rows[i]));
    for (int i = 0; i < bench->point_count; i++)
        if (bench->points[i].place)
            (void)json_array_append_new(ladder, step_json(bench, &bench->points[i]));
        else
            (void)json_array_append_new(costs, cost_json(&bench->points[i]));
    json_file_put(object, "mode", json_string("bench"));
    json_file_put(object, "void", json_boolean(bench_run_is_void(bench)));
    json_file_put(object, "rows", rows);
    json_file_put(object, "costs", costs);
    json_file_put(object, "ladder", ladder);
    json_file_put(object, "scaling", scaling_json(bench));
    json_file_put(object, "redis_memory",
                  json_pack("{s:I,s:I,s:I}", "orders", (json_int_t)bench->orders, "used_before",
                            (json_int_t)bench->used_before, "used_after",
                            (json_int_t)bench->used_after));
    json_file_put(object, "machine", bench_report_machine(&bench->machine));
    json_file_put(object, "settings", settings_json(options, bench));
    json_file_put(object, "seconds", json_real(bench->seconds));
    return json_file_write(path, object, failure);
}
