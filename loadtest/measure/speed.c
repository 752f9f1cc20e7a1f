/*
 * Rounds: purchase then page, page then purchase, and so on, so that neither always comes first.
 * Every purchase round has its own sale and its own buyers. One thread.
 */
#include "speed.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/moment.h"
#include "base/spread.h"
#include "bench_round.h"

enum { WARM_UP_S = 1 };

struct measuring {
    const struct drive_target *target;
    const struct options *options; /* of the target */
    struct speed_run *run;
    struct failure *failure;
};

/* At all instances; what is doubtful makes the run so. */
static bool measure(const struct measuring *measuring, struct bench_task *task,
                    struct speed_count *out_count)
{
    struct service *service = measuring->target->service;
    struct bench_field field = {measuring->options, measuring->target->run_dir, service,
                                service_open_ledger(service, measuring->failure)};
    char *doubt = measuring->run->doubt;
    struct bench_count count = {.doubt = ""};

    task->at_all = true;
    bool is_good = field.ledger && bench_round_measure(&field, task, &count, measuring->failure);
    ledger_close(field.ledger);
    *out_count = count.speed;
    if (count.doubt[0] && !doubt[0])
        (void)snprintf(doubt, sizeof measuring->run->doubt, "%s round at %ld connections: %s",
                       task->kind == BENCH_PAGE ? "GET" : "POST", task->connections, count.doubt);
    return is_good;
}

static bool purchase_round(const struct measuring *measuring, long connections, long duration_s,
                           const char *tag, struct speed_count *out_count)
{
    const struct options *options = measuring->options;
    char sale[SALE_ID_MAX + 1];
    char stamp[32];
    struct bench_task task = {.kind = BENCH_PURCHASE,
                              .sale = sale,
                              .tag = tag,
                              .connections = connections,
                              .duration_s = duration_s};

    moment_stamp(stamp, sizeof stamp);
    (void)snprintf(sale, sizeof sale, "speed-%.8s-%ld-%.12s", stamp, (long)getpid(), tag);
    return service_create_sale(measuring->target->service, sale, options->guard, options->stock,
                               measuring->failure) &&
           measure(measuring, &task, out_count);
}

static bool page_round(const struct measuring *measuring, long connections, long duration_s,
                       const char *tag, struct speed_count *out_count)
{
    struct bench_task task = {.kind = BENCH_PAGE,
                              .page = measuring->options->against,
                              .tag = tag,
                              .connections = connections,
                              .duration_s = duration_s};

    return measure(measuring, &task, out_count);
}

static void show_pair(const struct options *options, const struct speed_step *step)
{
    const struct speed_pair *pair = &step->pairs[step->rounds - 1];
    if (options->is_quiet) return;
    (void)printf("  %5ld connections, round %d: purchases %8.0f/s   %s %8.0f/s   ratio %.3f\n",
                 step->connections, step->rounds, pair->purchase.per_s, options->against,
                 pair->page.per_s, pair->ratio);
    (void)fflush(stdout);
}

static bool measure_pair(const struct measuring *measuring, struct speed_step *step)
{
    const struct options *options = measuring->options;
    struct speed_pair *pair = &step->pairs[step->rounds];
    char purchase_tag[32], page_tag[32];
    bool is_good = true;

    (void)snprintf(purchase_tag, sizeof purchase_tag, "c%ld-%dp", step->connections,
                   step->rounds + 1);
    (void)snprintf(page_tag, sizeof page_tag, "c%ld-%dg", step->connections, step->rounds + 1);
    for (int turn = 0; turn < 2 && is_good; turn++) {
        bool is_purchase = (step->rounds + turn) % 2 == 0;
        is_good = is_purchase ? purchase_round(measuring, step->connections, options->duration_s,
                                               purchase_tag, &pair->purchase)
                              : page_round(measuring, step->connections, options->duration_s,
                                           page_tag, &pair->page);
    }
    if (!is_good) return false;
    if (pair->page.per_s <= 0)
        return failure_set(measuring->failure, "%s answered nothing", options->against);
    pair->ratio = pair->purchase.per_s / pair->page.per_s;
    step->rounds++;
    show_pair(options, step);
    return true;
}

static void sum_up(struct speed_step *step)
{
    double purchases[ROUNDS_MAX] = {0};
    double pages[ROUNDS_MAX] = {0};
    double ratios[ROUNDS_MAX] = {0};

    for (int i = 0; i < step->rounds; i++) {
        purchases[i] = step->pairs[i].purchase.per_s;
        pages[i] = step->pairs[i].page.per_s;
        ratios[i] = step->pairs[i].ratio;
    }
    step->purchases_per_s = spread_of(purchases, step->rounds);
    step->pages_per_s = spread_of(pages, step->rounds);
    step->ratio = spread_of(ratios, step->rounds);
}

static bool measure_step(const struct measuring *measuring, struct speed_step *step)
{
    struct speed_count ignored;
    char tag[24];

    (void)snprintf(tag, sizeof tag, "c%ld-0", step->connections);
    if (!purchase_round(measuring, step->connections, WARM_UP_S, tag, &ignored)) return false;
    while (step->rounds < measuring->options->repeat)
        if (!measure_pair(measuring, step)) return false;
    sum_up(step);
    return true;
}

bool speed_measure(const struct drive_target *target, struct speed_run *out_run,
                   struct failure *failure)
{
    const struct options *options = target->options;
    struct measuring measuring = {target, options, out_run, failure};

    *out_run = (struct speed_run){.step_count = options->connection_steps};
    out_run->steps = calloc((size_t)options->connection_steps, sizeof *out_run->steps);
    if (!out_run->steps) return failure_set(failure, "out of memory");
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
