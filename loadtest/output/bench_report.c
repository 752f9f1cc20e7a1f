/*
 * Two tables, then a line for each void row; and the same as JSON. A sweep has the points alone. One thread.
 */
#include "bench_report.h"

#include <inttypes.h>

#include <jansson.h>

#include "base/json_file.h"
#include "measure/scaling.h"
#include "report.h"
#include "table.h"

/* ---- screen ---- */

static void print_rows(FILE *to, const struct bench *bench)
{
    char value[SPREAD_TEXT_MAX];
    struct table table;

    table_open(&table, to);
    (void)fputs("figure\tmedian (least .. most)\tmust\taim\n", table.rows);
    for (int i = 0; i < BENCH_FIGURE_COUNT; i++) {
        const struct bench_row *row = &bench->rows[i];
        const struct bench_figure *figure = row->figure;
        const char *sign = figure->better == BENCH_HIGHER ? ">=" : "<=";
        if (row->is_wanted)
            (void)fprintf(table.rows, "%s\t%s\t%s %g\t%s %g\t%s\n", figure->figure,
                          spread_text(&row->repeats, *figure->unit ? 1 : 3, value), sign,
                          figure->must, sign, figure->aim,
                          row->doubt[0] ? "VOID" : (row->is_ok ? "ok" : "NOT REACHED"));
    }
    table_close(&table);
}

/* A sweep has guards alone, which need no other name. */
static const char *label_of(const struct bench *bench, const struct bench_point *point,
                            char name[BENCH_NAME_MAX])
{
    bench_round_name_point(point, name);
    return bench->rows[0].figure ? name : point->guard;
}

static void print_points(FILE *to, const struct bench *bench)
{
    char name[BENCH_NAME_MAX], texts[4][SPREAD_TEXT_MAX];
    struct table table;

    table_open(&table, to);
    (void)fputs("guard\tconnections\tbatch\torders/s\tround trips per order\t"
                "Redis commands per order\tp99, ms\trefused\n",
                table.rows);
    for (int i = 0; i < bench->point_count; i++) {
        const struct bench_point *point = &bench->points[i];
        (void)fprintf(
            table.rows, "%s\t%ld\t%ld\t%s\t%s\t%s\t%s\t%lld\t%s\n", label_of(bench, point, name),
            point->connections, point->batch, spread_text(&point->per_s, 0, texts[0]),
            spread_text(&point->round_trips, 3, texts[1]),
            spread_text(&point->commands, 3, texts[2]), spread_text(&point->p99_ms, 1, texts[3]),
            point->refused, bench_round_doubt(point)[0] ? "VOID" : "");
    }
    table_close(&table);
}

static void print_void(FILE *to, const struct bench *bench)
{
    for (int i = 0; i < BENCH_FIGURE_COUNT; i++)
        if (bench->rows[i].doubt[0])
            (void)fprintf(to, "VOID %s: %s\n", bench->rows[i].figure->name, bench->rows[i].doubt);
    for (int i = 0; i < bench->point_count; i++) {
        const struct bench_point *point = &bench->points[i];
        char name[BENCH_NAME_MAX];
        if (bench_round_doubt(point)[0])
            (void)fprintf(to, "VOID %s batch %ld: %s\n", label_of(bench, point, name), point->batch,
                          bench_round_doubt(point));
    }
}

void bench_report_screen(FILE *to, const struct bench *bench)
{
    const struct bench_machine *machine = &bench->machine;
    bool has_rows = bench->rows[0].figure != NULL; /* it is no sweep */

    (void)fprintf(to, "\n%s, %ld cores, %s; seckilld %s, Redis %s (appendonly %s, fsync %s)\n",
                  machine->cpu, machine->cores, machine->kernel, machine->service, machine->redis,
                  machine->appendonly, machine->appendfsync);
    (void)fprintf(to, "disk: 4 KiB appended and synced in %.3f ms (median)\n", machine->append_ms);
    (void)fprintf(
        to, "commit %s; seed %" PRIu64 "; load %.2f before, %.2f after; %.0f s in all\n\n",
        machine->commit, bench->seed, machine->load_before, machine->load_after, bench->seconds);
    if (machine->load_before > 0.5 * (double)machine->cores)
        (void)fprintf(to,
                      "The machine had other work before this began (load %.1f on %ld processors): "
                      "rates are less, and "
                      "times more, than it can do;\nratios are spread. Measure again on a quiet "
                      "one before you conclude "
                      "anything.\n\n",
                      machine->load_before, (long)machine->cores);
    if (has_rows) print_rows(to, bench);
    if (bench->orders > 0)
        (void)fprintf(to, "  (Redis: %" PRId64 " orders in %.1f MiB more than before)\n",
                      bench->orders,
                      (double)(bench->used_after - bench->used_before) / (1024 * 1024));
    if (has_rows && bench->point_count) (void)fputc('\n', to);
    if (bench->point_count) print_points(to, bench);
    (void)fputc('\n', to);
    print_void(to, bench);
}

