/*
 * The ladder: guards on places, round by round, all servers on TCP, an instance on each. One thread.
 */
#include <stdio.h>
#include <string.h>

#include "bench_stage.h"

enum { SYNC_MS = 1000 };

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

void bench_ladder_plan(struct bench *bench, const struct options *options)
{
    struct bench_point step = {.batch = bench->guards.batch,
                               .connections = BENCH_COST_CONNECTIONS,
                               .duration_s = bench->cost_duration_s};

    for (int at = 0; at < BENCH_PLACE_COUNT * bench->guards.count; at++) {
        const struct guard_entry *guard = &bench->guards.list[at % bench->guards.count];
        step.guard = guard->name;
        step.place = &bench_places[at / bench->guards.count];
        if (is_wanted(options, &step, guard) && bench->point_count < BENCH_THINGS_MAX)
            bench->points[bench->point_count++] = step;
    }
}

static bool is_as_told(const struct bench_stage *stage)
{
    const char *said = stage->sites[0].service.durability;

    return strcmp(said, stage->place->durability) == 0 ||
           failure_set(stage->failure, "ladder: /version says \"%s\", not \"%s\"", said,
                       stage->place->durability);
}

bool bench_ladder_run(struct bench_stage *stage)
{
    const struct bench_place *place = stage->place;
    struct options *options = &stage->sites[0].options;
    char name[BENCH_NAME_MAX];
    const char *const words[] = {
        "--aof",     place->aof,       "--set", "auto-aof-rewrite-min-size 512mb",
        place->kind, stage->nodes_dir, NULL};

    (void)snprintf(name, sizeof name, "ladder-%.30s-%ld", place->name, stage->round);
    if (!bench_stage_open(stage, name)) return false;
    (void)snprintf(stage->nodes_dir, sizeof stage->nodes_dir, "%.1000s/nodes", stage->dir);
    if (!topology_open(&stage->topology, words, stage->failure)) return false;
    options->redis = stage->topology.url;
    options->sync_replicas = place->sync_replicas;
    options->sync_ms = place->sync_replicas ? SYNC_MS : 0;
    options->has_book = place->has_book;
    options->waits_for_book = place->waits_for_book;
    if (!bench_stage_add_needs(stage)) return false;
    options->needs[OWN_POSTGRES] |= place->has_book;
    if (!bench_stage_open_site(stage, &stage->sites[0], "site") || !is_as_told(stage)) return false;
    bench_stage_say(stage, "ladder %ld/%ld: %s; %s\n", stage->round, stage->bench->cost_repeat,
                    place->servers, place->stores);
    return bench_stage_warm_up(stage, BENCH_AT_FIRST, "mutex", BENCH_COST_CONNECTIONS) &&
           bench_stage_measure_points(stage, 1);
}
