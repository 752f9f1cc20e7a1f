/*
 * One Redis with an instance for each batch size; every point is measured once per round, in an
 * order that is shuffled each time, so that no setting always comes first. One thread.
 */
#include "sweep.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/moment.h"
#include "count/bench_counters.h"

enum { WARM_UP_S = 1 };

/* Besides the service's default. */
static const long batches[] = {1, 4, 16, 64};
enum { BATCH_COUNT = sizeof batches / sizeof *batches };

static const char favourite[] = "mutex"; /* whose batch sizes are compared, if it takes part */

/* ---- the plan ---- */

static void keep_sound(struct guard_list *guards)
{
    int kept = 0;

    for (int i = 0; i < guards->count; i++)
        if (guards->list[i].finding == GUARD_SOUND) guards->list[kept++] = guards->list[i];
    guards->count = kept;
}

static void add_point(struct sweep *sweep, const char *guard, long batch, int instance,
                      long connections)
{
    sweep->points[sweep->point_count++] = (struct sweep_point){
        .guard = guard, .batch = batch, .instance = instance, .connections = connections};
}

static long most_of(const struct options *options)
{
    long most = 0;

    for (int i = 0; i < options->connection_steps; i++)
        if (options->connections[i] > most) most = options->connections[i];
    return most;
}

static const char *guard_of_batches(const struct guard_list *guards)
{
    for (int i = 0; i < guards->count; i++)
        if (strcmp(guards->list[i].name, favourite) == 0) return guards->list[i].name;
    return guards->list[0].name;
}

bool sweep_plan(struct sweep *sweep, const struct options *options, const char *help,
                struct failure *failure)
{
    struct bench_guards known;
    struct guard_list all;
    struct guard_list *guards = &sweep->guards;

    if (!bench_guards_parse(help, &known) || !guard_list_parse(help, &all))
        return failure_set(failure, "seckilld --help names no guards");
    if (!guard_list_choose(&all, options->sweep, guards, failure)) return false;
    if (strcmp(options->sweep, "all") == 0) keep_sound(guards);
    sweep->batch = known.batch;
    sweep->point_count = 0;
    for (int step = 0; step < options->connection_steps; step++)
        for (int i = 0; i < guards->count; i++)
            add_point(sweep, guards->list[i].name, known.batch, 0, options->connections[step]);
    for (int i = 0; i < BATCH_COUNT; i++)
        add_point(sweep, guard_of_batches(guards), batches[i], i + 1, most_of(options));
    return true;
}

/* ---- measuring ---- */

static void add_round(struct sweep_point *point, const struct bench_count *count)
{
    double orders = (double)count->accepted;

    if (!point->doubt[0]) (void)snprintf(point->doubt, sizeof point->doubt, "%s", count->doubt);
    point->accepted += count->accepted;
    point->refused += count->refused;
    if (point->count == ROUNDS_MAX) return;
    point->per_s[point->count] = count->per_s;
    point->round_trips[point->count] = orders > 0 ? count->round_trips / orders : 0;
    point->locks[point->count] = count->locks;
    point->count++;
}

static bool measure_point(struct bench_stage *stage, struct sweep_point *point, long round,
                          int which)
{
    struct bench_field field = bench_stage_field(stage, &stage->sites[0]);
    struct bench_count count;
    char tag[BENCH_TAG_MAX];
    struct bench_task task = {.kind = BENCH_PURCHASE,
                              .guard = point->guard,
                              .tag = tag,
                              .connections = point->connections,
                              .duration_s = stage->options->duration_s,
                              .instance = point->instance,
                              .may_refuse = true};

    (void)snprintf(tag, sizeof tag, "s%ld-%d", round, which);
    if (!bench_round_measure(&field, &task, &count, stage->failure)) return false;
    add_round(point, &count);
    bench_stage_say(stage, "  round %ld/%ld  %-16s %5ld connections  batch %-4ld %8.0f/s%s%s\n",
                    round, stage->options->repeat, point->guard, point->connections, point->batch,
                    count.per_s, count.doubt[0] ? "  VOID: " : "", count.doubt);
    return true;
}

