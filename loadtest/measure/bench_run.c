/*
 * The order of things: ratios in shuffled rounds, costs in shuffled rounds, memory. The two rates of
 * a ratio are measured one right after the other, in an order that is shuffled too. One thread.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/interrupt.h"
#include "base/moment.h"
#include "bench_stage.h"

enum {
    COST_REPEATS_MOST = 3,
    MEMORY_ROUNDS = 3, /* of purchases, before an instance's memory is read */
    CLIENTS_LIMIT_MS = 5000,
    LOOK_EVERY_MS = 20,
    SPLIT_S = 4,
};

/* ---- costs ---- */

/* A thousand who want one redlock split its servers among them, and hardly anybody is answered
 * before the service's own limit: so long it takes at least. */
static long cost_duration_s(const struct bench *bench, const char *guard, bool is_single)
{
    bool is_slow = is_single && strcmp(guard, "redlock") == 0;

    return is_slow && bench->cost_duration_s < SPLIT_S ? SPLIT_S : bench->cost_duration_s;
}

static void list_costs(struct bench *bench, const struct options *options)
{
    for (int i = 0; i < bench->guards.count; i++) {
        const char *guard = bench->guards.list[i].name;
        if (bench->guards.list[i].finding != GUARD_SOUND) continue;
        char name[GUARD_NAME_MAX + 8];
        (void)snprintf(name, sizeof name, "cost-%s", guard);
        for (int single = 0; single < 2 && bench_wants(options, name); single++)
            bench->points[bench->point_count++] = (struct bench_point){
                .guard = guard,
                .batch = single ? 1 : bench->guards.batch,
                .connections = BENCH_COST_CONNECTIONS,
                .duration_s = cost_duration_s(bench, guard, single != 0),
                .instance = single ? BENCH_AT_SINGLE : BENCH_AT_FIRST,
            };
    }
}

/* ---- one Redis ---- */

static bool run_speed(struct bench_stage *stage)
{
    if (!bench_stage_open(stage, "speed")) return false;
    stage->sites[0].options.window_ms = 1; /* so that it knows a payment provider's key */
    if (!bench_stage_add_needs(stage)) return false;
    if (!bench_stage_open_site(stage, &stage->sites[0], "site") ||
        !bench_stage_add_instance(stage, 1))
        return false;
    bench_stage_say(stage,
                    "ratios and costs: one Redis, one instance with the default batch of %ld and "
                    "one with --batch 1 beside it\n",
                    stage->bench->guards.batch);
    return bench_stage_measure(stage, BENCH_STAGE_ONE) &&
           bench_stage_measure_points(stage, stage->bench->cost_repeat);
}

/* ---- memory ---- */

/* What Redis uses once at most `clients` are connected (-1: whoever is), and how many are. */
static bool read_used_memory(struct bench_stage *stage, long long *out_bytes, long long *clients)
{
    int64_t deadline_ms = moment_ms() + CLIENTS_LIMIT_MS;
    long long most = *clients;

    if (!bench_round_await_rewrite(stage->sites[0].ledger, stage->failure)) return false;
    do {
        char *info = ledger_info(stage->sites[0].ledger, "clients", stage->failure);
        if (!info) return false;
        *clients = counters_info_number(info, "connected_clients");
        free(info);
        if (most < 0 || *clients <= most) break;
        moment_sleep_ms(LOOK_EVERY_MS);
    } while (!interrupt_came() && moment_ms() < deadline_ms);
    char *info = ledger_info(stage->sites[0].ledger, "memory", stage->failure);
    if (!info) return false;
    *out_bytes = counters_info_number(info, "used_memory");
    free(info);
    return *out_bytes >= 0 || failure_set(stage->failure, "Redis: no used_memory in INFO");
}