/* ---- JSON ---- */

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

    json_file_put(object, "repeats", json_file_numbers(&row->repeats));
    if (is_ratio) {
        json_file_put(object, "over_per_s", json_file_numbers(&row->over_per_s));
        json_file_put(object, "under_per_s", json_file_numbers(&row->under_per_s));
    }
    json_file_put(object, "accepted", json_integer(row->accepted));
    json_file_put(object, "refused", json_integer(row->refused));
    json_file_put(object, "void", json_file_words_or_null(row->doubt));
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

/* null: it takes no lock. */
static json_t *lock_json(const struct bench_lock *lock)
{
    if (lock->count.count == 0 || spread_of_repeats(&lock->count).most <= 0) return json_null();
    return json_pack("{s:o,s:o,s:o,s:o}", "count", json_file_numbers(&lock->count), "p50_ms",
                     json_file_numbers(&lock->p50_ms), "p90_ms", json_file_numbers(&lock->p90_ms),
                     "p99_ms", json_file_numbers(&lock->p99_ms));
}

/* Its rate under that name. */
static json_t *point_json(const struct bench_point *point, const char *rate)
{
    json_t *object =
        json_pack("{s:s,s:I,s:I,s:I,s:I}", "guard", point->guard, "batch", (json_int_t)point->batch,
                  "connections", (json_int_t)point->connections, "accepted",
                  (json_int_t)point->accepted, "refused", (json_int_t)point->refused);

    json_file_put(object, rate, json_file_repeats(&point->per_s));
    json_file_put(object, "round_trips_per_order", json_file_repeats(&point->round_trips));
    json_file_put(object, "commands_per_order", json_file_repeats(&point->commands));
    json_file_put(object, "p99_ms", json_file_repeats(&point->p99_ms));
    json_file_put(object, "commands", calls_json(point));
    json_file_put(object, "lock_wait", lock_json(&point->wait));
    json_file_put(object, "lock_hold", lock_json(&point->hold));
    json_file_put(object, "void", json_file_words_or_null(point->doubt));
    return object;
}

/* The cost, where, and what is promised there. */
static json_t *step_json(const struct bench *bench, const struct bench_point *step)
{
    const struct bench_place *place = step->place;
    const struct guard_entry *guard = guard_list_find(&bench->guards, step->guard);
    json_t *object = point_json(step, "orders_per_s");
    json_t *more = json_pack("{s:s,s:s,s:s,s:s,s:b,s:s,s:s,s:s}", "place", place->name, "servers",
                             place->servers, "stores", place->stores, "crash", place->crash,
                             "keeps_orders", place->keeps_orders, "needs", guard->needs, "expected",
                             guard_list_finding_name(guard->finding), "flaw", guard->flaw);

    (void)json_object_update(object, more);
    json_decref(more);
    return object;
}

static json_t *machine_json(const struct bench_machine *machine)
{
    json_t *object = report_json_host(machine);

    json_file_put(object, "load_before", json_real(machine->load_before));
    json_file_put(object, "load_after", json_real(machine->load_after));
    json_file_put(object, "append_ms", json_real(machine->append_ms));
    json_file_put(object, "versions",
                  json_pack("{s:s,s:s,s:s,s:s,s:s}", "seckilld", machine->service, "redis",
                            machine->redis, "wrk", machine->wrk, "civetweb", machine->civetweb,
                            "hiredis", machine->hiredis));
    json_file_put(object, "aof",
                  json_pack("{s:s,s:s}", "appendonly", machine->appendonly, "appendfsync",
                            machine->appendfsync));
    return object;
}

/* ---- more masters, by simulation ---- */

/* row NULL: with few connections, of which no rate is told. */
static json_t *take_json(const struct bench_take *take, const struct bench_row *row, int masters)
{
    json_t *object = json_pack("{s:i}", "masters", masters);

    if (row)
        json_file_put(object, "orders_per_s",
                      json_file_repeats(masters == 1 ? &row->under_per_s : &row->over_per_s));
    json_file_put(object, "service_us", json_file_repeats(&take->service_us));
    json_file_put(object, "redis_us", json_file_repeats(&take->redis_us));
    json_file_put(object, "batch", json_file_repeats(&take->batch));
    return object;
}

static double middle_of(const struct repeats *repeats)
{
    return spread_of_repeats(repeats).median;
}

