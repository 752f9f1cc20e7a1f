/*
 * Rounds: purchase then page, page then purchase, and so on, so that neither always comes first.
 * Every purchase round has its own sale and its own buyers. One thread.
 */
#include "speed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/moment.h"
#include "evidence/ledger.h"

enum { LOOK_EVERY_MS = 20, WARM_UP_S = 1, WRK_MARGIN_S = 10 };

struct measuring {
    const struct drive_target *target;
    const struct options *options; /* of the target */
    struct service *service;
    struct http_client *http;
    struct speed_run *run;
    struct failure *failure;
};

bool speed_run_round(const struct drive_target *target, struct service *service,
                     const struct speed_round *round, struct speed_count *out_count,
                     struct failure *failure)
{
    int64_t deadline_ms = moment_ms() + (round->duration_s + WRK_MARGIN_S) * 1000;
    struct drive drive;

    *out_count = (struct speed_count){.per_s = 0};
    if (!drive_speed(&drive, target, round, failure)) return false;
    while (drive_is_running(&drive) && !interrupt_came() && moment_ms() < deadline_ms)
        moment_sleep_ms(LOOK_EVERY_MS);
    drive_stop(&drive);
    if (interrupt_came()) return failure_set(failure, "interrupted");
    if (service_has_died(service, failure)) return false;
    return drive_went_well(&drive, failure) && drive_read_speed(&drive, out_count, failure);
}

static bool run_round(const struct measuring *measuring, const struct speed_round *round,
                      struct speed_count *out_count)
{
    return speed_run_round(measuring->target, measuring->service, round, out_count,
                           measuring->failure);
}

static void doubt(const struct measuring *measuring, const char *what, long long count,
                  const struct speed_round *round)
{
    char *words = measuring->run->doubt;
    if (words[0]) return;
    (void)snprintf(words, sizeof measuring->run->doubt, "%s round at %ld connections: %lld %s",
                   round->method, round->connections, count, what);
}

/* A purchase counts when it was answered below 400 and Redis sold as many. */
static bool check_sold(const struct measuring *measuring, const struct speed_round *round,
                       const char *sale, const struct speed_count *count)
{
    struct ledger *ledger = service_open_ledger(measuring->service, measuring->failure);
    int64_t left = 0;

    if (!ledger) return false;
    bool is_read = ledger_sale_stock(ledger, sale, &left, measuring->failure);
    ledger_close(ledger);
    long long sold = measuring->options->stock - (long long)left;
    if (is_read && sold < count->requests - count->status_errors)
        doubt(measuring, "units sold in Redis, fewer than wrk counted", sold, round);
    return is_read;
}

static bool purchase_round(const struct measuring *measuring, long connections, long duration_s,
                           const char *tag, struct speed_count *out_count)
{
    const struct options *options = measuring->options;
    char sale[SALE_ID_MAX + 1];
    char path[80];
    char stamp[32];

    moment_stamp(stamp, sizeof stamp);
    (void)snprintf(sale, sizeof sale, "speed-%.8s-%ld-%.12s", stamp, (long)getpid(), tag);
    (void)snprintf(path, sizeof path, "/api/v1/sales/%s/orders", sale);
    if (!service_create_sale(measuring->service, measuring->http, sale, options->guard,
                             options->stock, measuring->failure))
        return false;
    struct speed_round round = {path, "POST", tag, connections, duration_s, 0};
    if (!run_round(measuring, &round, out_count)) return false;
    if (out_count->status_errors)
        doubt(measuring, "answers of 400 and above", out_count->status_errors, &round);
    if (out_count->socket_errors)
        doubt(measuring, "socket errors", out_count->socket_errors, &round);
    return check_sold(measuring, &round, sale, out_count);
}

static bool page_round(const struct measuring *measuring, long connections, long duration_s,
                       const char *tag, struct speed_count *out_count)
{
    struct speed_round round = {
        measuring->options->against, "GET", tag, connections, duration_s, 0};

    if (!run_round(measuring, &round, out_count)) return false;
    if (out_count->status_errors)
        doubt(measuring, "answers of 400 and above", out_count->status_errors, &round);
    if (out_count->socket_errors)
        doubt(measuring, "socket errors", out_count->socket_errors, &round);
    return true;
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

bool speed_measure(const struct drive_target *target, struct service *service,
                   struct http_client *http, struct speed_run *out_run, struct failure *failure)
{
    const struct options *options = target->options;
    struct measuring measuring = {.target = target,
                                  .options = options,
                                  .service = service,
                                  .http = http,
                                  .run = out_run,
                                  .failure = failure};

    *out_run = (struct speed_run){.step_count = options->connection_steps};
    out_run->steps = calloc((size_t)options->connection_steps, sizeof *out_run->steps);
    if (!out_run->steps) return failure_set(failure, "out of memory");
    for (int i = 0; i < out_run->step_count; i++) {
        out_run->steps[i].connections = options->connections[i];
        if (!measure_step(&measuring, &out_run->steps[i])) return false;
    }
    service_measure_memory(service);
    return true;
}

void speed_free(struct speed_run *run)
{
    free(run->steps);
    *run = (struct speed_run){.steps = NULL};
}