/* Rounds of purchases at the last instance until the sale has `goal` orders, and a few at least. */
static bool fill_sale(struct bench_stage *stage, long repeat, const char *sale, int64_t goal)
{
    struct bench_field field = bench_stage_field(stage, &stage->sites[0]);
    struct bench_row *rows = stage->bench->rows;
    struct bench_count count = {.accepted = 1};
    char tag[BENCH_TAG_MAX];
    struct bench_task task = {
        .kind = BENCH_PURCHASE,
        .tag = tag,
        .sale = sale,
        .connections = rows[BENCH_SERVICE_MEMORY].figure->connections,
        .duration_s = stage->options->duration_s,
        .instance = stage->sites[0].service.count - 1,
        .may_refuse = true, /* whom --queue-ms turns away takes memory all the same */
    };

    for (long round = 1; (round <= MEMORY_ROUNDS || goal > 0) && count.accepted > 0; round++) {
        (void)snprintf(tag, sizeof tag, "m%ld-%ld", repeat, round);
        if (!bench_round_measure(&field, &task, &count, stage->failure)) return false;
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
    if (kib < 0) bench_doubt(row, "the instance's memory could not be read");
    bench_add(row, (double)kib / 1024);
    service_drop_instance(&stage->sites[0].service);
    return true;
}

static bool measure_memory(struct bench_stage *stage, long repeat)
{
    const struct options *options = stage->options;
    struct bench *bench = stage->bench;
    struct bench_row *row = &bench->rows[BENCH_REDIS_MEMORY];
    int64_t goal = options->orders * repeat / options->repeat - bench->orders;
    long long bytes[2];
    long long clients = -1;
    int64_t orders = 0;
    char sale[BENCH_TAG_MAX];

    (void)snprintf(sale, sizeof sale, "bench-memory-%ld", repeat);
    if (!read_used_memory(stage, &bytes[0], &clients)) return false;
    if (!service_create_sale(&stage->sites[0].service, sale, "mutex", options->stock,
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
        bench_add(row, (double)(bytes[1] - bytes[0]) / (double)orders);
    else
        bench_doubt(row, "no orders");
    bench_stage_say(
        stage,
        "  memory %ld/%ld  service %.1f MiB   Redis %.1f B per order, %" PRId64
        " orders in it%s%s\n",
        repeat, options->repeat,
        bench->rows[BENCH_SERVICE_MEMORY].repeats[bench->rows[BENCH_SERVICE_MEMORY].count - 1],
        orders > 0 ? row->repeats[row->count - 1] : 0.0, bench->orders,
        row->doubt[0] ? "  VOID: " : "", row->doubt);
    return true;
}

static bool run_memory(struct bench_stage *stage)
{
    struct bench *bench = stage->bench;

    if (!bench_stage_open(stage, "memory") ||
        !bench_stage_open_site(stage, &stage->sites[0], "site"))
        return false;
    bench_stage_say(stage,
                    "memory: another Redis, a fresh instance with default settings each time\n");
    for (long repeat = 1; repeat <= stage->options->repeat; repeat++)
        if (!measure_memory(stage, repeat)) return false;
    if (bench->orders < stage->options->orders)
        bench_doubt(&bench->rows[BENCH_REDIS_MEMORY], "fewer orders than asked for");
    return true;
}

/* ---- the run ---- */

bool bench_run_begin(struct bench *bench, const struct options *options, const char *run_dir,
                     struct failure *failure)
{
    char help[GUARD_HELP_MAX];

    bench->seed = bench_seed(options);
    bench->machine.load_before = bench_machine_load();
    bench->seconds = (double)moment_ms() / -1000;
    return guard_list_ask_help(run_dir, help, sizeof help, failure) &&
           ((guard_list_parse(help, &bench->guards) && bench->guards.batch > 0) ||
            failure_set(failure, "seckilld --help names no guards"));
}

void bench_run_end(struct bench *bench)
{
    bench->machine.load_after = bench_machine_load();
    bench->seconds += (double)moment_ms() / 1000;
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
    list_costs(bench, options);
    bench_ladder_plan(bench, options);
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

bool bench_run_stage(const struct bench_job *job, bench_run_on *run)
{
    struct bench_stage *stage = calloc(1, sizeof *stage); /* it is large */

    if (!stage) return failure_set(job->failure, "out of memory");
    stage->bench = job->bench;
    stage->options = job->options;
    stage->run_dir = job->run_dir;
    stage->failure = job->failure;
    stage->place = job->place;
    stage->round = job->round;
    bool is_good = run(stage);
    bench_stage_close(stage);
    free(stage);
    return is_good;
}

/* Opened anew each round, so that none has a quieter hour than the others. */
static bool measure_place(void *arg, long round, int which)
{
    struct bench_job here = *(const struct bench_job *)arg;

    here.place = &bench_places[which];
    here.round = round;
    return !wants_points(here.bench, here.place) || bench_run_stage(&here, bench_ladder_run);
}

static bool run_stages(const struct bench_job *job)
{
    static const struct {
        bench_kind_of_stage kind;
        bench_run_on *run;
    } stages[] = {
        {BENCH_STAGE_ONE, run_speed},
        {BENCH_STAGE_REPLICA, bench_topology_run_replica},
        {BENCH_STAGE_CLUSTER, bench_topology_run_cluster},
        {BENCH_STAGE_SEGMENTS, bench_topology_run_segments},
        {BENCH_STAGE_TLS, bench_topology_run_tls},
        {BENCH_STAGE_BOOK, bench_topology_run_book},
        {BENCH_STAGE_WAIT, bench_topology_run_wait},
    };

    prepare(job->bench, job->options);
    if (!job->options->is_quiet)
        (void)printf("seed %" PRIu64 ", %ld repeats, %ld s each\n", job->bench->seed,
                     job->options->repeat, job->options->duration_s);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        if (wants_ratio(job->bench, stages[i].kind) && !bench_run_stage(job, stages[i].run))
            return false;
    struct bench_job ladder = *job;
    return bench_run_rounds(&(struct bench_rounds){job->bench->cost_repeat, BENCH_PLACE_COUNT,
                                                   job->bench->seed, measure_place, &ladder}) &&
           (!wants_memory(job->bench) || bench_run_stage(job, run_memory));
}

bool bench_run(struct bench *bench, const struct options *options, const char *run_dir,
               struct failure *failure)
{
    const struct bench_job job = {bench, options, run_dir, failure, NULL, 0};
    bool is_good = bench_run_begin(bench, options, run_dir, failure) && run_stages(&job);

    for (int i = 0; i < BENCH_FIGURE_COUNT; i++)
        if (bench->rows[i].is_wanted) bench_sum_up(&bench->rows[i]);
    bench_run_end(bench);
    return is_good;
}

bool bench_run_is_void(const struct bench *bench)
{
    for (int i = 0; i < BENCH_FIGURE_COUNT; i++)
        if (bench->rows[i].doubt[0]) return true;
    for (int i = 0; i < bench->point_count; i++)
        if (bench->points[i].doubt[0] || bench->points[i].count == 0) return true;
    return false;
}
