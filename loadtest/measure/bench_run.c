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
#include <sys/random.h>
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

static void list_costs(struct bench *bench, const struct options *options)
{
    for (int i = 0; i < bench->guards.count; i++) {
        char name[GUARD_NAME_MAX + 8];
        (void)snprintf(name, sizeof name, "cost-%s", bench->guards.names[i]);
        if (!bench_wants(options, name)) continue;
        for (int single = 0; single < 2; single++)
            bench->costs[bench->cost_count++] =
                (struct bench_cost){.guard = bench->guards.names[i],
                                    .batch = single ? 1 : bench->guards.batch,
                                    .is_single = single != 0};
    }
}

/* A thousand who want one redlock split its servers among them, and hardly anybody is answered
 * before the service's own limit: so long it takes at least. */
static long cost_duration_s(const struct bench *bench, const struct bench_cost *cost)
{
    bool is_slow = cost->is_single && strcmp(cost->guard, "redlock") == 0;

    return is_slow && bench->cost_duration_s < SPLIT_S ? SPLIT_S : bench->cost_duration_s;
}

static bool measure_cost(struct bench_stage *stage, long round, int which)
{
    struct bench_cost *cost = &stage->bench->costs[which];
    struct bench_field field = bench_stage_field(stage, &stage->sites[0]);
    struct bench_count count;
    char tag[BENCH_TAG_MAX];
    struct bench_task task = {
        .kind = BENCH_PURCHASE,
        .guard = cost->guard,
        .tag = tag,
        .connections = BENCH_COST_CONNECTIONS,
        .duration_s = cost_duration_s(stage->bench, cost),
        .instance = cost->is_single ? BENCH_AT_SINGLE : BENCH_AT_FIRST,
        .may_refuse = true,
    };

    (void)snprintf(tag, sizeof tag, "k%ld-%d", round, which);
    if (!bench_round_measure(&field, &task, &count, stage->failure)) return false;
    bench_guards_add_cost(cost, &count);
    bench_stage_say(stage,
                    "  cost %ld/%ld  %-16s batch %-4ld %8lld orders %8.3f round trips each%s%s\n",
                    round, stage->bench->cost_repeat, cost->guard, cost->batch, count.accepted,
                    count.accepted > 0 ? count.round_trips / (double)count.accepted : 0.0,
                    count.doubt[0] ? "  VOID: " : "", count.doubt);
    return true;
}

static bool measure_costs(struct bench_stage *stage)
{
    struct bench *bench = stage->bench;
    int order[BENCH_COSTS_MAX];

    for (long round = 1; round <= bench->cost_repeat; round++) {
        bench_shuffle(order, bench->cost_count, bench->seed, ~(uint64_t)round);
        for (int i = 0; i < bench->cost_count; i++)
            if (!measure_cost(stage, round, order[i])) return false;
    }
    return true;
}

/* ---- one Redis ---- */

static bool wants_lock_servers(const struct bench *bench)
{
    for (int i = 0; i < bench->cost_count; i++)
        if (strcmp(bench->costs[i].guard, "redlock") == 0) return true;
    return false;
}