/* Redis' processor at two sizes of batches tells what it does for each batch and for each purchase in it. */
static struct scaling_times times_of(const struct bench *bench)
{
    const struct bench_take *many = &bench->takes[BENCH_TAKE_ONE];
    const struct bench_take *few = &bench->takes[BENCH_TAKE_FEW];
    double size = middle_of(&many->batch);
    double many_us = middle_of(&many->redis_us);
    double more_us = middle_of(&few->redis_us) - many_us;
    double more_batches = 1 / middle_of(&few->batch) - 1 / size;
    double batch_us = more_us > 0 && more_batches > 0 ? more_us / more_batches : 0;

    if (batch_us > many_us * size) batch_us = many_us * size;
    return (struct scaling_times){
        .purchase_us = middle_of(&many->service_us),
        .batch_us = batch_us,
        .each_us = many_us - batch_us / size,
        .round_us = bench->machine.append_ms * 1000,
        .batch_most = (int)bench->guards.batch,
    };
}

static json_t *simulated_json(const struct scaling_times *times, int masters, uint64_t seed)
{
    struct repeats per_s = {.count = 0}, early = {.count = 0}, moves = {.count = 0};

    for (uint64_t i = 0; i < SCALING_SEEDS; i++) {
        struct scaling_run run;
        if (!scaling_simulate(times, masters, seed + i, &run)) break;
        spread_add(&per_s, run.per_s);
        spread_add(&early, run.early_per_s);
        spread_add(&moves, (double)run.moves);
    }
    return json_pack("{s:i,s:i,s:o,s:o,s:o}", "masters", masters, "instances",
                     scaling_instances(times, masters), "orders_per_s", json_file_repeats(&per_s),
                     "early_per_s", json_file_repeats(&early), "moves", json_file_repeats(&moves));
}

/* null: not measured. */
static json_t *scaling_json(const struct bench *bench)
{
    const struct bench_row *row = &bench->rows[BENCH_SEGMENTS];
    json_t *points = NULL;

    for (int i = 0; i < BENCH_TAKE_COUNT; i++)
        if (bench->takes[i].batch.count == 0) return json_null();
    struct scaling_times times = times_of(bench);
    points = json_array();
    for (int masters = 1; masters <= SCALING_MASTERS_MAX; masters *= 2)
        (void)json_array_append_new(points, simulated_json(&times, masters, bench->seed));
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

/* What files of a bench and of a sweep share. */
static bool write_all(const char *path, json_t *object, const struct bench *bench,
                      struct failure *failure)
{
    json_file_put(object, "void", json_boolean(bench_run_is_void(bench)));
    json_file_put(object, "machine", machine_json(&bench->machine));
    json_file_put(object, "seconds", json_real(bench->seconds));
    return json_file_write(path, object, failure);
}

bool bench_report_write_sweep(const char *path, const struct options *options,
                              const struct bench *bench, struct failure *failure)
{
    json_t *points = json_array();

    for (int i = 0; i < bench->point_count; i++)
        (void)json_array_append_new(points, point_json(&bench->points[i], "purchases_per_s"));
    json_t *object =
        json_pack("{s:s,s:o,s:{s:s,s:I,s:I,s:I,s:I}}", "mode", "sweep", "points", points,
                  "settings", "guards", options->sweep, "batch", (json_int_t)bench->guards.batch,
                  "repeat", (json_int_t)options->repeat, "duration_s",
                  (json_int_t)options->duration_s, "seed", (json_int_t)bench->seed);
    return write_all(path, object, bench, failure);
}

bool bench_report_write(const char *path, const struct options *options, const struct bench *bench,
                        struct failure *failure)
{
    json_t *rows = json_array();
    json_t *costs = json_array();
    json_t *ladder = json_array();

    for (int i = 0; i < BENCH_FIGURE_COUNT; i++)
        if (bench->rows[i].is_wanted) (void)json_array_append_new(rows, row_json(&bench->rows[i]));
    for (int i = 0; i < bench->point_count; i++)
        if (bench->points[i].place)
            (void)json_array_append_new(ladder, step_json(bench, &bench->points[i]));
        else
            (void)json_array_append_new(costs, point_json(&bench->points[i], "orders_per_s"));
    json_t *object = json_pack(
        "{s:s,s:o,s:o,s:o,s:o,s:{s:I,s:I,s:I},s:o}", "mode", "bench", "rows", rows, "costs", costs,
        "ladder", ladder, "scaling", scaling_json(bench), "redis_memory", "orders",
        (json_int_t)bench->orders, "used_before", (json_int_t)bench->used_before, "used_after",
        (json_int_t)bench->used_after, "settings", settings_json(options, bench));
    return write_all(path, object, bench, failure);
}
