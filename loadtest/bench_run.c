/*
 * The order of things: ratios in shuffled rounds, costs in shuffled rounds, memory. The two rates of
 * a ratio are measured one right after the other, in an order that is shuffled too. One thread.
 */
#include "bench_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "interrupt.h"
#include "moment.h"

enum {
    WARM_UP_S = 1,
    COST_REPEATS_MOST = 3,
    MEMORY_ROUNDS = 3, /* of purchases, before an instance's memory is read */
    CLIENTS_LIMIT_MS = 5000,
    LOOK_EVERY_MS = 20,
    TAG_MAX = 64,
};

/* Which instance of the first service. */
enum { INSTANCE_DEFAULT, INSTANCE_SINGLE };

/* A service of the bench, and measuring on it. */
struct stage {
    struct bench *bench;
    const struct options *options;
    struct http_client *http;
    char dir[RUN_PATH_MAX];
    struct service service;
    struct ledger *ledger; /* owned */
    struct failure *failure;
};

static struct bench_field field_of(struct stage *stage)
{
    return (struct bench_field){stage->options, stage->dir, &stage->service, stage->http,
                                stage->ledger};
}

__attribute__((format(printf, 2, 3))) static void say(const struct stage *stage, const char *format,
                                                      ...)
{
    va_list arguments;

    if (stage->options->is_quiet) return;
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
    (void)fflush(stdout);
}

/* ---- stages ---- */

static bool open_stage(struct stage *stage, const char *run_dir, const char *name)
{
    (void)snprintf(stage->dir, sizeof stage->dir, "%.1000s/%s", run_dir, name);
    if (mkdir(stage->dir, 0755) != 0)
        return failure_set(stage->failure, "%s: %s", stage->dir, errno_text());
    if (!service_start(&stage->service, stage->options, 0, stage->dir, stage->failure))
        return false;
    stage->ledger = ledger_open(stage->service.redis_url, stage->failure);
    if (!stage->ledger) return false;
    if (!stage->bench->machine.cores)
        bench_machine_read(&stage->bench->machine, &stage->service, stage->ledger, stage->dir);
    return true;
}

/* Harmless for one that was not opened. */
static void close_stage(struct stage *stage)
{
    ledger_close(stage->ledger);
    stage->ledger = NULL;
    service_stop(&stage->service);
    service_discard_data(stage->dir); /* of orders nobody audits: hundreds of megabytes */
}

/* ---- ratios ---- */

static bool measure_side(struct stage *stage, const struct bench_figure *figure, bool is_over,
                         const char *tag, struct bench_count *out_count)
{
    const struct bench_side *side = is_over ? &figure->over : &figure->under;
    struct bench_field field = field_of(stage);
    struct bench_task task = {
        .kind = side->kind,
        .guard = side->guard,
        .tag = tag,
        .connections = figure->connections,
        .duration_s = stage->options->duration_s,
        .instance = side->is_single ? INSTANCE_SINGLE : INSTANCE_DEFAULT,
    };

    return bench_measure(&field, &task, out_count, stage->failure);
}

static void count_in(struct bench_row *row, const struct bench_count *count)
{
    row->accepted += count->accepted;
    row->refused += count->refused;
    bench_doubt(row, count->doubt);
}

static bool measure_ratio(struct stage *stage, long round, int id)
{
    struct bench_row *row = &stage->bench->rows[id];
    struct bench_count counts[2];
    uint64_t stream = ((uint64_t)round << 8) + (uint64_t)id + 1;
    int sides[2];

    bench_shuffle(sides, 2, stage->bench->seed, stream);
    for (int turn = 0; turn < 2; turn++) {
        char tag[TAG_MAX];
        (void)snprintf(tag, sizeof tag, "r%ld-f%d%c", round, id, "ab"[sides[turn]]);
        if (!measure_side(stage, row->figure, sides[turn] == 0, tag, &counts[sides[turn]]))
            return false;
        count_in(row, &counts[sides[turn]]);
    }
    bench_add_ratio(row, counts[0].per_s, counts[1].per_s);
    const char *doubt = counts[counts[0].doubt[0] ? 0 : 1].doubt;
    say(stage, "  round %ld/%ld  %-20s %8.0f/s ÷ %8.0f/s = %.3f%s%s\n", round,
        stage->options->repeat, row->figure->name, counts[0].per_s, counts[1].per_s,
        row->repeats[row->count - 1], *doubt ? "  VOID: " : "", doubt);
    return true;
}

static bool measure_ratios(struct stage *stage)
{
    int order[BENCH_RATIO_COUNT];

    for (long round = 1; round <= stage->options->repeat; round++) {
        bench_shuffle(order, BENCH_RATIO_COUNT, stage->bench->seed, (uint64_t)round);
        for (int i = 0; i < BENCH_RATIO_COUNT; i++)
            if (stage->bench->rows[order[i]].is_wanted && !measure_ratio(stage, round, order[i]))
                return false;
    }
    return true;
}

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

