/*
 * Two readings before tell what a reading costs. One thread.
 */
#include "service_counts.h"

#include <stdlib.h>

enum { ASKS = 4 };

static bool ask(const struct service_costs *costs, struct service_counts *out_counts,
                struct failure *failure)
{
    bool is_all = costs->instance == ALL_INSTANCES;

    *out_counts = (struct service_counts){.round_trips = 0};
    for (int i = is_all ? 0 : costs->instance;
         i < (is_all ? costs->service->count : costs->instance + 1); i++) {
        struct lock_times locks;
        char *metrics =
            bench_counters_fetch(costs->service->http, costs->service->instances[i].url, failure);
        if (!metrics) return false;
        out_counts->round_trips +=
            bench_counters_sum(metrics, "seckill_redis_round_trips_total", NULL);
        out_counts->started_s += bench_counters_sum(metrics, "process_start_time_seconds", NULL);
        bench_counters_read_label(metrics, "seckill_orders_total", "outcome", &out_counts->orders);
        bench_counters_read_label(metrics, "seckill_payment_events_total", "result",
                                  &out_counts->payments);
        lock_times_read(metrics, costs->guard ? costs->guard : "", &locks);
        lock_times_add(&out_counts->locks.wait, &locks.wait);
        lock_times_add(&out_counts->locks.hold, &locks.hold);
        free(metrics);
    }
    return true;
}

bool service_counts_begin(struct service_costs *costs, struct failure *failure)
{
    struct service_counts first;

    if (!ask(costs, &first, failure) || !ask(costs, &costs->before, failure)) return false;
    costs->of_asking = costs->before.round_trips - first.round_trips;
    return true;
}

bool service_counts_end(const struct service_costs *costs, struct service_counts *out_since,
                        struct failure *failure)
{
    const struct service_counts *before = &costs->before;
    struct service_counts after;

    if (!ask(costs, &after, failure)) return false;
    *out_since = (struct service_counts){.round_trips = after.round_trips - before->round_trips -
                                                        costs->of_asking,
                                         .locks = after.locks};
    lock_times_subtract(&out_since->locks, &before->locks);
    (void)bench_counters_add_calls(&before->orders, &after.orders, &out_since->orders);
    (void)bench_counters_add_calls(&before->payments, &after.payments, &out_since->payments);
    return true;
}

/* A proxy hands every request to another instance, so some requests tell. */
double service_counts_same_process(const struct service *service)
{
    double sum = 0;

    for (int i = 0; i < service->count; i++) {
        struct service_counts first, again;
        const struct service_costs one = {.service = service, .instance = i};
        if (!ask(&one, &first, NULL) || first.started_s <= 0) return -1;
        for (int n = 1; n < ASKS; n++)
            if (!ask(&one, &again, NULL) || again.started_s != first.started_s) return -1;
        sum += first.started_s;
    }
    return sum;
}
