/*
 * Rounds: purchase then page, page then purchase, and so on, so that neither always comes first.
 * Every purchase round has its own buyers. One thread.
 */
#include "speed.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench.h"
#include "run/operator.h"

enum { WARM_UP_S = 1 };

struct measuring {
    const struct drive_target *target;
    const struct options *options; /* of the target */
    struct speed_run *run;
    struct progress *progress;
    struct failure *failure;
};

/* At all instances; what is doubtful makes the run so. Every purchase round has a sale of its own. */
static bool measure(const struct measuring *measuring, bench_kind kind, struct bench_task task,
                    struct speed_count *out_count)
{
    const struct options *options = measuring->options;
    struct service *service = measuring->target->service;
    struct bench_count count = {.doubt = ""};
    char sale[SALE_ID_MAX + 1], stamp[32], *doubt = measuring->run->doubt;

    clock_file_stamp(stamp, sizeof stamp);
    (void)snprintf(sale, sizeof sale, "speed-%.8s-%ld-%.12s", stamp, (long)getpid(), task.tag);
    task.kind = kind;
    task.page = options->against;
    task.sale = sale;
    task.at_all = true;
    if (kind == BENCH_PURCHASE &&
        !operator_create_sale(service, sale, options->guard, options->stock, measuring->failure))
        return false;
    struct bench_field field = {options, measuring->target->run_dir, service,
                                service_open_ledger(service, measuring->failure)};
    bool is_good = field.ledger && bench_round_measure(&field, &task, &count, measuring->failure);
    ledger_close(field.ledger);
    if (kind == BENCH_PURCHASE && !service->is_ours && !options->has_to_keep)
        (void)operator_remove_sale(service, sale, NULL, NULL); /* of orders nobody audits */
    *out_count = count.speed;
    if (count.doubt[0] && !doubt[0])
        (void)snprintf(doubt, sizeof measuring->run->doubt, "%s round at %ld connections: %s",
                       kind == BENCH_PAGE ? "GET" : "POST", task.connections, count.doubt);
    return is_good;
}

static void show_pair(const struct options *options, struct progress *progress,
                      const struct speed_step *step)
{
    const struct speed_pair *pair = &step->pairs[step->rounds - 1];
    char far[PROGRESS_WORDS_MAX];

    if (options->is_quiet) return;
    (void)printf("  %s  %5ld connections, round %d: purchases %8.0f/s   %s %8.0f/s   ratio %.3f\n",
                 progress_step(progress, far), step->connections, step->rounds,
                 pair->purchase.per_s, options->against, pair->page.per_s,
                 step->ratio.values[step->rounds - 1]);
    (void)fflush(stdout);
}

static bool measure_pair(const struct measuring *measuring, struct speed_step *step)
{
    const struct options *options = measuring->options;
    struct speed_pair *pair = &step->pairs[step->rounds];

    for (int turn = 0; turn < 2; turn++) {
        bool is_purchase = (step->rounds + turn) % 2 == 0;
        struct bench_task task = {.connections = step->connections,
                                  .duration_s = options->duration_s};
        (void)snprintf(task.tag, sizeof task.tag, "c%ld-%d%c", step->connections, step->rounds + 1,
                       is_purchase ? 'p' : 'g');
        if (!measure(measuring, is_purchase ? BENCH_PURCHASE : BENCH_PAGE, task,
                     is_purchase ? &pair->purchase : &pair->page))
            return false;
    }
    if (pair->page.per_s <= 0)
        return failure_set(measuring->failure, "%s answered nothing", options->against);
    step->rounds++;
    spread_add(&step->purchases_per_s, pair->purchase.per_s);
    spread_add(&step->pages_per_s, pair->page.per_s);
    spread_add(&step->ratio, pair->purchase.per_s / pair->page.per_s);
    show_pair(options, measuring->progress, step);
    return true;
}

static bool measure_step(const struct measuring *measuring, struct speed_step *step)
{
    struct speed_count ignored;
    struct bench_task warm_up = {.connections = step->connections, .duration_s = WARM_UP_S};

    (void)snprintf(warm_up.tag, sizeof warm_up.tag, "c%ld-0", step->connections);
    if (!measure(measuring, BENCH_PURCHASE, warm_up, &ignored)) return false;
    while (step->rounds < measuring->options->repeat)
        if (!measure_pair(measuring, step)) return false;
    return true;
}

bool speed_measure(const struct drive_target *target, struct speed_run *out_run,
                   struct failure *failure)
{
    const struct options *options = target->options;
    struct progress progress;
    struct measuring measuring = {target, options, out_run, &progress, failure};

    *out_run = (struct speed_run){.step_count = options->connection_steps};
    out_run->steps = calloc((size_t)options->connection_steps, sizeof *out_run->steps);
    if (!out_run->steps) return failure_set(failure, "out of memory");
    progress_begin(&progress, out_run->step_count * options->repeat);
    for (int i = 0; i < out_run->step_count; i++) {
        out_run->steps[i].connections = options->connections[i];
        if (!measure_step(&measuring, &out_run->steps[i])) return false;
    }
    service_measure_memory(target->service);
    return true;
}

void speed_free(struct speed_run *run)
{
    free(run->steps);
    *run = (struct speed_run){.steps = NULL};
}