static bool measure_cost(struct stage *stage, long round, int which)
{
    struct bench_cost *cost = &stage->bench->costs[which];
    struct bench_field field = field_of(stage);
    struct bench_count count;
    char tag[TAG_MAX];
    struct bench_task task = {
        .kind = BENCH_PURCHASE,
        .guard = cost->guard,
        .tag = tag,
        .connections = BENCH_COST_CONNECTIONS,
        .duration_s = stage->bench->cost_duration_s,
        .instance = cost->is_single ? INSTANCE_SINGLE : INSTANCE_DEFAULT,
        .may_refuse = true,
    };

    (void)snprintf(tag, sizeof tag, "k%ld-%d", round, which);
    if (!bench_measure(&field, &task, &count, stage->failure)) return false;
    bench_cost_add(cost, &count);
    say(stage, "  cost %ld/%ld  %-16s batch %-4ld %8lld orders %8.3f round trips each%s%s\n", round,
        stage->bench->cost_repeat, cost->guard, cost->batch, count.accepted,
        count.accepted > 0 ? count.round_trips / (double)count.accepted : 0.0,
        count.doubt[0] ? "  VOID: " : "", count.doubt);
    return true;
}

static bool measure_costs(struct stage *stage)
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

/* ---- the first service ---- */

static bool add_single_instance(struct stage *stage)
{
    struct options single = *stage->options;

    single.batch = 1;
    return service_add_instance(&stage->service, &single, 0, stage->dir, stage->failure);
}

static bool warm_up(struct stage *stage, int instance)
{
    struct bench_field field = field_of(stage);
    struct bench_count ignored;
    char tag[TAG_MAX];
    struct bench_task task = {.kind = BENCH_PURCHASE,
                              .guard = "mutex",
                              .tag = tag,
                              .connections = BENCH_COST_CONNECTIONS,
                              .duration_s = WARM_UP_S,
                              .instance = instance};

    (void)snprintf(tag, sizeof tag, "w%d", instance);
    return bench_measure(&field, &task, &ignored, stage->failure);
}

static bool run_speed(struct stage *stage, const char *run_dir)
{
    if (!open_stage(stage, run_dir, "speed") || !add_single_instance(stage)) return false;
    say(stage,
        "ratios and costs: one Redis, one instance with the default batch of %ld and one "
        "with --batch 1 beside it\n",
        stage->bench->guards.batch);
    for (int i = INSTANCE_DEFAULT; i <= INSTANCE_SINGLE; i++)
        if (!warm_up(stage, i)) return false;
    return measure_ratios(stage) && measure_costs(stage);
}

/* ---- memory ---- */

/* What Redis uses once at most `clients` are connected (-1: whoever is), and how many are. */
static bool read_used_memory(struct stage *stage, long long *out_bytes, long long *clients)
{
    int64_t deadline_ms = moment_ms() + CLIENTS_LIMIT_MS;
    long long most = *clients;

    if (!bench_await_rewrite(stage->ledger, stage->failure)) return false;
    do {
        char *info = ledger_info(stage->ledger, "clients", stage->failure);
        if (!info) return false;
        *clients = counters_info_number(info, "connected_clients");
        free(info);
        if (most < 0 || *clients <= most) break;
        moment_sleep_ms(LOOK_EVERY_MS);
    } while (!interrupt_came() && moment_ms() < deadline_ms);
    char *info = ledger_info(stage->ledger, "memory", stage->failure);
    if (!info) return false;
    *out_bytes = counters_info_number(info, "used_memory");
    free(info);
    return *out_bytes >= 0 || failure_set(stage->failure, "Redis: no used_memory in INFO");
}

/* Rounds of purchases at the last instance until the sale has `goal` orders, and a few at least. */
static bool fill_sale(struct stage *stage, long repeat, const char *sale, int64_t goal)
{
    struct bench_field field = field_of(stage);
    struct bench_row *rows = stage->bench->rows;
    struct bench_count count = {.accepted = 1};
    char tag[TAG_MAX];
    struct bench_task task = {
        .kind = BENCH_PURCHASE,
        .tag = tag,
        .sale = sale,
        .connections = rows[BENCH_SERVICE_MEMORY].figure->connections,
        .duration_s = stage->options->duration_s,
        .instance = stage->service.count - 1,
        .may_refuse = true, /* whom --queue-ms turns away takes memory all the same */
    };

    for (long round = 1; (round <= MEMORY_ROUNDS || goal > 0) && count.accepted > 0; round++) {
        (void)snprintf(tag, sizeof tag, "m%ld-%ld", repeat, round);
        if (!bench_measure(&field, &task, &count, stage->failure)) return false;
        count_in(&rows[BENCH_SERVICE_MEMORY], &count);
        count_in(&rows[BENCH_REDIS_MEMORY], &count);
        goal -= count.accepted;
    }
    return true;
}

