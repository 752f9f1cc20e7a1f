/*
 * The order of things: ratios in shuffled rounds, costs in shuffled rounds, memory. The two rates of
 * a ratio are measured one right after the other, in an order that is shuffled too. One thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "bench_stage.h"
#include "run/operator.h"

enum {
    COST_REPEATS_MOST = 3,
    MEMORY_ROUNDS = 3, /* of purchases, before an instance's memory is read */
    CLIENTS_LIMIT_MS = 5000,
    LOOK_EVERY_MS = 20,
};

/* ---- memory ---- */

/* What Redis uses once at most `clients` are connected (-1: whoever is), and how many are. */
static bool read_used_memory(struct bench_stage *stage, long long *out_bytes, long long *clients)
{
    int64_t deadline_ms = clock_ms() + CLIENTS_LIMIT_MS;
    long long most = *clients;
    struct ledger *ledger = stage->sites[0].ledger;

    if (!bench_round_await_rewrite(ledger, stage->failure)) return false;
    for (;;) {
        if (!bench_counters_ask_number(ledger, "clients", "connected_clients", clients,
                                       stage->failure))
            return false;
        if (most < 0 || *clients <= most || interrupt_came() || clock_ms() > deadline_ms) break;
        clock_sleep_ms(LOOK_EVERY_MS);
    }
    return bench_counters_ask_number(ledger, "memory", "used_memory", out_bytes, stage->failure);
}

/* Rounds of purchases at the last instance until the sale has `goal` orders, and a few at least. */
static bool fill_sale(struct bench_stage *stage, long repeat, const char *sale, int64_t goal)
{
    struct bench_row *rows = stage->bench->rows;
    struct bench_count count = {.accepted = 1};
    struct bench_task task = {
        .kind = BENCH_PURCHASE,
        .sale = sale,
        .connections = rows[BENCH_SERVICE_MEMORY].figure->connections,
        .may_refuse = true, /* whom --queue-ms turns away takes memory all the same */
    };

    for (long round = 1; (round <= MEMORY_ROUNDS || goal > 0) && count.accepted > 0; round++) {
        (void)snprintf(task.tag, sizeof task.tag, "m%ld-%ld", repeat, round);
        if (!bench_stage_ask(stage, (bench_at)(stage->sites[0].service.count - 1), &task, &count))
            return false;
        bench_stage_count_in(&rows[BENCH_SERVICE_MEMORY], &count);
        bench_stage_count_in(&rows[BENCH_REDIS_MEMORY], &count);
        goal -= count.accepted;
    }
    return true;
}

/* A fresh instance sells; its peak is read while it is there, Redis before it comes and after. */
static bool fill_once(struct bench_stage *stage, long repeat, const char *sale, int64_t goal)
{
    struct bench_row *row = &stage->bench->rows[BENCH_SERVICE_MEMORY];
    const struct service *service = &stage->sites[0].service;

    if (!service_add_instance(&stage->sites[0].service, stage->options, 0, stage->sites[0].dir,
                              stage->failure))
        return false;
    if (!fill_sale(stage, repeat, sale, goal)) return false;
    service_measure_memory(&stage->sites[0].service);
    long kib = service->instances[service->count - 1].memory_kib;
    if (kib < 0) bench_set_doubt(row->doubt, "the instance's memory could not be read");
    spread_add(&row->repeats, (double)kib / 1024);
    service_drop_instance(&stage->sites[0].service);
    return true;
}

static bool measure_memory(struct bench_stage *stage, long repeat)
{
    const struct options *options = stage->options;
    struct bench *bench = stage->bench;
    struct bench_row *row = &bench->rows[BENCH_REDIS_MEMORY];
    const struct repeats *memory = &bench->rows[BENCH_SERVICE_MEMORY].repeats;
    int64_t goal = options->orders * repeat / options->repeat - bench->orders;
    long long bytes[2];
    long long clients = -1;
    int64_t orders = 0;
    char sale[BENCH_TAG_MAX];

    (void)snprintf(sale, sizeof sale, "bench-memory-%ld", repeat);
    if (!read_used_memory(stage, &bytes[0], &clients)) return false;
    if (!operator_create_sale(&stage->sites[0].service, sale, "mutex", options->stock,
                              stage->failure))
        return false;
    if (!fill_once(stage, repeat, sale, goal)) return false;
    if (!read_used_memory(stage, &bytes[1], &clients)) return false;
    if (!ledger_sale_order_count(stage->sites[0].ledger, sale, &orders, stage->failure))
        return false;
    if (repeat == 1) bench->used_before = bytes[0];
    bench->used_after = bytes[1];
    bench->orders += orders;
    if (orders > 0)
        spread_add(&row->repeats, (double)(bytes[1] - bytes[0]) / (double)orders);
    else
        bench_set_doubt(row->doubt, "no orders");
    char far[PROGRESS_WORDS_MAX];
    bench_stage_print(stage,
                      "  %s  memory %ld/%ld  service %.1f MiB   Redis %.1f B per order, %" PRId64
                      " orders in it%s%s\n",
                      progress_step(&bench->progress, far), repeat, options->repeat,
                      memory->values[memory->count - 1],
                      orders > 0 ? row->repeats.values[row->repeats.count - 1] : 0.0, bench->orders,
                      row->doubt[0] ? "  VOID: " : "", row->doubt);
    return true;
}

static bool run_memory(struct bench_stage *stage)
{
    struct bench *bench = stage->bench;

    if (!bench_stage_open(stage, "memory") ||
        !bench_stage_open_site(stage, &stage->sites[0], "site"))
        return false;
    bench_stage_print(stage,
                      "memory: another Redis, a fresh instance with default settings each time\n");
    for (long repeat = 1; repeat <= stage->options->repeat; repeat++)
        if (!measure_memory(stage, repeat)) return false;
    if (bench->orders < stage->options->orders)
        bench_set_doubt(bench->rows[BENCH_REDIS_MEMORY].doubt, "fewer orders than asked for");
    return true;
}

