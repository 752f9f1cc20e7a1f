/*
 * Round by round, each guard once, in an order that the seed shuffles. A cell is started from
 * nothing and stopped before the next one starts. One thread.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/interrupt.h"
#include "base/moment.h"
#include "bench.h"
#include "bench_servers.h"
#include "compare.h"

enum { CELL_PATH_MAX = 860 };

/* One guard in one round: its own folder, servers and instances. */
struct cell_place {
    char dir[RUN_PATH_MAX];
    struct options options; /* of the run, but for guard and lock servers */
    struct bench_servers servers;
    char urls[BENCH_URLS_MAX];
};

static bool prepare(struct compare *compare, const struct options *options, const char *run_dir,
                    struct failure *failure)
{
    char help[GUARD_HELP_MAX];
    struct guard_list all;

    *compare = (struct compare){.seed = bench_seed(options)};
    if (!guard_list_ask_help(run_dir, help, sizeof help, failure)) return false;
    if (!guard_list_parse(help, &all))
        return failure_set(failure, "the guards in seckilld --help are not understood");
    if (!guard_list_choose(&all, options->guard, &compare->guards, failure)) return false;
    if (strcmp(options->guard, "all") == 0) {
        int before = compare->guards.count;

        guard_list_drop_not_here(&compare->guards);
        if (!options->is_quiet && compare->guards.count < before)
            (void)printf("without %d guards whose servers are not installed here\n",
                         before - compare->guards.count);
    }
    for (int i = 0; i < compare->guards.count; i++)
        compare->rows[i].guard = &compare->guards.list[i];
    compare->cells =
        calloc((size_t)(options->repeat * compare->guards.count), sizeof *compare->cells);
    return compare->cells || failure_set(failure, "out of memory");
}

/* ---- a cell ---- */

static bool make_folder(struct cell_place *place, const char *run_dir, const char *guard,
                        long round, struct failure *failure)
{
    int length = snprintf(place->dir, sizeof place->dir, "%s/%s-%ld", run_dir, guard, round);

    if (length < 0 || length > CELL_PATH_MAX)
        return failure_set(failure, "--out: the path is too long");
    return mkdir(place->dir, 0755) == 0 ||
           failure_set(failure, "%s: %s", place->dir, failure_errno_text());
}

/* The guard redlock needs servers for its locks, and nobody else does. */
static bool add_lock_servers(struct cell_place *place, struct failure *failure)
{
    if (place->options.redlock || strcmp(place->options.guard, "redlock") != 0) return true;
    place->options.redlock = place->urls;
    return bench_servers_add_locks(&place->servers, place->dir, place->urls, failure);
}

static bool sell(struct compare *compare, const struct cell_place *place, struct compare_cell *cell,
                 struct failure *failure)
{
    struct service *service = &compare->service;
    struct drive_target target = {service, &place->options, place->dir};

    if (!service_start(service, &place->options, place->options.connections[0], place->dir,
                       failure))
        return false;
    bool is_done = verify_sale(&target, compare->cell_count + 1, &cell->run, failure);
    service_stop(service);
    return is_done;
}

static void say(const struct options *options, const struct compare *compare,
                const struct compare_cell *cell)
{
    const struct compare_row *row = &compare->rows[cell->guard];
    const struct verify_run *run = &cell->run;
    const char *words = run->trouble[0] ? run->trouble : run->shortage;

    if (options->is_quiet) return;
    (void)printf("  %d/%ld  round %ld  %-18s %7.0f/s  sold %zu of %" PRId64 "  %s%s%s\n",
                 compare->cell_count, options->repeat * compare->guards.count, cell->round,
                 row->guard->name, run->summary.purchases_per_s, run->audit.sold,
                 run->summary.initial, compare_verdict_words(row->verdicts[row->count - 1]),
                 words[0] ? ": " : "", words);
    (void)fflush(stdout);
}

struct comparing {
    struct compare *compare;
    const struct options *options;
    const char *run_dir;
    struct failure *failure;
};

static bool run_cell(void *arg, long round, int guard)
{
    const struct comparing *all = arg;
    struct compare *compare = all->compare;
    struct compare_cell *cell = &compare->cells[compare->cell_count];
    const char *name = compare->guards.list[guard].name;

    if (interrupt_came()) return failure_set(all->failure, "interrupted");
    struct cell_place *place = calloc(1, sizeof *place);
    if (!place) return failure_set(all->failure, "out of memory");
    place->options = *all->options;
    place->options.guard = name;
    const struct guard_list one = {.list = {compare->guards.list[guard]}, .count = 1};
    guard_list_tell_needs(&one, place->options.needs);
    *cell = (struct compare_cell){.guard = guard, .round = round};
    bool is_done = make_folder(place, all->run_dir, name, round, all->failure) &&
                   add_lock_servers(place, all->failure) &&
                   sell(compare, place, cell, all->failure);
    bench_servers_stop(&place->servers);
    free(place);
    if (!is_done) return false;
    compare->cell_count++;
    compare_row_add(&compare->rows[guard], &cell->run);
    say(all->options, compare, cell);
    return true;
}

/* ---- all ---- */

bool compare_run(struct compare *compare, const struct options *options, const char *run_dir,
                 struct failure *failure)
{
    struct comparing all = {compare, options, run_dir, failure};
    int64_t started_ms = moment_ms();

    if (!prepare(compare, options, run_dir, failure)) return false;
    if (!options->is_quiet)
        (void)printf("%d guards, %ld round%s, seed %" PRIu64 "\n", compare->guards.count,
                     options->repeat, options->repeat == 1 ? "" : "s", compare->seed);
    bool is_done = bench_run_rounds(&(struct bench_rounds){options->repeat, compare->guards.count,
                                                           compare->seed, run_cell, &all});
    compare->seconds = (double)(moment_ms() - started_ms) / 1000;
    return is_done;
}

void compare_run_free(struct compare *compare)
{
    free(compare->cells);
    compare->cells = NULL;
}

compare_verdict compare_run_verdict(const struct compare *compare)
{
    compare_verdict worst = COMPARE_HELD;

    for (int i = 0; i < compare->guards.count; i++) {
        compare_verdict verdict = compare_row_verdict(&compare->rows[i]);
        if (verdict > worst) worst = verdict;
    }
    return worst;
}