/* A fresh instance sells; its peak is read while it is there, Redis before it comes and after. */
static bool fill_once(struct stage *stage, long repeat, const char *sale, int64_t goal)
{
    struct bench_row *row = &stage->bench->rows[BENCH_SERVICE_MEMORY];
    const struct service *service = &stage->service;

    if (!service_add_instance(&stage->service, stage->options, 0, stage->dir, stage->failure))
        return false;
    if (!fill_sale(stage, repeat, sale, goal)) return false;
    service_measure_memory(&stage->service);
    long kib = service->instances[service->count - 1].memory_kib;
    if (kib < 0) bench_doubt(row, "the instance's memory could not be read");
    bench_add(row, (double)kib / 1024);
    service_drop_instance(&stage->service);
    return true;
}

static bool measure_memory(struct stage *stage, long repeat)
{
    const struct options *options = stage->options;
    struct bench *bench = stage->bench;
    struct bench_row *row = &bench->rows[BENCH_REDIS_MEMORY];
    int64_t goal = options->orders * repeat / options->repeat - bench->orders;
    long long bytes[2];
    long long clients = -1;
    int64_t orders = 0;
    char sale[TAG_MAX];

    (void)snprintf(sale, sizeof sale, "bench-memory-%ld", repeat);
    if (!read_used_memory(stage, &bytes[0], &clients)) return false;
    if (!service_create_sale(&stage->service, stage->http, sale, "mutex", options->stock,
                             stage->failure))
        return false;
    if (!fill_once(stage, repeat, sale, goal)) return false;
    if (!read_used_memory(stage, &bytes[1], &clients)) return false;
    if (!ledger_order_count(stage->ledger, sale, &orders, stage->failure)) return false;
    if (repeat == 1) bench->used_before = bytes[0];
    bench->used_after = bytes[1];
    bench->orders += orders;
    if (orders > 0)
        bench_add(row, (double)(bytes[1] - bytes[0]) / (double)orders);
    else
        bench_doubt(row, "no orders");
    say(stage,
        "  memory %ld/%ld  service %.1f MiB   Redis %.1f B per order, %" PRId64
        " orders in it%s%s\n",
        repeat, options->repeat,
        bench->rows[BENCH_SERVICE_MEMORY].repeats[bench->rows[BENCH_SERVICE_MEMORY].count - 1],
        orders > 0 ? row->repeats[row->count - 1] : 0.0, bench->orders,
        row->doubt[0] ? "  VOID: " : "", row->doubt);
    return true;
}

static bool run_memory(struct stage *stage, const char *run_dir)
{
    struct bench *bench = stage->bench;

    if (!open_stage(stage, run_dir, "memory")) return false;
    say(stage, "memory: another Redis, a fresh instance with default settings each time\n");
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

static bool wants_speed(const struct bench *bench)
{
    for (int i = 0; i < BENCH_RATIO_COUNT; i++)
        if (bench->rows[i].is_wanted) return true;
    return bench->cost_count > 0;
}

typedef bool stage_run(struct stage *stage, const char *run_dir);

static bool run_stage(struct stage stage, stage_run *run, const char *run_dir)
{
    bool is_good = run(&stage, run_dir);
    close_stage(&stage);
    return is_good;
}

bool bench_run(struct bench *bench, const struct options *options, const char *run_dir,
               struct http_client *http, struct failure *failure)
{
    int64_t started_ms = moment_ms();
    struct stage blank = {.bench = bench, .options = options, .http = http, .failure = failure};

    prepare(bench, options);
    if (!bench_guards_ask(run_dir, &bench->guards, failure)) return false;
    list_costs(bench, options);
    say(&blank, "seed %" PRIu64 ", %ld repeats, %ld s each\n", bench->seed, options->repeat,
        options->duration_s);
    if (wants_speed(bench) && !run_stage(blank, run_speed, run_dir)) return false;
    if ((bench->rows[BENCH_SERVICE_MEMORY].is_wanted ||
         bench->rows[BENCH_REDIS_MEMORY].is_wanted) &&
        !run_stage(blank, run_memory, run_dir))
        return false;
    for (int i = 0; i < BENCH_FIGURE_COUNT; i++)
        if (bench->rows[i].is_wanted) bench_sum_up(&bench->rows[i]);
    bench->machine.load_after = bench_machine_load();
    bench->seconds = (double)(moment_ms() - started_ms) / 1000;
    return true;
}

bool bench_is_void(const struct bench *bench)
{
    for (int i = 0; i < BENCH_FIGURE_COUNT; i++)
        if (bench->rows[i].doubt[0]) return true;
    for (int i = 0; i < bench->cost_count; i++)
        if (bench->costs[i].doubt[0] || bench->costs[i].count == 0) return true;
    return false;
}