static bool measure_points(struct bench_stage *stage, struct sweep *sweep)
{
    int order[SWEEP_POINTS_MAX];

    for (long round = 1; round <= stage->options->repeat; round++) {
        bench_shuffle(order, sweep->point_count, sweep->bench.seed, (uint64_t)round);
        for (int i = 0; i < sweep->point_count; i++)
            if (!measure_point(stage, &sweep->points[order[i]], round, order[i])) return false;
    }
    return true;
}

static bool warm_up(struct bench_stage *stage, const struct sweep *sweep)
{
    struct bench_field field = bench_stage_field(stage, &stage->sites[0]);
    struct bench_count ignored;

    for (int i = 0; i <= BATCH_COUNT; i++) {
        char tag[BENCH_TAG_MAX];
        struct bench_task task = {.kind = BENCH_PURCHASE,
                                  .guard = sweep->guards.list[0].name,
                                  .tag = tag,
                                  .connections = stage->options->connections[0],
                                  .duration_s = WARM_UP_S,
                                  .instance = i,
                                  .may_refuse = true};
        (void)snprintf(tag, sizeof tag, "w%d", i);
        if (!bench_round_measure(&field, &task, &ignored, stage->failure)) return false;
    }
    return true;
}

static bool wants_lock_servers(const struct guard_list *guards)
{
    for (int i = 0; i < guards->count; i++)
        if (strcmp(guards->list[i].name, "redlock") == 0) return true;
    return false;
}

static bool run_on(struct bench_stage *stage, struct sweep *sweep, const char *run_dir)
{
    if (!bench_stage_open(stage, run_dir, "sweep")) return false;
    if (wants_lock_servers(&sweep->guards) && !bench_stage_add_lock_servers(stage)) return false;
    if (!bench_stage_open_site(stage, &stage->sites[0], "site")) return false;
    for (int i = 0; i < BATCH_COUNT; i++)
        if (!bench_stage_add_instance(stage, batches[i])) return false;
    bench_stage_say(stage, "%d settings, %ld rounds of %ld s each, about %ld s in all\n",
                    sweep->point_count, stage->options->repeat, stage->options->duration_s,
                    sweep->point_count * stage->options->repeat * stage->options->duration_s * 5 /
                        4);
    return warm_up(stage, sweep) && measure_points(stage, sweep);
}

static uint64_t choose_seed(const struct options *options)
{
    uint32_t drawn = 0;

    if (options->seed) return (uint64_t)options->seed;
    if (getrandom(&drawn, sizeof drawn, 0) < 0) drawn = (uint32_t)moment_ns(); /* any will do */
    return drawn % 2147483647U + 1;
}

bool sweep_run(struct sweep *sweep, const struct options *options, const char *run_dir,
               struct http_client *http, struct failure *failure)
{
    int64_t started_ms = moment_ms();
    char help[GUARD_HELP_MAX];

    memset(sweep, 0, sizeof *sweep); /* too large for a literal on the stack */
    sweep->bench.seed = choose_seed(options);
    sweep->bench.machine.load_before = bench_machine_load();
    if (!guard_list_ask_help(run_dir, help, sizeof help, failure)) return false;
    if (!sweep_plan(sweep, options, help, failure)) return false;
    struct bench_stage *stage = calloc(1, sizeof *stage);
    if (!stage) return failure_set(failure, "out of memory");
    stage->bench = &sweep->bench;
    stage->options = options;
    stage->http = http;
    stage->failure = failure;
    bool is_good = run_on(stage, sweep, run_dir);
    bench_stage_close(stage);
    free(stage);
    sweep->bench.machine.load_after = bench_machine_load();
    sweep->seconds = (double)(moment_ms() - started_ms) / 1000;
    return is_good;
}

bool sweep_is_void(const struct sweep *sweep)
{
    for (int i = 0; i < sweep->point_count; i++)
        if (sweep->points[i].doubt[0] || sweep->points[i].accepted == 0) return true;
    return false;
}
