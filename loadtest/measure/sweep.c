/*
 * One Redis with an instance for each batch size; every point is measured once per round. One thread.
 */

#include <string.h>

#include "bench_stage.h"

/* Besides the service's default. */
static const long batches[] = {1, 4, 16, 64};
enum { BATCH_COUNT = sizeof batches / sizeof *batches };

static const char favourite[] = "mutex"; /* whose batch sizes are compared, if it takes part */

bool sweep_plan(struct bench *bench, const struct options *options, struct failure *failure)
{
    struct guard_list *guards = &bench->guards;
    struct guard_list all = *guards;
    struct bench_point point = {.duration_s = options->duration_s};

    if (!guard_list_choose(&all, options->sweep, guards, failure)) return false;
    if (strcmp(options->sweep, "all") == 0) {
        guard_list_keep_sound(guards);
        guard_list_drop_not_here(guards);
    }
    for (int step = 0; step < options->connection_steps; step++)
        for (int i = 0; i < guards->count; i++) {
            point.guard = guards->list[i].name;
            point.batch = guards->batch;
            point.connections = options->connections[step];
            bench->points[bench->point_count++] = point;
        }
    point.guard = guard_list_find(guards, favourite) ? favourite : guards->list[0].name;
    point.connections = options_most_connections(options);
    for (int i = 0; i < BATCH_COUNT; i++) {
        point.batch = batches[i];
        point.instance = i + 1;
        bench->points[bench->point_count++] = point;
    }
    return true;
}

static bool run_on(struct bench_stage *stage)
{
    const struct options *options = stage->options;
    struct bench *bench = stage->bench;

    if (!bench_stage_open(stage, "sweep")) return false;
    if (!bench_stage_add_needs(stage)) return false;
    if (!bench_stage_open_site(stage, &stage->sites[0], "site")) return false;
    for (int i = 0; i < BATCH_COUNT; i++)
        if (!bench_stage_add_instance(stage, batches[i])) return false;
    bench_stage_say(stage, "%d settings, %ld rounds of %ld s each, about %ld s in all\n",
                    bench->point_count, options->repeat, options->duration_s,
                    bench->point_count * options->repeat * options->duration_s * 5 / 4);
    for (int i = 0; i <= BATCH_COUNT; i++)
        if (!bench_stage_warm_up(stage, (bench_at)i, bench->guards.list[0].name,
                                 options->connections[0]))
            return false;
    return bench_stage_measure_points(stage, options->repeat);
}

bool sweep_run(struct bench *bench, const struct options *options, const char *run_dir,
               struct failure *failure)
{
    const struct bench_job job = {bench, options, run_dir, failure, NULL, 0};
    bool is_good = bench_run_begin(bench, options, run_dir, failure) &&
                   sweep_plan(bench, options, failure) && bench_run_stage(&job, run_on);

    bench_run_end(bench);
    return is_good;
}
