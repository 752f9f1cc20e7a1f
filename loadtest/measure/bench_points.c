/*
 * Settings that are measured, of which no figure must be reached: costs of guards; the ladder, guards on places, all
 * servers on TCP; and a sweep, on one Redis, with an instance for the guards and for a moment one more for each batch
 * size. One thread.
 */
#include <stdio.h>
#include <string.h>

#include "bench_stage.h"

enum { SYNC_MS = 1000, SPLIT_S = 4 };

static void add_point(struct bench *bench, const struct bench_point *point)
{
    if (bench->point_count < BENCH_THINGS_MAX) bench->points[bench->point_count++] = *point;
}

/* ---- costs ---- */

/* A thousand who want one redlock split its servers among them, and hardly anybody is answered
 * before the service's own limit: so long it takes at least. */
static long cost_duration_s(const struct bench *bench, const char *guard, bool is_single)
{
    bool is_slow = is_single && strcmp(guard, "redlock") == 0;

    return is_slow && bench->cost_duration_s < SPLIT_S ? SPLIT_S : bench->cost_duration_s;
}

void bench_points_of_costs(struct bench *bench, const struct options *options)
{
    for (int i = 0; i < bench->guards.count; i++) {
        const char *guard = bench->guards.list[i].name;
        if (bench->guards.list[i].finding != GUARD_SOUND) continue;
        char name[GUARD_NAME_MAX + 8];
        (void)snprintf(name, sizeof name, "cost-%s", guard);
        for (int single = 0; single < 2 && bench_wants(options, name); single++)
            add_point(bench, &(struct bench_point){
                                 .guard = guard,
                                 .batch = single ? 1 : bench->guards.batch,
                                 .connections = BENCH_COST_CONNECTIONS,
                                 .duration_s = cost_duration_s(bench, guard, single != 0),
                                 .instance = single ? BENCH_AT_SINGLE : BENCH_AT_FIRST,
                             });
    }
}

/* ---- the ladder ---- */

static bool is_wanted(const struct options *options, const struct bench_point *step,
                      const struct guard_entry *guard)
{
    static const char usual[] = " mutex fenced script "; /* a lock, one with a token, none */
    char name[BENCH_NAME_MAX], word[GUARD_NAME_MAX + 2];

    bench_round_name_point(step, name);
    (void)snprintf(word, sizeof word, " %s ", guard->name);
    if (!bench_wants(options, name)) return false;
    if (step->place == bench_places) return true;
    return !guard->needs[0] && guard->finding == GUARD_SOUND &&
           (options->only_count > 0 || strstr(usual, word)) &&
           (!step->place->has_book || own_server_is_here(OWN_POSTGRES));
}

void bench_points_of_ladder(struct bench *bench, const struct options *options)
{
    struct bench_point step = {.batch = bench->guards.batch,
                               .connections = BENCH_COST_CONNECTIONS,
                               .duration_s = bench->cost_duration_s};

    for (int at = 0; at < BENCH_PLACE_COUNT * bench->guards.count; at++) {
        const struct guard_entry *guard = &bench->guards.list[at % bench->guards.count];
        step.guard = guard->name;
        step.place = &bench_places[at / bench->guards.count];
        if (is_wanted(options, &step, guard)) add_point(bench, &step);
    }
}

static bool is_as_told(const struct bench_stage *stage)
{
    const char *said = stage->sites[0].service.durability;

    return strcmp(said, stage->place->durability) == 0 ||
           failure_set(stage->failure, "ladder: /version says \"%s\", not \"%s\"", said,
                       stage->place->durability);
}

bool bench_points_run_ladder(struct bench_stage *stage)
{
    const struct bench_place *place = stage->place;
    struct options *options = &stage->sites[0].options;
    char name[BENCH_NAME_MAX];
    const struct topology *servers = NULL;

    (void)snprintf(name, sizeof name, "ladder-%.30s-%ld", place->name, stage->round);
    if (!bench_stage_open(stage, name)) return false;
    servers = bench_servers_add(&stage->servers, stage->dir,
                                &(struct bench_redis){.kind = place->kind, .aof = place->aof},
                                stage->failure);
    if (!servers) return false;
    options->redis = servers->url;
    options->sync_replicas = place->sync_replicas;
    options->sync_ms = place->sync_replicas ? SYNC_MS : 0;
    options->has_book = place->has_book;
    options->waits_for_book = place->waits_for_book;
    const struct guard_list guards = bench_stage_guards(stage);
    if (!bench_stage_add_needs(stage, &guards)) return false;
    options->needs[OWN_POSTGRES] |= place->has_book;
    if (!bench_stage_open_site(stage, &stage->sites[0], "site") || !is_as_told(stage)) return false;
    bench_stage_print(stage, "ladder %ld/%ld: %s; %s\n", stage->round, stage->bench->cost_repeat,
                      place->servers, place->stores);
    return bench_stage_warm_up(stage, BENCH_AT_FIRST, "mutex", BENCH_COST_CONNECTIONS) &&
           bench_stage_measure_points(stage, 1);
}

/* ---- a sweep ---- */

/* Besides the service's default. */
static const long batches[] = {1, 4, 16, 64};
enum { BATCH_COUNT = sizeof batches / sizeof *batches };

static const char favourite[] = "mutex"; /* whose batch sizes are compared, if it takes part */

bool bench_points_of_sweep(struct bench *bench, const struct options *options,
                           struct failure *failure)
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
            add_point(bench, &point);
        }
    point.guard = guard_list_find(guards, favourite) ? favourite : guards->list[0].name;
    point.connections = options_most_connections(options);
    for (int i = 0; i < BATCH_COUNT; i++) {
        point.batch = batches[i];
        point.instance = 1;
        point.is_alone = true;
        add_point(bench, &point);
    }
    return true;
}

bool bench_points_run_sweep(struct bench_stage *stage)
{
    const struct options *options = stage->options;
    struct bench *bench = stage->bench;

    stage->connections = options_most_connections(options);
    if (!bench_stage_open(stage, "sweep")) return false;
    if (!bench_stage_add_needs(stage, &bench->guards)) return false;
    if (!bench_stage_open_site(stage, &stage->sites[0], "site")) return false;
    bench_stage_print(stage, "%d settings, %ld round%s of %ld s each\n", bench->point_count,
                      options->repeat, options->repeat == 1 ? "" : "s", options->duration_s);
    progress_begin(&bench->progress, bench->point_count * options->repeat);
    return bench_stage_warm_up(stage, BENCH_AT_FIRST, bench->guards.list[0].name,
                               options->connections[0]) &&
           bench_stage_measure_points(stage, options->repeat);
}