static bool run_speed(struct bench_stage *stage, const char *run_dir)
{
    if (!bench_stage_open(stage, run_dir, "speed")) return false;
    if (wants_lock_servers(stage->bench) && !bench_stage_add_lock_servers(stage)) return false;
    if (!bench_stage_open_site(stage, &stage->sites[0], "site") ||
        !bench_stage_add_instance(stage, 1))
        return false;
    bench_stage_say(stage,
                    "ratios and costs: one Redis, one instance with the default batch of %ld and "
                    "one with --batch 1 beside it\n",
                    stage->bench->guards.batch);
    return bench_stage_measure(stage, BENCH_STAGE_ONE) && measure_costs(stage);
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
    if (!service_create_sale(&stage->sites[0].service, stage->http, sale, "mutex", options->stock,
                             stage->failure))
        return false;
    if (!fill_once(stage, repeat, sale, goal)) return false;
    if (!read_used_memory(stage, &bytes[1], &clients)) return false;
    if (!ledger_sale_order_count(stage->sites[0].ledger, sale, &orders, stage->failure)) return false;
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

static bool run_memory(struct bench_stage *stage, const char *run_dir)
{
    struct bench *bench = stage->bench;

    if (!bench_stage_open(stage, run_dir, "memory") ||
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

static void prepare(struct bench *bench, const struct options *options)
{
    *bench = (struct bench){.seed = (uint64_t)options->seed};
    if (!bench->seed) { /* any will do, as long as it is told */
        uint32_t drawn = 0;
        if (getrandom(&drawn, sizeof drawn, 0) < 0) drawn = (uint32_t)moment_ns();
        bench->seed = drawn % 2147483647U + 1;
    }
    for (int i = 0; i < BENCH_FIGURE_COUNT; i++) {
        bench->rows[i].figure = &bench_figures[i];
        bench->rows[i].is_wanted = bench_wants(options, bench_figures[i].name);
    }
    bench->cost_repeat = options->repeat < COST_REPEATS_MOST ? options->repeat : COST_REPEATS_MOST;
    bench->cost_duration_s = (options->duration_s + 2) / 3;
    bench->machine.load_before = bench_machine_load();
}

static bool wants_memory(const struct bench *bench)
{
    return bench->rows[BENCH_SERVICE_MEMORY].is_wanted || bench->rows[BENCH_REDIS_MEMORY].is_wanted;
}

static bool wants_ratio(const struct bench *bench, bench_kind_of_stage kind)
{
    for (int i = 0; i < BENCH_RATIO_COUNT; i++)
        if (bench->rows[i].is_wanted && bench_figures[i].stage == kind) return true;
    return kind == BENCH_STAGE_ONE && bench->cost_count > 0;
}

typedef bool stage_run(struct bench_stage *stage, const char *run_dir);

/* On a stage of its own, which is blank; it is large. */
static bool run_stage(const struct bench_stage *blank, stage_run *run, const char *run_dir)
{
    struct bench_stage *stage = malloc(sizeof *stage);

    if (!stage) return failure_set(blank->failure, "out of memory");
    *stage = *blank;
    bool is_good = run(stage, run_dir);
    bench_stage_close(stage);
    free(stage);
    return is_good;
}

static bool run_stages(const struct bench_stage *blank, const char *run_dir)
{
    static const struct {
        bench_kind_of_stage kind;
        stage_run *run;
    } stages[] = {
        {BENCH_STAGE_ONE, run_speed},
        {BENCH_STAGE_REPLICA, bench_topology_run_replica},
        {BENCH_STAGE_CLUSTER, bench_topology_run_cluster},
        {BENCH_STAGE_TLS, bench_topology_run_tls},
    };

    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        if (wants_ratio(blank->bench, stages[i].kind) && !run_stage(blank, stages[i].run, run_dir))
            return false;
    return !wants_memory(blank->bench) || run_stage(blank, run_memory, run_dir);
}

bool bench_run(struct bench *bench, const struct options *options, const char *run_dir,
               struct http_client *http, struct failure *failure)
{
    int64_t started_ms = moment_ms();
    struct bench_stage *blank = calloc(1, sizeof *blank);

    if (!blank) return failure_set(failure, "out of memory");
    blank->bench = bench;
    blank->options = options;
    blank->http = http;
    blank->failure = failure;
    prepare(bench, options);
    bool is_good = bench_guards_ask(run_dir, &bench->guards, failure);
    if (is_good) {
        list_costs(bench, options);
        bench_stage_say(blank, "seed %" PRIu64 ", %ld repeats, %ld s each\n", bench->seed,
                        options->repeat, options->duration_s);
        is_good = run_stages(blank, run_dir);
    }
    free(blank);
    if (!is_good) return false;
    for (int i = 0; i < BENCH_FIGURE_COUNT; i++)
        if (bench->rows[i].is_wanted) bench_sum_up(&bench->rows[i]);
    bench->machine.load_after = bench_machine_load();
    bench->seconds = (double)(moment_ms() - started_ms) / 1000;
    return true;
}

bool bench_run_is_void(const struct bench *bench)
{
    for (int i = 0; i < BENCH_FIGURE_COUNT; i++)
        if (bench->rows[i].doubt[0]) return true;
    for (int i = 0; i < bench->cost_count; i++)
        if (bench->costs[i].doubt[0] || bench->costs[i].count == 0) return true;
    return false;
}
