/*
 * Round by round, each guard once, in an order that the seed shuffles. A cell is started from
 * nothing and stopped before the next one starts. One thread.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "bench_stage.h"
#include "compare.h"

enum { CELL_PATH_MAX = 860, CELL_NAME_MAX = GUARD_NAME_MAX + 16 };

/* Is this guard tried under that fault: one that was named, else its own? Of all guards the flawed ones under their own
 * alone. */
static bool is_wanted(const struct options *options, const struct fault *fault, const char *guard)
{
    const struct fault_wish *wish = &options->faults;
    bool is_own = fault == fault_of_guard(guard);
    bool is_flawed = fault_brings_down(fault_of_guard(guard), guard);

    if (!fault_touches(fault, guard) || (fault->has_proxy && options->redis)) return false;
    if (!wish->is_said) return is_own;
    return wish->kinds[fault->kind] && (is_own || !is_flawed || strcmp(options->guard, "all") != 0);
}

static void add_rows(struct compare *compare, const struct options *options)
{
    for (int i = 0; i < compare->guards.count; i++) {
        const struct guard_entry *guard = &compare->guards.list[i];
        if (!fault_wish_first(&options->faults)) compare->rows[compare->row_count++].guard = guard;
        for (int kind = 0; kind < FAULT_COUNT; kind++)
            if (is_wanted(options, &fault_list[kind], guard->name))
                compare->rows[compare->row_count++] =
                    (struct compare_row){.guard = guard, .fault = &fault_list[kind]};
    }
}

static bool prepare(struct compare *compare, const struct options *options, const char *run_dir,
                    struct failure *failure)
{
    struct guard_list all;

    *compare = (struct compare){.seed = bench_seed(options)};
    if (strlen(run_dir) + CELL_NAME_MAX > CELL_PATH_MAX)
        return failure_set(failure, "--out: the path is too long");
    if (!guard_list_ask(run_dir, &all, failure)) return false;
    if (!guard_list_choose(&all, options->guard, &compare->guards, failure)) return false;
    if (strcmp(options->guard, "all") == 0) {
        int before = compare->guards.count;

        guard_list_drop_not_here(&compare->guards);
        if (!options->is_quiet && compare->guards.count < before)
            (void)printf("without %d guards whose servers are not installed here\n",
                         before - compare->guards.count);
    }
    add_rows(compare, options);
    if (compare->row_count == 0)
        return failure_set(failure, "--fault: touches none of these guards");
    compare->cells = calloc((size_t)(options->repeat * compare->row_count), sizeof *compare->cells);
    return compare->cells || failure_set(failure, "out of memory");
}

/* ---- a cell ---- */

static bool sell(struct compare *compare, const struct bench_stage *stage,
                 struct compare_cell *cell)
{
    const struct options *options = &stage->sites[0].options;
    struct service *service = &compare->service;
    struct drive_target target = {service, options, stage->dir};

    if (!service_start(service, options, options->connections[0], stage->dir, stage->failure))
        return false;
    bool is_done = verify_sale(&target, compare->cell_count + 1, &cell->run, stage->failure);
    service_stop(service);
    return is_done;
}

static void print_progress(const struct options *options, struct compare *compare,
                           const struct compare_cell *cell)
{
    const struct compare_row *row = &compare->rows[cell->row];
    const struct verify_run *run = &cell->run;
    const char *words = run->trouble[0] ? run->trouble : run->shortage;

    char far[PROGRESS_WORDS_MAX];

    if (options->is_quiet) return;
    (void)printf("  %s  round %ld  %-18s %-5s %7.0f/s  sold %zu of %" PRId64 "  %s%s%s\n",
                 progress_step(&compare->progress, far), cell->round, row->guard->name,
                 compare_row_weather(row), run->summary.purchases_per_s, run->audit.sold,
                 run->summary.initial, compare_verdict_words(row->verdicts[row->count - 1]),
                 words[0] ? ": " : "", words);
    (void)fflush(stdout);
}

/* One that could not be done after others could proves nothing; it does not end them all. */
static void take_trouble(struct verify_run *run, struct failure *failure)
{
    (void)snprintf(run->trouble, sizeof run->trouble, "%s", failure->text);
    *failure = (struct failure){.text = ""};
}

struct comparing {
    struct compare *compare;
    struct bench_stage *stage;
};

static bool run_cell(void *arg, long round, int at)
{
    const struct comparing *all = arg;
    struct compare *compare = all->compare;
    struct bench_stage *stage = all->stage;
    struct compare_cell *cell = &compare->cells[compare->cell_count];
    struct compare_row *row = &compare->rows[at];
    const struct guard_list one = {.list = {*row->guard}, .count = 1};
    char name[CELL_NAME_MAX];

    if (interrupt_came()) return failure_set(stage->failure, "interrupted");
    (void)snprintf(name, sizeof name, "%s-%s-%d", row->guard->name, compare_row_weather(row),
                   (int)(round % 10000));
    *cell = (struct compare_cell){.row = at, .round = round};
    bool is_done = bench_stage_open(stage, name);
    stage->sites[0].options.guard = row->guard->name;
    options_put_under(&stage->sites[0].options, row->fault);
    is_done = is_done && bench_stage_add_needs(stage, &one) && sell(compare, stage, cell);
    bench_stage_close(stage);
    if (!is_done && (compare->cell_count == 0 || interrupt_came())) return false;
    if (!is_done) take_trouble(&cell->run, stage->failure);
    compare->cell_count++;
    compare_row_add(row, &cell->run);
    print_progress(stage->options, compare, cell);
    return true;
}

/* ---- all ---- */

bool compare_run(struct compare *compare, const struct options *options, const char *run_dir,
                 struct failure *failure)
{
    struct comparing all = {compare, calloc(1, sizeof(struct bench_stage))};
    int64_t started_ms = clock_ms();

    bool is_done = (all.stage || failure_set(failure, "out of memory")) &&
                   prepare(compare, options, run_dir, failure);
    if (!is_done) goto out;
    all.stage->options = options;
    all.stage->run_dir = run_dir;
    all.stage->failure = failure;
    if (!options->is_quiet)
        (void)printf("%d guards in %d ways, %ld round%s, seed %" PRIu64 "\n", compare->guards.count,
                     compare->row_count, options->repeat, options->repeat == 1 ? "" : "s",
                     compare->seed);
    progress_begin(&compare->progress, options->repeat * compare->row_count);
    is_done = bench_run_rounds(
        &(struct bench_rounds){options->repeat, compare->row_count, compare->seed, run_cell, &all});
    compare->seconds = (double)(clock_ms() - started_ms) / 1000;
out:
    free(all.stage);
    return is_done;
}

void compare_run_free(struct compare *compare)
{
    free(compare->cells);
    compare->cells = NULL;
}

audit_verdict compare_run_verdict(const struct compare *compare)
{
    compare_verdict worst = COMPARE_HELD;

    for (int i = 0; i < compare->row_count; i++) {
        compare_verdict verdict = compare_row_verdict(&compare->rows[i]);
        if (verdict > worst) worst = verdict;
    }
    if (worst == COMPARE_BROKE) return AUDIT_FAIL;
    return worst == COMPARE_VOID || worst == COMPARE_HID ? AUDIT_VOID : AUDIT_PASS;
}