/* ---- the run ---- */

/* What a bench begins with: seed, guards and machine. NULL: it cannot. */
static struct bench_stage *begin(struct bench *bench, const struct options *options,
                                 const char *run_dir, struct failure *failure)
{
    struct bench_stage *stage = calloc(1, sizeof *stage); /* it is large */

    bench->seed = bench_seed(options);
    bench->machine.load_before = bench_machine_load();
    bench->seconds = (double)clock_ms() / -1000;
    bool is_good = stage || failure_set(failure, "out of memory");
    is_good = is_good && guard_list_ask(run_dir, &bench->guards, failure) &&
              (bench->guards.batch > 0 ||
               failure_set(failure, "seckilld --help does not tell the default of --batch"));
    if (is_good) {
        stage->bench = bench;
        stage->options = options;
        stage->run_dir = run_dir;
        stage->failure = failure;
        return stage;
    }
    free(stage);
    return NULL;
}

static void end(struct bench *bench, struct bench_stage *stage)
{
    free(stage);
    bench->machine.load_after = bench_machine_load();
    bench->seconds += (double)clock_ms() / 1000;
}

static void prepare(struct bench *bench, const struct options *options)
{
    for (int i = 0; i < BENCH_FIGURE_COUNT; i++) {
        bench->rows[i].figure = &bench_figures[i];
        bench->rows[i].is_wanted = bench_wants(options, bench_figures[i].name);
    }
    bench->cost_repeat = options->repeat < COST_REPEATS_MOST ? options->repeat : COST_REPEATS_MOST;
    bench->cost_duration_s = (options->duration_s + 2) / 3;
    guard_list_drop_not_here(&bench->guards);
    bench_points_of_costs(bench, options);
    bench_points_of_ladder(bench, options);
}

static bool wants_memory(const struct bench *bench)
{
    return bench->rows[BENCH_SERVICE_MEMORY].is_wanted || bench->rows[BENCH_REDIS_MEMORY].is_wanted;
}

static bool wants_points(const struct bench *bench, const struct bench_place *place)
{
    for (int i = 0; i < bench->point_count; i++)
        if (bench->points[i].place == place) return true;
    return false;
}

static bool wants_ratio(const struct bench *bench, bench_kind_of_stage kind)
{
    for (int i = 0; i < BENCH_RATIO_COUNT; i++)
        if (bench->rows[i].is_wanted && bench_figures[i].stage == kind) return true;
    return kind == BENCH_STAGE_ONE && wants_points(bench, NULL);
}

/* Do it, and leave the stage blank for what comes next. */
static bool run_on(struct bench_stage *stage, bool (*run)(struct bench_stage *stage))
{
    bool is_good = run(stage);

    bench_stage_close(stage);
    return is_good;
}

/* Opened anew each round, so that none has a quieter hour than the others. */
static bool measure_place(void *arg, long round, int which)
{
    struct bench_stage *stage = arg;

    stage->place = &bench_places[which];
    stage->round = round;
    return !wants_points(stage->bench, stage->place) || run_on(stage, bench_points_run_ladder);
}

/* Ratios, memory and points, each in each of its rounds. */
static long count_measurements(const struct bench *bench, const struct options *options)
{
    long count = wants_memory(bench) ? options->repeat : 0;

    for (int i = 0; i < BENCH_RATIO_COUNT; i++)
        if (bench->rows[i].is_wanted) count += options->repeat;
    return count + bench->point_count * bench->cost_repeat;
}

static bool run_stages(struct bench_stage *stage)
{
    struct bench *bench = stage->bench;

    prepare(bench, stage->options);
    progress_begin(&bench->progress, count_measurements(bench, stage->options));
    bench_stage_print(stage, "seed %" PRIu64 ", %ld repeats, %ld s each\n", bench->seed,
                      stage->options->repeat, stage->options->duration_s);
    for (stage->kind = 0; stage->kind < BENCH_STAGE_COUNT; stage->kind++)
        if (wants_ratio(bench, stage->kind) && !run_on(stage, bench_topology_run)) return false;
    if (!bench_run_rounds(&(struct bench_rounds){bench->cost_repeat, BENCH_PLACE_COUNT, bench->seed,
                                                 measure_place, stage}))
        return false;
    stage->place = NULL;
    return !wants_memory(bench) || run_on(stage, run_memory);
}

bool bench_run(struct bench *bench, const struct options *options, const char *run_dir,
               struct failure *failure)
{
    struct bench_stage *stage = begin(bench, options, run_dir, failure);
    bool is_good = stage && run_stages(stage);

    for (int i = 0; i < BENCH_FIGURE_COUNT; i++)
        if (bench->rows[i].is_wanted) bench_sum_up(&bench->rows[i]);
    end(bench, stage);
    return is_good;
}

bool bench_run_sweep(struct bench *bench, const struct options *options, const char *run_dir,
                     struct failure *failure)
{
    struct bench_stage *stage = begin(bench, options, run_dir, failure);
    bool is_good = stage && bench_points_of_sweep(bench, options, failure) &&
                   run_on(stage, bench_points_run_sweep);

    end(bench, stage);
    return is_good;
}

bool bench_run_is_void(const struct bench *bench)
{
    for (int i = 0; i < BENCH_FIGURE_COUNT; i++)
        if (bench->rows[i].doubt[0]) return true;
    for (int i = 0; i < bench->point_count; i++)
        if (bench_round_doubt(&bench->points[i])[0]) return true;
    return false;
}
